import CryptoPrimitives

/// Bytes that are base64url in JSON: RFC 4648 §5, without padding, in its only form.
public struct Base64URLBytes: Hashable, Sendable, Codable {
  /// The bytes.
  public let bytes: [UInt8]

  /// Wraps bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a JSON string.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let bytes = Base64URL.decode(try container.decode(String.self).utf8) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64url")
    }
    self.bytes = bytes
  }

  /// Writes a JSON string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Base64URL.encode(bytes))
  }
}
