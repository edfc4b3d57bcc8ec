import CryptoPrimitives
import Recovery

/// The user's consent in one ceremony: presence and verification.
///
/// A credential's signature consumes it, so code that signs without a consent does not compile. Only this file makes
/// consents. Other modules make a ``Confirmation``, which cannot sign.
public struct UserConsent: ~Copyable, Sendable {
  /// The UP flag: the user agreed to this prompt, or to the prompt for the token.
  public let userPresent: Bool
  /// The UV flag: the user was verified in this prompt, or when the token was issued.
  public let userVerified: Bool

  private init(userPresent: Bool, userVerified: Bool) {
    self.userPresent = userPresent
    self.userVerified = userVerified
  }

  /// Turns the user's answer to a prompt into a consent.
  ///
  /// - Parameter verified: whether this request has already verified the user.
  init(_ confirmation: Confirmation, verified: Bool = false) {
    self.init(userPresent: confirmation.userPresent, userVerified: confirmation.userVerified || verified)
  }

  /// The consent that a pinUvAuthToken carries: the user was present and verified when it was issued.
  static func ofToken() -> UserConsent { UserConsent(userPresent: true, userVerified: true) }

  /// The same consent with UV, for a user verified by a token.
  consuming func verifiedByToken() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: true) }

  /// The consent of a request without a prompt: UP is 0, and UV is that of the token.
  static func silent(userVerified: Bool) -> UserConsent {
    UserConsent(userPresent: false, userVerified: userVerified)
  }

  /// A consent for one more signature that the user agreed to in the same prompt.
  borrowing func part() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: userVerified) }

  /// The consent for the answers after the first: the user agreed to all of them at once.
  var kept: Kept { Kept(userPresent: userPresent, userVerified: userVerified) }

  /// A consent to several answers.
  struct Kept: Sendable {
    /// UP and UV of the ceremony.
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
