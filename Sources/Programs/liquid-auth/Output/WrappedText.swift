import CLinux
import Glibc

extension String {
  /// These lines, broken between words at the width of the terminal; unchanged if standard output is not a terminal.
  var wrappedForTerminal: String {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return self
    }
    return wrapped(at: Int(size.ws_col))
  }

  /// These lines, each broken between words before it is longer than `width`.
  ///
  /// The rest of a line begins below the text of its first line: after the mark of a list, or in the last column of a
  /// table. A command after the last colon stays on one line, so that it can be copied.
  func wrapped(at width: Int) -> String {
    split(separator: "\n", omittingEmptySubsequences: false).map { Self.wrapped($0, at: width) }.joined(separator: "\n")
  }

  private static func wrapped(_ line: Substring, at width: Int) -> String {
    let column = line.hasPrefix("- ") ? line.firstRange(of: "- ") : line.ranges(of: "  ").last
    var start = column?.upperBound ?? line.startIndex
    while start < line.endIndex, line[start] == " " { start = line.index(after: start) }
    let indent = line.distance(from: line.startIndex, to: start)
    // If the last column is narrow, the line stays as it is.
    guard line.count > width, indent <= width / 2 else { return String(line) }
    let text = line[start...]
    var words = text.split(separator: " ")
    // A command has no semicolon; a sentence after a colon can have one.
    if let tail = text.ranges(of: ": ").last?.upperBound, !text[tail...].contains("; ") {
      words = text[..<tail].split(separator: " ") + [text[tail...]]
    }
    var (lines, room): ([String], Int) = ([], 0)
    for word in words {
      if word.count < room {
        lines[lines.count - 1] += " \(word)"
        room -= word.count + 1
      } else {
        lines.append(String(word))
        room = width - indent - word.count
      }
    }
    return String(line[..<start]) + lines.joined(separator: "\n" + String(repeating: " ", count: indent))
  }
}
