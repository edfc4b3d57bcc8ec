/// Mistakes in a command line, in the form of this project's errors.
package enum CommandLineMistake {
  /// What the parser writes between two sentences or lines, and what replaces it here.
  private static let joints = [
    (".\nPlease use ", "; use "), (":\n    ", ": "), (". Please provide one of ", "; give one of "),
    (". Did you mean ", "; did you mean "),
  ]

  /// A sentence of the argument parser on one line, in lower case, without a full stop; if an argument is missing, also
  /// what it is.
  ///
  /// - Parameter message: the parser's whole message, with the line "Help:  <id>  The first digits …".
  package static func sentence(_ sentence: String, of message: String) -> String {
    var text = sentence.withoutCapital
    for (theirs, ours) in joints {
      if let place = place(of: theirs, in: text[...]) { text.replaceSubrange(place, with: ours) }
    }
    if text.hasPrefix("missing expected argument "), let help = help(in: message) { text += ": \(help)" }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }

  /// The first sentence of the help.
  private static func help(in message: String) -> String? {
    guard let line = message.split(separator: "\n").first(where: { $0.hasPrefix("Help:  ") }),
      let start = place(of: ">  ", in: line)?.upperBound
    else { return nil }
    let end = place(of: ". ", in: line[start...])?.lowerBound ?? line.endIndex
    return String(line[start..<end]).withoutCapital
  }

  /// The first place of words in a text; `firstRange(of:)` would add the code of regular expressions to programs.
  private static func place(of words: String, in text: Substring) -> Range<String.Index>? {
    text.indices.first { text[$0...].hasPrefix(words) }.map { $0..<text.index($0, offsetBy: words.count) }
  }

  /// The error for the first option that a command does not have; `nil` if there is none.
  ///
  /// The parser would name a missing argument first, and that is often the name that was typed wrong.
  ///
  /// - Parameters:
  ///   - words: what follows the command.
  ///   - help: the command's, also with hidden options.
  package static func unknownOption(in words: some Sequence<String>, help: String) -> String? {
    let parts = help.split { !($0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-") }
    let known = Set(parts.filter { $0.hasPrefix("--") }.map { String($0) })
    let names = words.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    return names.first { !known.contains($0) }.map { "unknown option '\($0)'\(suggestion(for: $0, in: known))" }
  }

  /// "; did you mean …" with the name that was probably meant; empty if there is none.
  ///
  /// A name has at most one mistake for each three letters. In one of three letters, only an exchange counts: `ping` is
  /// not `pin`.
  package static func suggestion(for name: String, in names: some Collection<String>) -> String {
    let typed = name.lowercased()
    let near = names.sorted().map { (name: $0, distance: distance($0, typed)) }.filter { one in
      let letters = one.name.drop { $0 == "-" }.count
      return letters > 3 ? one.distance <= letters / 3 : one.name.sorted() == typed.sorted()
    }
    return near.min { $0.distance < $1.distance }.map { "; did you mean '\($0.name)'?" } ?? ""
  }

  /// How many letters must be inserted, removed or replaced, and neighbours exchanged, to make one text of the other.
  private static func distance(_ one: String, _ other: String) -> Int {
    let (one, other) = (Array(one), Array(other))
    // The rows for one letter less of `one`, and for those so far.
    var (earlier, row) = (Array(0...other.count), Array(0...other.count))
    for index in one.indices {
      var next = [index + 1]
      for column in other.indices {
        var least = min(row[column] + (one[index] == other[column] ? 0 : 1), row[column + 1] + 1, next[column] + 1)
        if index > 0, column > 0, one[index] == other[column - 1], one[index - 1] == other[column] {
          least = min(least, earlier[column - 1] + 1)
        }
        next.append(least)
      }
      (earlier, row) = (row, next)
    }
    return row[other.count]
  }
}
