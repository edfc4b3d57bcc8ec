/// The line coding of the Assuan protocol, which pinentry speaks: the client's commands and the server's replies.
///
/// The protocol is described at https://www.gnupg.org/documentation/manuals/assuan/.
///
/// A line has at most 1000 bytes with its line end; a percent sign, CR and LF inside it are `%25`, `%0D` and `%0A`.
package enum AssuanLine {
  /// The longest line, with its line end.
  package static let limit = 1000

  /// Why a line cannot be written or read.
  package enum Fault: Error, Equatable {
    /// Longer than `limit`.
    case tooLong
    /// Not a reply, or with an invalid escape.
    case malformed
  }

  /// A reply; for data, its range in the line, still escaped.
  package enum Reply: Equatable {
    case ok
    /// libgpg-error's code, whose low 16 bits are the error, and the server's message.
    case error(code: UInt32, text: String)
    case data(Range<Int>)
    /// The status line of a pinentry whose window was closed without a button; its error follows.
    case closed
    /// Another status line or a comment, which changes nothing.
    case remark
  }

  /// A command with its line end; percent signs and control characters of `text` are escaped.
  package static func command(_ name: String, _ text: String? = nil) throws(Fault) -> [UInt8] {
    var line = Array(name.utf8)
    if let text {
      line.append(UInt8(ascii: " "))
      for byte in text.utf8 {
        if isEscaped(byte) {
          line += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 15)]
        } else {
          line.append(byte)
        }
      }
    }
    line.append(UInt8(ascii: "\n"))
    guard line.count <= limit else { throw .tooLong }
    return line
  }

  /// How many bytes a text takes in a command.
  package static func size(of text: String) -> Int { text.utf8.reduce(0) { $0 + (isEscaped($1) ? 3 : 1) } }

  private static func isEscaped(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") }

  /// Reads a reply without its line end.
  package static func reply(_ line: UnsafeRawBufferPointer) throws(Fault) -> Reply {
    guard line.count < limit else { throw .tooLong }
    if line.first == UInt8(ascii: "#") { return .remark }
    let word = line.prefix { $0 != UInt8(ascii: " ") }
    let rest = min(word.endIndex + 1, line.count)..<line.count
    switch word {
    case _ where word.elementsEqual("D".utf8) && word.count < line.count: return .data(rest)
    case _ where word.elementsEqual("OK".utf8): return .ok
    case _ where word.elementsEqual("S".utf8):
      return line[rest].elementsEqual("BUTTON_INFO close".utf8) ? .closed : .remark
    case _ where word.elementsEqual("ERR".utf8):
      let digits = line[rest].prefix { $0 != UInt8(ascii: " ") }
      guard let code = UInt32(String(decoding: digits, as: UTF8.self)) else { throw .malformed }
      let text = line[min(digits.endIndex + 1, line.count)...]
      return .error(code: code, text: String(decoding: text.filter { (0x20...0x7E).contains($0) }, as: UTF8.self))
    default: throw .malformed
    }
  }

  /// Decodes the escapes of a data line into the caller's memory, and leaves no other copy.
  ///
  /// - Returns: how many bytes were written.
  /// - Throws: `malformed` for a percent sign without two hex digits, `tooLong` if `target` is too small.
  package static func unescape(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var (from, to) = (0, 0)
    while from < source.count {
      guard to < target.count else { throw .tooLong }
      if source[from] == UInt8(ascii: "%") {
        guard from + 2 < source.count, let high = value(source[from + 1]), let low = value(source[from + 2]) else {
          throw .malformed
        }
        target[to] = high << 4 | low
        from += 3
      } else {
        target[to] = source[from]
        from += 1
      }
      to += 1
    }
    return to
  }

  static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

/// Splits input from a pipe into Assuan lines, in the caller's memory: a passphrase stays where it was read.
package struct AssuanLineBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  private var lineStart = 0
  private var end = 0

  /// - Parameter memory: at least `AssuanLine.limit` bytes, outliving the buffer.
  package init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// The memory for the next bytes to read; never empty after `nextLine` has returned `nil`.
  package var free: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[end...]) }

  /// Whether no incomplete line is left.
  package var isEmpty: Bool { lineStart == end }

  /// Records that `count` bytes were read to `free`.
  package mutating func received(_ count: Int) { end += count }

  /// The next whole line without its line end, valid until the next call; `nil` when more has to be read first.
  package mutating func nextLine() throws(AssuanLine.Fault) -> UnsafeRawBufferPointer? {
    if let length = memory[lineStart..<end].firstIndex(of: UInt8(ascii: "\n")).map({ $0 - lineStart }) {
      let line = UnsafeRawBufferPointer(rebasing: memory[lineStart..<lineStart + length])
      lineStart += length + 1
      return line
    }
    // The rest moves to the beginning, and what it leaves behind is wiped: it may be a part of a passphrase.
    let rest = end - lineStart
    guard rest < AssuanLine.limit else { throw .tooLong }
    let whole = UnsafeMutableRawBufferPointer(rebasing: memory[..<end])
    whole.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[lineStart..<end]))
    UnsafeMutableRawBufferPointer(rebasing: memory[rest..<end]).initializeMemory(as: UInt8.self, repeating: 0)
    (lineStart, end) = (0, rest)
    return nil
  }
}
