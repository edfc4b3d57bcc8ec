import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

@Suite struct UserConsentTests {
  @Test(arguments: try KeysAndRecovery.load().credentials.array)
  func `a signature verifies with the published public key, and not for another message`(_ vector: Vector)
    throws
  {
    let (keys, parameters) = (try KeysAndRecovery.keys(), try #require(KeysAndRecovery.parameters(of: vector)))
    let rpIDHash = try #require(RPIDHash(bytes: vector.rpIdHash.bytes))
    let key =
      try vector.rpId.optional.map { try keys.privateKey(parameters, rpID: $0.text) }
      ?? keys.privateKey(parameters, rpIDHash: rpIDHash)
    #expect(Hex(key.publicKey.bytes) == vector.publicKey.hex)
    let message = Array("authenticator data and client data hash".utf8)
    let signature = try key.sign(message, consent: UserConsent(Confirmation(userVerified: false)))
    #expect(key.publicKey.isValidSignature(signature, for: message))
    #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
    #expect(!key.publicKey.isValidSignature(Array(signature.dropLast()), for: message))
  }

  // Holds: CTAP2-8
  @Test func `a faulty signature is reported without a secret`() {
    let error = CTAPError(CryptoError.faultySignature)
    #expect(error.status == .other)
    #expect("\(error)".contains("did not verify and was discarded"))
  }

  @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
  func `a consent holds presence and verification, and a token adds verification`(_ present: Bool, _ verified: Bool) {
    let confirmation = Confirmation(userPresent: present, userVerified: verified)
    #expect(Self.flags(UserConsent(confirmation)) == [present, verified])
    #expect(Self.flags(UserConsent(confirmation).part()) == [present, verified])
    #expect(Self.flags(UserConsent(confirmation).kept.part()) == [present, verified])
    #expect(Self.flags(UserConsent(confirmation).verifiedByToken()) == [present, true])
    #expect(Self.flags(UserConsent(confirmation, verified: true)) == [present, true])
  }

  @Test func `a consent says what verified`() {
    let finger = Confirmation(verification: .fingerprint)
    #expect(Self.means(UserConsent(finger)) == .fingerprint)
    #expect(Self.means(UserConsent(finger).part()) == .fingerprint)
    #expect(Self.means(UserConsent(finger).kept.part()) == .fingerprint)
    #expect(Self.means(UserConsent(finger, verified: true)) == .fingerprint)
    #expect(Self.means(UserConsent(finger).verifiedByToken()) == .token)
    #expect(Self.means(UserConsent(Confirmation(verification: .none), verified: true)) == .passphrase)
    #expect(Self.means(.ofToken()) == .token)
  }

  @Test(arguments: [false, true]) func `a silent consent has no presence`(_ verified: Bool) {
    #expect(Self.flags(.silent(verifiedByToken: verified)) == [false, verified])
  }

  private static func flags(_ consent: consuming UserConsent) -> [Bool] { [consent.userPresent, consent.userVerified] }
  private static func means(_ consent: consuming UserConsent) -> HistoryEntry.Verification { consent.verification }
}
