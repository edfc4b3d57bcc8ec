/// A command of the Assuan protocol, as a server reads it.
package struct AssuanCommand: Equatable, Sendable {
  /// The name in upper case, such as `SETDESC`.
  package let name: String
  /// The rest of the line after one space, without escapes; bytes that are not UTF-8 become U+FFFD.
  package let argument: String

  /// Reads a line without its line end.
  ///
  /// - Throws: `malformed` for an empty line, a line that begins with a space, or a percent sign without two hex digits;
  ///   `tooLong` for ``AssuanLine/limit`` bytes or more.
  package init(line: UnsafeRawBufferPointer) throws(AssuanLine.Fault) {
    guard line.count < AssuanLine.limit else { throw .tooLong }
    let word = line.prefix { $0 != UInt8(ascii: " ") }
    guard !word.isEmpty else { throw .malformed }
    name = String(decoding: word, as: UTF8.self).uppercased()
    let escaped = UnsafeRawBufferPointer(rebasing: line[min(word.endIndex + 1, line.count)...])
    var bytes = [UInt8](repeating: 0, count: escaped.count)
    let count = try bytes.withUnsafeMutableBytes { target in
      Result { () throws(AssuanLine.Fault) in try AssuanLine.unescape(escaped, into: target) }
    }.get()
    argument = String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

extension AssuanLine {
  /// The reply to a command that succeeded.
  package static let ok = Array("OK\n".utf8)

  /// The status line before the error of a dialog that was closed without a button.
  package static let closed = Array("S BUTTON_INFO close\n".utf8)

  /// The reply to a command that failed, at most ``limit`` bytes with its line end.
  ///
  /// Characters that are not printable ASCII become "?". Words that are too long are cut.
  package static func error(_ error: AssuanError, _ words: String) -> [UInt8] {
    let start = Array("ERR \(error.code) ".utf8)
    let text = words.unicodeScalars.prefix(limit - start.count - 1).map {
      0x20...0x7E ~= $0.value ? UInt8($0.value) : UInt8(ascii: "?")
    }
    return start + text + [UInt8(ascii: "\n")]
  }

  /// The most bytes that fit into one data line if all of them are escaped.
  package static let dataLimit = (limit - 3) / 3

  /// Writes a data line to the caller's memory, with all bytes escaped, and makes no other copy.
  ///
  /// - Parameters:
  ///   - source: at most ``dataLimit`` bytes.
  ///   - target: at least ``limit`` bytes.
  /// - Returns: how many bytes were written, with the line end.
  package static func data(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
    precondition(source.count <= dataLimit && target.count >= limit)
    (target[0], target[1]) = (UInt8(ascii: "D"), UInt8(ascii: " "))
    var end = 2
    for byte in source {
      (target[end], target[end + 1]) = (UInt8(ascii: "%"), hexDigit(byte >> 4))
      target[end + 2] = hexDigit(byte & 15)
      end += 3
    }
    target[end] = UInt8(ascii: "\n")
    return end + 1
  }
}
