import CryptoPrimitives
import DisplayText
import Messages

// How a transaction's values are written.

extension String {
  /// The whole text in quotation marks; signed text is never shortened.
  var quoted: String { DisplayText.quoted(self) }

  /// A name in quotation marks, short enough for one line of an error.
  var quotedName: String { DisplayText.name(self) }
}

extension [UInt8] {
  /// Lower-case hexadecimal.
  var hexadecimal: String {
    let digits = Array<Character>("0123456789abcdef")
    return String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// Base64 with padding (RFC 4648 §4), as Algorand's tools write hashes and keys.
  var base64: String { Base64.encode(self) }

  /// All bytes: as text if they are text, or nearly all of them; otherwise in hexadecimal.
  var shown: Message { text.map { Message(verbatim: $0.quoted) } ?? countedAsText ?? counted }

  /// The bytes, if all of them are text.
  private var text: String? {
    String(validating: self, as: UTF8.self).flatMap { $0.unicodeScalars.allSatisfy(\.isOfText) ? $0 : nil }
  }

  /// The number of bytes, then all of them as text in quotation marks; `nil` unless more than four fifths are text, and
  /// there are at least five.
  ///
  /// A byte that is not text is `\x{1f}` at its place; a backslash of the text is doubled, so both differ.
  var countedAsText: Message? {
    guard count >= 5, let shown = mixed else { return nil }
    return [size, Message(verbatim: "\"\(shown)\"")].joined(by: " ")
  }

  private var mixed: String? {
    var (shown, run, textCount, index) = ("", "", 0, startIndex)
    func flush() {
      // Without the quotation marks; a combining mark at the beginning would be one character with the first.
      shown.unicodeScalars += run.quoted.unicodeScalars.dropFirst().dropLast()
      run = ""
    }
    while index < endIndex {
      let length = (1...4).first { length in
        index + length <= endIndex && String(validating: self[index..<index + length], as: UTF8.self) != nil
      }
      let piece = length.flatMap { String(validating: self[index..<index + $0], as: UTF8.self) }
      if let length, let piece, piece.unicodeScalars.allSatisfy(\.isOfText) {
        run += piece
        (textCount, index) = (textCount + length, index + length)
      } else {
        flush()
        shown += "\\x{\([self[index]].hexadecimal)}"
        index += 1
      }
    }
    flush()
    return textCount * 5 > count * 4 ? shown : nil
  }

  /// The length, the beginning and the SHA-256 of a long field, in two lines of a dialog.
  var short: Message {
    let beginning = countedAsText == nil ? [UInt8](prefix(8)).hexadecimal + "..." : Self.beginning(of: self)
    return Message("\(size), beginning with \(beginning), SHA-256 \(SHA256.hash(self).hexadecimal)")
  }

  private static func beginning(of bytes: [UInt8]) -> String {
    DisplayText.quoted(String(decoding: bytes.prefix(32), as: UTF8.self), limit: 16)
  }

  /// The number of bytes, then all of them in hexadecimal.
  var counted: Message { isEmpty ? size : [size, Message(verbatim: hexadecimal)].joined(by: " ") }

  /// The number of bytes, with the unit.
  var size: Message { Message("\(count) byte", plural: "\(count) bytes", count: count) }
}

/// An amount of an asset; a transfer does not contain the number of its decimals.
func smallestUnits(_ count: some UnsignedInteger) -> Message {
  Message("\(count) smallest unit", plural: "\(count) smallest units", count: count)
}

extension Unicode.Scalar {
  /// Whether text may contain this: no control characters except tab and line ends.
  fileprivate var isOfText: Bool { properties.generalCategory != .control || ["\t", "\n", "\r"].contains(self) }
}
