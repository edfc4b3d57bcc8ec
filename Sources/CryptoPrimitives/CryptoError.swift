/// Why a primitive refused its input, or could not work.
public enum CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A private scalar that is 0, or not below the order of the group.
  case scalarOutOfRange
  /// A sealed text that was made with another key, nonce or additional data, or was changed since.
  case authenticationFailed
  /// A key, nonce, salt, seed or sealed text of a length that the primitive does not have.
  case invalidLength
  /// A cost parameter that the primitive does not accept, such as 0 iterations.
  case invalidParameter
  /// Coordinates that are no point of the curve.
  case invalidPoint
  /// A signature that does not verify under the key that made it: the computation went wrong, and nothing was given out.
  case faultySignature
  /// The memory that the primitive asked for is not there.
  case outOfMemory
  /// The library refused without a reason of the kinds above.
  case libraryFailure

  /// What happened, and what to do where there is something to do.
  public var description: String {
    switch self {
    case .scalarOutOfRange: "the derived scalar is no private key; take the next counter or another salt"
    case .authenticationFailed: "the sealed bytes do not open; the key is another one, or they were changed"
    case .invalidLength: "a key, nonce, salt or sealed text has the wrong length"
    case .invalidParameter: "a cost parameter is outside of what the algorithm accepts"
    case .invalidPoint: "the coordinates are no point of the curve"
    case .faultySignature:
      "the computed signature did not verify and was discarded; try again, and test the memory if it happens again"
    case .outOfMemory: "not enough memory for the key derivation; free some and try again"
    case .libraryFailure: "the cryptographic library refused to work; check its installation"
    }
  }
}
