import CTAP2
import ControlProtocol
import DisplayText
import Glibc
import ProcessIO
import StateDirectory
import Synchronization

/// A line about a request, which can name its site: the log decides whether it does.
struct LogLine: Sendable, Equatable {
  private let before: String
  private let site: SiteName?
  private let after: String

  /// A line of two parts; the site can be named between them.
  init(_ before: String, about site: SiteName? = nil, _ after: String = "") {
    (self.before, self.site, self.after) = (before, site, after)
  }

  /// The line without the site.
  var text: String { before + after }
  /// The line with it.
  var textWithSite: String { site.map { before + " " + $0.text + after } ?? text }
}

/// Whether the log names the sites of requests.
enum LogLevelChoice: String, CaseIterable, Sendable {
  case info
  case debug
}

/// Writes one line for each event, which systemd puts into the journal.
///
/// The journal stays on the disk, and the store seals the names of sites. So only lines of level debug have them.
struct Log: Sendable {
  /// The levels that we use, by their numbers in syslog(3).
  enum Level: Int, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7
  }

  private let isJournal: Bool
  private let namesSites: Bool
  private let place: CommandPlace
  private let output: @Sendable (String) -> Void

  /// - Parameters:
  ///   - isJournal: whether the output is the journal, which reads the level from the line.
  ///   - level: with `debug`, lines about requests name their sites.
  ///   - place: added to the command that ends a problem.
  ///   - output: takes each line, with its end.
  init(
    isJournal: Bool, level: LogLevelChoice = .info,
    place: CommandPlace = CommandPlace(stateDirectory: nil, control: nil), output: @escaping @Sendable (String) -> Void
  ) {
    self.isJournal = isJournal
    namesSites = level == .debug
    (self.place, self.output) = (place, output)
  }

  /// The log on standard error, which is the journal if systemd started the process.
  static func standardError(
    _ level: LogLevelChoice, place: CommandPlace, environment: (String) -> String?
  ) -> Log {
    let standardError = StandardError()
    return Log(
      isJournal: environment("JOURNAL_STREAM") != nil, level: level, place: place, output: standardError.write)
  }

  func error(_ problem: Problem) { error(problem.text(with: place.arguments)) }
  func error(_ line: String) { write(.error, line) }
  func warning(_ problem: Problem) { warning(problem.text(with: place.arguments)) }
  func warning(_ line: String) { write(.warning, line) }
  func notice(_ line: String) { write(.notice, line) }
  func info(_ line: String) { write(.info, line) }
  /// Writes a line about a request, as ``text(of:)`` returns it.
  func request(_ line: String) { write(namesSites ? .debug : .info, line) }

  /// The text of a line about a request.
  func text(of line: LogLine) -> String { namesSites ? line.textWithSite : line.text }

  private func write(_ level: Level, _ line: String) {
    var text = isJournal ? "<\(level.rawValue)>" : "liquid-authenticator: "
    text.reserveCapacity(text.utf8.count + line.utf8.count + 1)
    text += Log.printable(line)
    text += "\n"
    output(text)
  }

  /// The longest line, in Unicode scalars; the rest is cut.
  private static let maximumCount = 1000
  /// The most bytes of such a line: with what is before and after them, a pipe with room takes the line without
  /// blocking.
  private static let maximumSize = Int(PIPE_BUF) - 64

  /// Cleans a text that may be hostile: one line of at most 1000 characters and 4032 bytes, which moves no cursor.
  static func printable(_ text: String) -> String {
    var text = text
    // Most lines are printable ASCII.
    let isPlain = text.withUTF8 { bytes in
      bytes.count <= maximumCount && bytes.allSatisfy { $0 >= 0x20 && $0 <= 0x7E }
    }
    if isPlain { return text }
    var line = ""
    let scalars = Array(text.unicodeScalars.prefix(maximumCount))
    for index in scalars.indices {
      let shown = DisplayText.visible(at: index, in: scalars)
      if line.utf8.count + shown.utf8.count > maximumSize { break }
      line += shown
    }
    return line
  }
}

/// Standard error, which may be a stopped terminal (Control-S), an unread pipe, or a file on a full disk.
private final class StandardError: Sendable {
  private let mayBlock: Bool
  private let lost = Atomic(0)

  init() {
    var status = stat()
    mayBlock = fstat(STDERR_FILENO, &status) != 0 || status.st_mode & S_IFMT != S_IFREG
  }

  /// Writes a line if that does not block.
  ///
  /// A line that is not written counts as lost; the count is logged before the next line.
  func write(_ line: String) {
    guard hasRoom else {
      lost.add(1, ordering: .relaxed)
      return
    }
    let count = lost.exchange(0, ordering: .relaxed)
    if count > 0 {
      guard put("liquid-authenticator: \(count) lines were lost: standard error was blocked or full\n") else {
        lost.add(count + 1, ordering: .relaxed)
        return
      }
      // That line may have taken the last of the room.
      if !hasRoom {
        lost.add(1, ordering: .relaxed)
        return
      }
    }
    if !put(line) { lost.add(1, ordering: .relaxed) }
  }

  private var hasRoom: Bool {
    guard mayBlock else { return true }
    var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    return poll(&output, 1, 0) != 0
  }

  private func put(_ line: String) -> Bool {
    var line = line
    return line.withUTF8 { Descriptor.write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }
}
