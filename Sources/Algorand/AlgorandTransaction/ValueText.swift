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
  var base64: String {
    let alphabet = Array<Character>("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: count, by: 3) {
      let group = self[start..<Swift.min(start + 3, count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...group.count { text.append(alphabet[bits >> (18 - 6 * digit) & 63]) }
      text += String(repeating: "=", count: 3 - group.count)
    }
    return text
  }

  /// All bytes: as text if they are text, otherwise in hexadecimal.
  var shown: Message {
    if let text = String(validating: self, as: UTF8.self), text.unicodeScalars.allSatisfy(\.isOfText) {
      return Message(verbatim: text.quoted)
    }
    return counted
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
