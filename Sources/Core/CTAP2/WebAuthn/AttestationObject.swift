public import CBOR
public import Recovery

/// How a new credential is attested: WebAuthn §6.5.4.
public struct AttestationObject: Sendable, Equatable {
  /// The supported formats; the raw value is the name on the wire.
  public enum Format: String, Sendable, CaseIterable {
    /// Self attestation: the credential's own key signs (WebAuthn §8.2).
    case packed
    /// No statement (WebAuthn §8.7).
    case none
  }

  /// The format of the statement.
  public var format: Format
  /// The signed authenticator data.
  public var authenticatorData: [UInt8]
  /// The statement; empty for `none`.
  public var statement: CBORMap

  /// A packed statement without a certificate: `{"alg", "sig"}`, made with the credential's own key.
  ///
  /// - Parameter signature: over authenticator data ‖ clientDataHash.
  public static func packed(authenticatorData: [UInt8], algorithm: COSEAlgorithm, signature: [UInt8]) -> Self {
    Self(
      format: .packed, authenticatorData: authenticatorData,
      statement: ["alg": CBORValue(algorithm.rawValue), "sig": .bytes(signature)])
  }

  /// No statement: an empty map, which clients need to parse the answer as WebAuthn's object.
  public static func none(authenticatorData: [UInt8]) -> Self {
    Self(format: .none, authenticatorData: authenticatorData, statement: CBORMap())
  }
}

extension AttestationObject.Format {
  /// Chooses by attestationFormatsPreference: the first supported format in the client's list, or packed.
  ///
  /// CTAP §6.1.2, step 19. Unknown formats are ignored.
  init(preference: [String]) {
    let known = preference.lazy.compactMap { name in
      Self.allCases.first { $0.rawValue.utf8.elementsEqual(name.utf8) }
    }
    self = known.first ?? .packed
  }
}
