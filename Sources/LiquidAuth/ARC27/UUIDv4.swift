/// Random UUIDs: RFC 9562 §5.4, which ARC-27 wants for every id.
enum UUIDv4 {
  /// Draws one, in lower case.
  static func make(using generator: inout some RandomNumberGenerator) -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Array("0123456789abcdef")
    return bytes.enumerated().reduce(into: "") { text, byte in
      if [4, 6, 8, 10].contains(byte.offset) { text += "-" }
      text += "\(digits[Int(byte.element >> 4)])\(digits[Int(byte.element & 15)])"
    }
  }
}
