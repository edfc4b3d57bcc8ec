extension Catalogue {
  /// The names of catalogues for a person's locale, the preferred first, as gettext chooses them; none for English.
  ///
  /// `LC_ALL`, `LC_MESSAGES` or `LANG` has the locale, the first that is set. Unless that is `C` or `POSIX`, `LANGUAGE`
  /// can have a list that comes first. A name is `language_COUNTRY@modifier`; fewer of its parts follow.
  ///
  /// - Parameter environment: looks up a variable.
  public static func names(environment: (String) -> String?) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty }
    guard let locale, !["C", "POSIX"].contains(language(of: locale)) else { return [] }
    let list = environment("LANGUAGE").flatMap { $0.isEmpty ? nil : $0 } ?? locale
    var names: [String] = []
    for entry in list.split(separator: ":").map(String.init) {
      // All that follows English is preferred less than the texts of the code.
      guard !isEnglish(entry) else { break }
      for name in shorterNames(entry) where !names.contains(name) { names.append(name) }
    }
    return names
  }

  private static func language(of locale: String) -> Substring { locale.prefix { !"_.@".contains($0) } }

  private static func isEnglish(_ locale: String) -> Bool { ["en", "C", "POSIX"].contains(language(of: locale)) }

  /// The name without its character set, and with fewer parts; none if it could be a path to elsewhere.
  private static func shorterNames(_ locale: String) -> [String] {
    let isPlain = locale.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
    let parts = locale.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let modifier = parts.count == 2 ? "@\(parts[1])" : ""
    let place = parts[0].prefix { $0 != "." }
    let language = language(of: locale)
    guard isPlain, !language.isEmpty, !modifier.contains(".") else { return [] }
    return [place + modifier, language + modifier, place, language].map(String.init)
  }
}
