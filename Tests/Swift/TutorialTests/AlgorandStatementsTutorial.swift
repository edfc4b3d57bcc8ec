// tutorial: begin
import AlgorandStatements
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery
// tutorial: end
import Testing

// tutorial: begin
struct ReadingPerson: UserInteraction {
  let canVerify = true
  let verificationTriesLeft = 8

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    print("\(prompt.purpose) for \(prompt.origin ?? "nobody")?")
    return Confirmation(userVerified: verification)
  }
}
// tutorial: end

@Test func `the tutorial of AlgorandStatements checks a challenge and signs a message`() async throws {
  // tutorial: begin
  func input(challenge: [UInt8]) -> (clientDataJSON: [UInt8], context: LiquidRequest.Context) {
    let challenge = Base64URL.encode(challenge)
    let json = #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"https://dapp.example"}"#
    let context = LiquidRequest.Context(
      ceremony: .get, rpID: "dapp.example", clientDataHash: SHA256.hash(Array(json.utf8)), userPresence: true,
      userVerification: true)
    return (Array(json.utf8), context)
  }

  let good = input(challenge: [UInt8](repeating: 0xFF, count: 32))
  let request = try LiquidRequest(["clientDataJSON": .bytes(good.clientDataJSON)], in: good.context)
  // tutorial: end
  #expect(request.form == .challenge([UInt8](repeating: 0xFF, count: 32), origin: "https://dapp.example"))

  // tutorial: begin
  let bad = input(challenge: Array("TX".utf8) + [UInt8](repeating: 0xFF, count: 30))
  do throws(CTAPError) {
    _ = try LiquidRequest(["clientDataJSON": .bytes(bad.clientDataJSON)], in: bad.context)
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error.status == .liquidReservedChallenge)
  }
  // tutorial: end

  // tutorial: begin
  let phrase = BIP39Phrase.generate()
  let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
  let vault = OpenVault(
    keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
  let authenticator = Authenticator(
    keySource: OpenKeySource(vault), interaction: ReadingPerson(), extensions: [LiquidExtension.self],
    randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: { 1_790_000_000_000 }, report: { _ in })
  let address = try await authenticator.accountAddresses(0..<1, of: 0, for: .wallet(.showAddresses))[0]
  // tutorial: end
  #expect(try vault.algorandAccount().address == address)

  // tutorial: begin
  let text = "I am the owner of this account"
  let prompt = UserPrompt(
    purpose: .wallet(.signMessage(text)), algorandAddress: address.text, origin: "https://dapp.example")
  let signature = try await authenticator.sign([.message(Array(text.utf8))], asking: prompt)[0]
  // tutorial: end

  // tutorial: begin
  let isValid = Ed25519.isValidSignature(signature, for: Array("MX\(text)".utf8), publicKey: address.publicKey)
  // tutorial: end
  #expect(isValid && !Ed25519.isValidSignature(signature, for: Array(text.utf8), publicKey: address.publicKey))
}
