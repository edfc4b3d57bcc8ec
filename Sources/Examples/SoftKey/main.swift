// A software security key in one file: `CTAP2` answers the messages, `CTAPHID` carries them, and 24 words are the only
// secret. Here the host is in the same process; a device for the whole machine reads the same reports from /dev/uhid.

import CBOR
import CTAP2
import CTAPHID
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// The key: reports of 64 bytes in, reports out.
struct SoftKey {
  private var machine = CTAPHIDStateMachine(
    identity: DeviceIdentity(major: 1, minor: 0, build: 0, capabilities: [.cbor, .nmsg]), firstChannel: 1)
  private var authenticator: Authenticator
  private static let start = ContinuousClock.now

  init(_ phrase: BIP39Phrase) throws {
    let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
    let vault = OpenVault(
      keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
    authenticator = Authenticator(
      keySource: OpenKeySource(vault), interaction: KeyUser(), extensions: [CredProtect.self, HMACSecret.self],
      randomness: SystemRandomNumberGenerator(), now: { ContinuousClock.now - Self.start },
      wallClock: { 1_790_000_000_000 }, report: { print("key:    \($0.command ?? "what?"): \($0.status)") })
  }

  mutating func receive(_ report: Report) async -> [Report] {
    let passed = (ContinuousClock.now - Self.start).components
    let now = Instant(nanoseconds: passed.seconds * 1_000_000_000 + passed.attoseconds / 1_000_000_000)
    var answers: [Report] = []
    for action in machine.receive(report, at: now) {
      switch action {
      case .send(let report): answers.append(report)
      case .dispatch(let request):
        let context = RequestContext(channel: UInt64(request.channel.rawValue), poweredUpAt: .zero)
        let answer = await authenticator.respond(to: request.payload, in: context)
        for case .send(let report) in machine.respond(answer, to: request.transaction) { answers.append(report) }
      case .cancel, .wink: break  // an authenticator that waits for a person withdraws its prompt here
      }
    }
    return answers
  }
}

/// The person: a real key shows the prompt and waits for an answer.
struct KeyUser: UserInteraction {
  let canVerify = false
  let verificationTriesLeft = 0

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    print("person: yes, \(prompt.purpose) at \(prompt.rpID ?? "no site")")
    return Confirmation(userVerified: verification)
  }
}

/// The host: what a browser does with a security key.
struct Host {
  private var machine = ClientMachine()
  var key: SoftKey

  init(_ key: SoftKey) async throws {
    self.key = key
    _ = await exchange([machine.open(nonce: randomBytes(8))])
  }

  mutating func ask(_ command: UInt8, _ parameters: CBORMap) async throws -> CBORMap {
    let reports = try machine.request(.cbor, [command] + CBOREncoder.encode(.map(parameters)))
    guard case .response(_, let answer)? = await exchange(reports), answer.first == 0 else { fatalError("refused") }
    return try CBORDecoder.decode(Array(answer.dropFirst())).map ?? [:]
  }

  private mutating func exchange(_ reports: [Report]) async -> ClientMachine.Event? {
    var event: ClientMachine.Event?
    for report in reports { for answer in await key.receive(report) { event = machine.receive(answer) ?? event } }
    return event
  }
}

/// Registers a passkey with one key, and signs in with another that has only the same words.
func demonstrate(_ phrase: BIP39Phrase, _ clientDataHash: [UInt8]) async throws -> Bool {
  var host = try await Host(SoftKey(phrase))
  let made = try await host.ask(
    MakeCredential.code,
    [
      1: .bytes(clientDataHash), 2: ["id": "example.com"], 3: ["id": .bytes([1]), "name": "Alice"],
      4: [["alg": -7, "type": "public-key"]], 7: ["rk": true],
    ])
  guard let passkey = try AuthenticatorData(parsing: made.requiredBytes(2)).attestedCredentialData else { return false }

  host = try await Host(SoftKey(phrase))
  let list: CBORValue = [["id": .bytes(passkey.credentialID), "type": "public-key"]]
  let signed = try await host.ask(GetAssertion.code, [1: "example.com", 2: .bytes(clientDataHash), 3: list])
  let message = try signed.requiredBytes(2) + clientDataHash
  return passkey.publicKey.publicKey.isValidSignature(try signed.requiredBytes(3), for: message)
}

guard try await demonstrate(.generate(), SHA256.hash(Array("client data".utf8))) else { fatalError("not signed in") }
print("site:   signed in with a passkey that only 24 words brought back")
