// tutorial: begin
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Foundation
import Recovery
// tutorial: end
import Testing

/// Testing has a type of this name, too.
typealias Confirmation = CTAP2.Confirmation

// tutorial: begin
struct AgreeingPerson: UserInteraction {
  let canVerify = false
  let verificationTriesLeft = 0

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    print("\(prompt.purpose) at \(prompt.rpID ?? "no site")?")
    return Confirmation(userVerified: verification)
  }
}
// tutorial: end

@Test func `the tutorial of CTAP2 registers and signs in`() async throws {
  // tutorial: begin
  let phrase = BIP39Phrase.generate()
  let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
  let vault = OpenVault(
    keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
  let start = ContinuousClock.now
  var authenticator = Authenticator(
    keySource: OpenKeySource(vault), interaction: AgreeingPerson(), extensions: [CredProtect.self, HMACSecret.self],
    randomness: SystemRandomNumberGenerator(), now: { ContinuousClock.now - start },
    wallClock: { UInt64(Date().timeIntervalSince1970 * 1000) },
    report: { print("\($0.command ?? "unknown command"): \($0.status)") })
  let context = RequestContext(channel: 1, poweredUpAt: .zero)
  // tutorial: end

  // tutorial: begin
  let clientDataHash = SHA256.hash(Array("the client data of this request".utf8))
  let registration: CBORMap = [
    1: .bytes(clientDataHash), 2: ["id": "example.com"], 3: ["id": .bytes([1]), "name": "Alice"],
    4: [["alg": -7, "type": "public-key"]], 7: ["rk": true],
  ]
  let registered = await authenticator.respond(
    to: [MakeCredential.code] + CBOREncoder.encode(.map(registration)), in: context)
  // tutorial: end
  #expect(registered.first == CTAPStatus.success.rawValue)

  // tutorial: begin
  let attestation = try CBORDecoder.decode(Array(registered.dropFirst())).map ?? [:]
  let data = try AuthenticatorData(parsing: attestation.requiredBytes(2))
  guard let passkey = data.attestedCredentialData else {
    Issue.record("no passkey")
    return
  }
  // tutorial: end
  #expect(data.flags.contains(.userPresent) && !data.flags.contains(.userVerified))

  // tutorial: begin
  let signIn: CBORMap = [
    1: "example.com", 2: .bytes(clientDataHash),
    3: [["id": .bytes(passkey.credentialID), "type": "public-key"]],
  ]
  let signedIn = await authenticator.respond(
    to: [GetAssertion.code] + CBOREncoder.encode(.map(signIn)), in: context)
  let assertion = try CBORDecoder.decode(Array(signedIn.dropFirst())).map ?? [:]
  let isValid = passkey.publicKey.publicKey.isValidSignature(
    try assertion.requiredBytes(3), for: try assertion.requiredBytes(2) + clientDataHash)
  // tutorial: end
  #expect(signedIn.first == CTAPStatus.success.rawValue && isValid)

  // tutorial: begin
  let refused = await authenticator.respond(to: [GetAssertion.code], in: context)
  let status = CTAPStatus(rawValue: refused[0])
  // tutorial: end
  #expect(refused.count == 1 && status == .missingParameter)
}
