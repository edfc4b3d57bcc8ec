import CryptoPrimitives
public import Recovery

/// The user's consent in one ceremony: presence and verification.
///
/// A credential's signature consumes it, so code that signs without a consent does not compile. Only this file makes
/// consents. Other modules make a ``Confirmation``, which cannot sign.
public struct UserConsent: ~Copyable, Sendable {
  /// The UP flag: the user agreed to this prompt, or to the prompt for the token.
  public let userPresent: Bool
  /// What verified the user in this request; `none` if nothing did.
  public let verification: HistoryEntry.Verification
  /// The UV flag: the user was verified in this prompt, or when the token was issued.
  public var userVerified: Bool { verification != .none }

  private init(userPresent: Bool, verification: HistoryEntry.Verification) {
    self.userPresent = userPresent
    self.verification = verification
  }

  /// Turns the user's answer to a prompt into a consent.
  ///
  /// - Parameter verified: whether the passphrase that opened the vault for this request has verified the user.
  init(_ confirmation: Confirmation, verified: Bool = false) {
    self.init(
      userPresent: confirmation.userPresent,
      verification: verified && !confirmation.userVerified ? .passphrase : confirmation.verification)
  }

  /// The consent that a pinUvAuthToken carries: the user was present and verified when it was issued.
  static func ofToken() -> UserConsent { UserConsent(userPresent: true, verification: .token) }

  /// The same consent with UV, for a user verified by a token.
  consuming func verifiedByToken() -> UserConsent { UserConsent(userPresent: userPresent, verification: .token) }

  /// The consent of a request without a prompt: UP is 0, and only a token can have verified the user.
  static func silent(verifiedByToken: Bool) -> UserConsent {
    UserConsent(userPresent: false, verification: verifiedByToken ? .token : .none)
  }

  /// A consent for one more signature that the user agreed to in the same prompt.
  borrowing func part() -> UserConsent { UserConsent(userPresent: userPresent, verification: verification) }

  /// The consent for the answers after the first: the user agreed to all of them at once.
  var kept: Kept { Kept(userPresent: userPresent, verification: verification) }

  /// A consent to several answers.
  struct Kept: Sendable {
    /// UP of the ceremony.
    let userPresent: Bool
    /// What verified the user.
    private let verification: HistoryEntry.Verification

    fileprivate init(userPresent: Bool, verification: HistoryEntry.Verification) {
      self.userPresent = userPresent
      self.verification = verification
    }

    /// The consent for the next answer.
    func part() -> UserConsent { UserConsent(userPresent: userPresent, verification: verification) }
  }
}

// MARK: - Signing

extension CredentialPrivateKey {
  /// Signs a message and consumes the consent: one consent, one signature.
  ///
  /// ES256 gives ECDSA in DER, EdDSA gives 64 bytes: WebAuthn §6.5.5.
  /// - Throws: `CryptoError.faultySignature` for a signature that does not verify; it is not returned.
  func sign(_ message: [UInt8], consent: consuming UserConsent) throws(CryptoError) -> [UInt8] {
    switch key {
    case .es256(let key): try key.signature(for: message)
    case .edDSA(let key): try key.signature(for: message)
    }
  }
}
