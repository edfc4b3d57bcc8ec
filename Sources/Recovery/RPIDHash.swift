import CryptoPrimitives

/// SHA-256 of an rp.id as it was received: no case folding, no normalisation, no truncation.
///
/// It opens every authenticator data (WebAuthn §6.1) and stands in every tag, seal and derived secret (Recovery §2–6).
public struct RPIDHash: Hashable, Sendable {
  /// The 32 bytes.
  public let bytes: [UInt8]

  /// Hashes the UTF-8 of an rp.id.
  public init(rpID: String) {
    bytes = SHA256.hash(Array(rpID.utf8))
  }

  /// Takes a hash that came from outside, such as U2F's application parameter; `nil` unless it has 32 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }
}
