import CryptoPrimitives
import Recovery

/// What a person really did in one ceremony.
///
/// Signing consumes it, so that a signature without a person does not compile. All the ways in which one comes into being
/// are in this file, and none of them is open to other modules: they have a ``Confirmation``, which signs nothing.
public struct UserConsent: ~Copyable, Sendable {
  /// The UP flag: a person agreed to this very prompt, or to the token's that it belongs to.
  public let userPresent: Bool
  /// The UV flag: that person was verified in this very prompt, or when the token was given.
  public let userVerified: Bool

  private init(userPresent: Bool, userVerified: Bool) {
    self.userPresent = userPresent
    self.userVerified = userVerified
  }

  /// What the person answered to a prompt.
  ///
  /// - Parameter verified: whether the same person has been verified for this request already.
  init(_ confirmation: Confirmation, verified: Bool = false) {
    self.init(userPresent: confirmation.userPresent, userVerified: confirmation.userVerified || verified)
  }

  /// What a token brings that was given to this request's program just now: the person was there then, and verified.
  static func ofToken() -> UserConsent { UserConsent(userPresent: true, userVerified: true) }

  /// The same consent of a person whom a token has verified.
  consuming func verifiedByToken() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: true) }

  /// The consent of nobody, for a request that asks nobody: UP is 0, and UV what a token brought.
  static func silent(userVerified: Bool) -> UserConsent {
    UserConsent(userPresent: false, userVerified: userVerified)
  }

  /// The part in the same consent of one more signature that the person agreed to.
  borrowing func part() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: userVerified) }

  /// What is kept of it for the answers that come after the first: a person agreed to all of them at once.
  var kept: Kept { Kept(userPresent: userPresent, userVerified: userVerified) }

  /// A consent that later answers have their part in.
  struct Kept: Sendable {
    /// UP and UV as they happened.
    let userPresent, userVerified: Bool

    fileprivate init(userPresent: Bool, userVerified: Bool) {
      self.userPresent = userPresent
      self.userVerified = userVerified
    }

    /// The next answer's part.
    func part() -> UserConsent { UserConsent(userPresent: userPresent, userVerified: userVerified) }
  }
}

// MARK: - What it is for

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
