import CryptoPrimitives

/// The address of an Algorand account: its public key, and its text form.
public struct AlgorandAddress: Hashable, Sendable, CustomStringConvertible {
  /// Characters in an address.
  public static let textSize = 58
  private static let checksumSize = 4

  /// The account's Ed25519 public key, 32 bytes.
  public let publicKey: [UInt8]

  /// Takes a public key.
  ///
  /// - Precondition: it has 32 bytes.
  public init(publicKey: [UInt8]) {
    precondition(publicKey.count == Ed25519.keySize, "an Ed25519 public key has 32 bytes")
    self.publicKey = publicKey
  }

  /// Reads 58 characters of ASCII; `nil` for another length or character, or when the checksum is wrong.
  ///
  /// Only the canonical form is read: upper case, with zeros in the two unused bits of the last character.
  public init?(text: [UInt8]) {
    guard
      text.count == Self.textSize, let bytes = Base32.decode(text),
      bytes.count == Ed25519.keySize + Self.checksumSize
    else { return nil }
    publicKey = Array(bytes.prefix(Ed25519.keySize))
    guard bytes.suffix(Self.checksumSize).elementsEqual(Self.checksum(of: publicKey)) else { return nil }
  }

  /// The address as people write it: 58 characters, base32 of the public key and the last 4 bytes of its SHA-512/256.
  public var text: String {
    String(decoding: Base32.encode(publicKey + Self.checksum(of: publicKey)), as: UTF8.self)
  }

  /// The address in groups of four characters, the last of six, for a person who compares it: 71 characters.
  public var grouped: String {
    let letters = Array(text)
    let last = letters.count - 6
    let groups = stride(from: 0, to: last, by: 4).map { String(letters[$0..<($0 + 4)]) }
    return (groups + [String(letters[last...])]).joined(separator: " ")
  }

  /// As ``text``.
  public var description: String { text }

  private static func checksum(of publicKey: [UInt8]) -> ArraySlice<UInt8> {
    SHA512_256.hash(publicKey).suffix(checksumSize)
  }
}

/// Base32 (RFC 4648 §6) without padding.
package enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// Five bits a character, the last padded with zeros.
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var (text, buffer, bits): ([UInt8], Int, Int) = ([], 0, 0)
    for byte in bytes {
      buffer = buffer << 8 | Int(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        text.append(alphabet[buffer >> bits & 31])
      }
      buffer &= 1 << bits - 1
    }
    if bits > 0 { text.append(alphabet[buffer << (5 - bits) & 31]) }
    return text
  }

  /// The bytes; `nil` for a character outside of the alphabet, or unless fewer than 5 bits are left over, all zero.
  static func decode(_ text: [UInt8]) -> [UInt8]? {
    var (bytes, buffer, bits): ([UInt8], Int, Int) = ([], 0, 0)
    for character in text {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      buffer = buffer << 5 | value
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(buffer >> bits))
        buffer &= 1 << bits - 1
      }
    }
    return bits < 5 && buffer == 0 ? bytes : nil
  }
}
