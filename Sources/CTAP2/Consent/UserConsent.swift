import CryptoPrimitives
import Recovery

/// What a person really did in one ceremony.
///
/// A credential's signature consumes it, so that a signature without a consent does not compile. Only this file makes
/// consents, and other modules cannot: they make a ``Confirmation``, which signs nothing.
public struct UserConsent: ~Copyable, Sendable {
  /// The UP flag: a person agreed to this very prompt, or to the token's that it belongs to.
  public let userPresent: Bool
  /// The UV flag: that person was verified in this very prompt, or when the token was given.
  public let userVerified: Bool

  private init(userPresent: Bool, userVerified: Bool) {
    self.userPresent = userPresent
    self.userVerified = userVerified
  }

  /// Turns the person's answer to a prompt into a consent.
  ///
  /// - Parameter verified: whether this request has already verified the person.
  init(_ confirmation: Confirmation, verified: Bool = false) {
    self.init(userPresent: confirmation.userPresent, userVerified: confirmation.userVerified || verified)
  }

  /// The consent that a pinUvAuthToken carries: the person was present and verified when it was issued.
  static func ofToken() -> UserConsent { UserConsent(userPresent: true, userVerified: true) }

  /// The same consent with UV, for a person whom a token has verified.
  consuming func verifiedByToken() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: true) }

  /// The consent of nobody, for a request that asks nobody: UP is 0, and UV what a token brought.
  static func silent(userVerified: Bool) -> UserConsent {
    UserConsent(userPresent: false, userVerified: userVerified)
  }

  /// A consent for one more signature that the person agreed to in the same prompt.
  borrowing func part() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: userVerified) }

  /// The consent for the answers after the first: the person agreed to all of them at once.
  var kept: Kept { Kept(userPresent: userPresent, userVerified: userVerified) }

  /// A consent to several answers.
  struct Kept: Sendable {
    /// UP and UV as they happened.
    let userPresent, userVerified: Bool

    fileprivate init(userPresent: Bool, userVerified: Bool) {
      self.userPresent = userPresent
      self.userVerified = userVerified
    }

    /// The consent for the next answer.
    func part() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: userVerified) }
  }
}

// MARK: - Signing

extension CredentialPrivateKey {
  /// Signs a message, and uses up what the person agreed to: one consent, one signature.
  ///
  /// ES256 answers ECDSA in DER, EdDSA 64 bytes: WebAuthn §6.5.5.
  /// - Throws: `CryptoError.faultySignature` for an EdDSA signature that does not verify; it does not leave.
  func sign(_ message: [UInt8], consent: consuming UserConsent) throws(CryptoError) -> [UInt8] {
    switch key {
    case .es256(let key): try key.signature(for: message)
    case .edDSA(let key): try key.signature(for: message)
    }
  }
}
