/// base64url without padding: RFC 4648 §5, as WebAuthn writes binary members of client data.
public enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Writes bytes as text.
  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...group.count { text.append(alphabet[bits >> (18 - 6 * digit) & 63]) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads text in its canonical form: no padding, no other character, and zeros in the unused bits.
  ///
  /// If the text is refused, the bytes that were read are wiped: they can be those of a secret.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var bitCount = 0
    for character in text {
      guard let value = digit(character) else {
        wipe(&bytes)
        return nil
      }
      bits = bits << 6 | UInt32(value)
      bitCount += 6
      guard bitCount >= 8 else { continue }
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
    guard bits & (1 << UInt32(bitCount) - 1) == 0 else {
      wipe(&bytes)
      return nil
    }
    return bytes
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
