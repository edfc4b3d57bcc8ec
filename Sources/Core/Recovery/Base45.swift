/// Base45 (RFC 9285): two bytes become three of the 45 characters for which a QR code needs 5.5 bits each.
enum Base45 {
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8)

  /// Encodes bytes: three characters for two bytes, and two for a single last byte.
  static func encode(_ bytes: some Collection<UInt8>) -> String {
    let bytes = Array(bytes)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 3 + 1) / 2)
    for start in stride(from: 0, to: bytes.count, by: 2) {
      let pair = bytes[start..<min(start + 2, bytes.count)]
      var number = pair.reduce(0) { $0 << 8 | Int($1) }
      for _ in 0...pair.count {
        text.append(alphabet[number % 45])
        number /= 45
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes text; `nil` for another character, a single character at the end, or a group whose value is too high.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    let text = Array(text)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 2 / 3)
    for start in stride(from: 0, to: text.count, by: 3) {
      let group = text[start..<min(start + 3, text.count)]
      guard group.count > 1 else { return nil }
      var number = 0
      for character in group.reversed() {
        guard let digit = alphabet.firstIndex(of: character) else { return nil }
        number = number * 45 + digit
      }
      guard let pair = UInt16(exactly: number), group.count == 3 || pair <= UInt8.max else { return nil }
      if group.count == 3 { bytes.append(UInt8(pair >> 8)) }
      bytes.append(UInt8(truncatingIfNeeded: pair))
    }
    return bytes
  }
}
