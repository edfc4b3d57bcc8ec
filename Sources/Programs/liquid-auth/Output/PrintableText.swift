import DisplayText
import LiquidAuth

extension String {
  /// This text on one line of a terminal.
  ///
  /// Characters that would control the terminal are shown as `\u{…}`.
  var printable: String { DisplayText.line(self) }

  /// This text, padded with spaces to `width` characters.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// Lower-case hexadecimal digits, with leading zeros.
  var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: Self.bitWidth / 4 - digits.count) + digits
  }
}

extension [UInt8] {
  /// Lower-case hexadecimal digits.
  var hexadecimal: String { map(\.hexadecimal).joined() }

  /// Reads hexadecimal digits of either case; `nil` for an odd count or anything else.
  init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index].hexadecimalValue, let low = digits[index + 1].hexadecimalValue else {
        return nil
      }
      append(high << 4 | low)
    }
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit of either case, in ASCII; `nil` for any other byte.
  var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Formats rows in columns that are as wide as their widest cell; the last column is not padded.
func table(_ rows: [[String]]) -> String {
  var widths: [Int] = []
  for row in rows {
    for (column, cell) in row.enumerated() {
      if column == widths.count { widths.append(0) }
      widths[column] = max(widths[column], cell.count)
    }
  }
  return rows.map { row in
    row.enumerated().map { column, cell in column == row.count - 1 ? cell : cell.padded(to: widths[column] + 2) }
      .joined()
  }.joined(separator: "\n")
}
