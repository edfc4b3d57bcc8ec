/// A signature algorithm that credentials can have: one row of the table below an algorithm.
///
/// The raw value is the COSE identifier (RFC 9053, section 2), as `pubKeyCredParams` and the store's records have it.
public enum COSEAlgorithm: Int64, CaseIterable, Sendable {
  /// ECDSA on P-256 with SHA-256.
  case es256 = -7
  /// Ed25519 (RFC 8032).
  case edDSA = -8

  /// The algorithm's number inside derivations and sealed ids: Recovery §3.
  ///
  /// A further algorithm takes the next number here, and its keys in `CredentialPrivateKey`.
  public var number: UInt8 {
    switch self {
    case .es256: 1
    case .edDSA: 2
    }
  }

  /// The algorithm with this number; `nil` for a number that no algorithm has.
  public init?(number: UInt8) {
    guard let algorithm = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = algorithm
  }
}
