/// Why bytes are no message, or a message lacks what is asked of it.
///
/// The three cases are the three answers that CTAP2 has for it (CTAP §6.3). Errors are equal by case: the reason is for
/// people, and two roads to the same refusal are the same refusal.
public enum CBORError: Error, Sendable {
  /// The bytes are not CBOR in the form that is asked of them: `CTAP2_ERR_INVALID_CBOR` (0x12).
  case invalid(String)
  /// A member has another CBOR type: `CTAP2_ERR_CBOR_UNEXPECTED_TYPE` (0x11).
  case unexpectedType(String)
  /// A member is not there: `CTAP2_ERR_MISSING_PARAMETER` (0x14).
  case missing(String)
}

extension CBORError: Equatable {
  /// Compares the cases, not their reasons.
  public static func == (left: CBORError, right: CBORError) -> Bool {
    switch (left, right) {
    case (.invalid, .invalid), (.unexpectedType, .unexpectedType), (.missing, .missing): true
    default: false
    }
  }
}

extension CBORError: CustomStringConvertible {
  /// What happened, and where.
  public var description: String {
    switch self {
    case .invalid(let reason): "invalid CBOR: \(reason)"
    case .unexpectedType(let reason): "unexpected CBOR type: \(reason)"
    case .missing(let reason): "missing CBOR member: \(reason)"
    }
  }
}
