import Glibc

/// One line an event, which systemd takes to the journal.
struct Log: Sendable {
  /// The levels that we use, by their numbers in syslog(3).
  enum Level: Int {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
  }

  private let isJournal: Bool
  private let output: @Sendable (String) -> Void

  /// - Parameters:
  ///   - isJournal: the output leads to the journal, which reads the level from the line.
  ///   - output: takes each line, with its end.
  init(isJournal: Bool, output: @escaping @Sendable (String) -> Void) {
    self.isJournal = isJournal
    self.output = output
  }

  /// The standard error, which is the journal when systemd started us.
  static func standardError(environment: (String) -> String?) -> Log {
    Log(isJournal: environment("JOURNAL_STREAM") != nil) { line in
      var bytes = Array(line.utf8)[...]
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
      }
    }
  }

  func error(_ line: String) { write(.error, line) }
  func warning(_ line: String) { write(.warning, line) }
  func notice(_ line: String) { write(.notice, line) }
  func info(_ line: String) { write(.info, line) }

  private func write(_ level: Level, _ line: String) {
    output((isJournal ? "<\(level.rawValue)>" : "liquid-authenticator: ") + Log.printable(line) + "\n")
  }

  /// How many characters of a line are written.
  private static let maximumCount = 1000

  /// Texts of clients may be hostile: a line stays one line of at most 1000 characters, and moves no cursor.
  static func printable(_ text: String) -> String {
    // Most lines have nothing else.
    if text.utf8.count <= maximumCount, text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return text }
    var line = ""
    for scalar in text.unicodeScalars.prefix(maximumCount) {
      if scalar.isASCII, 0x20...0x7E ~= scalar.value {
        line.unicodeScalars.append(scalar)
        continue
      }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        line += "\\u{\(String(scalar.value, radix: 16))}"
      default:
        line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}
