import CBOR
import CTAP2
import CryptoPrimitives
import Recovery

/// The site of the demo: it sends requests, stores public keys, and verifies every answer.
struct DemoRelyingParty {
  static let rpID = "demo.example"
  static let origin = "https://demo.example"

  /// The data that the site stores about a passkey.
  struct Account: Equatable {
    let credentialID: [UInt8]
    let publicKey: CredentialPublicKey
    var signCount: UInt32
  }

  /// The arguments of `navigator.credentials.create()`.
  struct CreationRequest {
    let clientData = DemoRelyingParty.clientData(type: "webauthn.create")
    var userID: [UInt8]
    var isDiscoverable: Bool
    var excluded: [[UInt8]] = []
  }

  /// The arguments of `navigator.credentials.get()`.
  struct SignInRequest {
    let clientData = DemoRelyingParty.clientData(type: "webauthn.get")
    var allowed: [[UInt8]]
    var needsVerification: Bool
  }

  /// One thing that was verified.
  struct Check: Equatable {
    let name: String
    let holds: Bool
  }

  /// Client data as browsers write them (WebAuthn §5.8.1.1), with a fresh challenge.
  private static func clientData(type: String) -> [UInt8] {
    let challenge = Base64URL.encode(randomBytes(32))
    return Array(
      "{\"type\":\"\(type)\",\"challenge\":\"\(challenge)\",\"origin\":\"\(origin)\",\"crossOrigin\":false}".utf8)
  }

  /// Verifies a registration: WebAuthn §7.1, as far as it concerns the authenticator.
  static func verify(
    _ answer: CBORMap, of request: CreationRequest
  ) throws(CBORError) -> (account: Account, checks: [Check]) {
    let authData = try answer.requiredBytes(0x02)
    let parsed = try AuthenticatorData(parsing: authData)
    guard let credential = parsed.attestedCredentialData else { throw .missing("the attested credential data") }
    let statement = try answer.requiredMap(0x03)
    let signed = authData + SHA256.hash(request.clientData)
    let publicKey = credential.publicKey.publicKey
    var checks = common(parsed, verified: request.isDiscoverable, attested: true)
    checks += [
      Check(name: "the AAGUID is that of Liquid Auth", holds: credential.aaguid == .liquidAuth),
      Check(name: "the attestation is packed, by the key itself", holds: try answer.requiredText(0x01) == "packed"),
    ]
    checks += Check.signature(
      try statement.requiredBytes("sig"), over: signed, by: publicKey, called: "the attestation's signature")
    let account = Account(
      credentialID: credential.credentialID, publicKey: publicKey, signCount: parsed.signCount)
    return (account, checks)
  }

  /// Verifies a sign-in: WebAuthn §7.2, as far as it concerns the authenticator.
  static func verify(
    _ answer: CBORMap, of request: SignInRequest, with account: Account, userID: [UInt8]?
  ) throws(CBORError) -> [Check] {
    let authData = try answer.requiredBytes(0x02)
    let parsed = try AuthenticatorData(parsing: authData)
    let signature = try answer.requiredBytes(0x03)
    let signed = authData + SHA256.hash(request.clientData)
    let user = try answer.optionalMap(0x04)?.requiredBytes("id")
    return common(parsed, verified: request.needsVerification, attested: false) + [
      Check(
        name: "the credential is the registered one",
        holds: try answer.requiredMap(0x01).requiredBytes("id") == account.credentialID),
      Check(name: "the user handle is \(userID == nil ? "absent" : "the account's")", holds: user == userID),
    ] + Check.signature(signature, over: signed, by: account.publicKey)
  }

  private static func common(_ data: AuthenticatorData, verified: Bool, attested: Bool) -> [Check] {
    // A passkey that the phrase restores is backed up from the start; its signature counter is 0: Recovery §4.
    var flags: AuthenticatorData.Flags = [.userPresent, .backupEligible, .backupState]
    if verified { flags.insert(.userVerified) }
    if attested { flags.insert(.attestedCredentialData) }
    return [
      Check.rpIDHash(of: data, isThatOf: rpID),
      Check(name: "the flags are \(verified ? "UP UV BE BS" : "UP BE BS")", holds: data.flags == flags),
      Check(name: "the signature counter is 0", holds: data.signCount == 0),
    ]
  }
}

// MARK: - Checks of both demos

extension DemoRelyingParty.Check {
  /// Whether the authenticator answered for this site.
  static func rpIDHash(of data: AuthenticatorData, isThatOf rpID: String) -> Self {
    Self(name: "rpIdHash is that of \(rpID)", holds: data.rpIDHash == RPIDHash(rpID: rpID))
  }

  /// Whether a signature verifies, and a wrong one does not.
  static func signature(
    _ signature: [UInt8], over signed: [UInt8], by key: CredentialPublicKey, called name: String = "the signature"
  ) -> [Self] {
    [
      Self(name: "\(name) is valid", holds: key.isValidSignature(signature, for: signed)),
      Self(
        name: "the same signature over other data is not valid",
        holds: !key.isValidSignature(signature, for: signed + [0])),
    ]
  }
}
