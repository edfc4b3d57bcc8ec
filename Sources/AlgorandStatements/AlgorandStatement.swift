import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// What an Algorand account signs for a dApp: bytes behind the prefix that says what they are.
public enum AlgorandStatement: Sendable, Equatable {
  /// A transaction in canonical msgpack.
  case transaction([UInt8])
  /// Any bytes, which with their prefix can be no transaction, no program and no challenge.
  case message([UInt8])

  /// What the signature is over: "TX" or "MX", and the bytes.
  var signingInput: [UInt8] {
    switch self {
    case .transaction(let bytes): Array("TX".utf8) + bytes
    case .message(let bytes): Array("MX".utf8) + bytes
    }
  }
}

// MARK: - Signatures: each takes a consent and is counted where it is made

extension AlgorandAccount {
  /// Signs with the account's key (64 bytes) what the person was asked for, and counts it.
  func signature(for message: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: message)
    counts.countAlgorand()
    return signature
  }
}

extension AssociationKey {
  /// ECDSA over SHA-256(data), in DER, and counts it; a person has seen the data and agreed.
  func signature(for data: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: data)
    counts.countAssociation()
    return signature
  }
}
