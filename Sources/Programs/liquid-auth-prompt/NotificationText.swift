/// The texts of a notification, with all that a pinentry's dialog has.
struct NotificationText: Equatable {
  /// The question, in our own words: no text of a site is in it.
  let summary: String
  /// The site, the account, and what else the person should know: one line each.
  let body: String

  /// - Parameters:
  ///   - isMarkup: whether the notification daemon reads markup in the body (its capability `body-markup`).
  ///   - hint: how to answer, if the buttons cannot be seen.
  init(_ dialog: Dialog, isMarkup: Bool, hint: String? = nil) {
    let lines = dialog.description.split(separator: "\n", omittingEmptySubsequences: false)
    summary = String(lines.first ?? "")
    let body = (lines.dropFirst().drop { $0.isEmpty }.map(String.init) + (hint.map { [$0] } ?? []))
      .joined(separator: "\n")
    self.body = isMarkup ? Self.escaped(body) : body
  }

  /// Spells out the characters that mean something in XML.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&apos;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
