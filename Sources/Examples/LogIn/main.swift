// A log-in to a dApp by its link, as a wallet does it: `LiquidAuth` talks to the server, the authenticator signs.

import AlgorandStatements
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Foundation
import LiquidAuth
import Recovery

/// The person: a real wallet shows the prompt and waits for an answer.
struct WalletUser: UserInteraction {
  let canVerify = true
  let verificationTriesLeft = 8

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    print("person: yes, \(prompt.purpose) at \(prompt.origin ?? "no origin")")
    return Confirmation(userVerified: verification)
  }
}

/// A dApp's server in memory, which verifies nothing; a real one is on the network and verifies the answer.
actor Server: HTTPPort, PublicSuffixes {
  private var wallet = "", known: [String] = []

  func send(_ request: HTTPRequest, maximumBodySize: Int) -> HTTPResponse {
    let body = (try? JSONSerialization.jsonObject(with: Data(request.body ?? []))) as? [String: Any] ?? [:]
    print("server: \(request.url)")
    wallet = body["username"] as? String ?? wallet
    if let id = body["id"] as? String { known = [id] }
    let isKnown = known.contains { request.url.hasSuffix($0) } || !request.url.contains("/assertion/request/")
    let user = "\"wallet\":\"\(wallet)\",\"credentials\":[\(known.map { "{\"credId\":\"\($0)\"}" }.joined())]"
    let challenge = Base64URL.encode([UInt8](repeating: 0xFF, count: 32))
    let rp = "\"rpId\":\"dapp.example\",\"rp\":{\"id\":\"dapp.example\"},\"challenge\":\"\(challenge)\""
    return HTTPResponse(
      status: isKnown ? 200 : 404, headers: [HTTPHeader("Content-Type", "application/json")],
      body: Array("{\(user),\(rp)}".utf8))
  }
  nonisolated func isPublicSuffix(_ domain: String) -> Bool { !domain.contains(".") }
}

let phrase = BIP39Phrase.generate()
let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
let vault = OpenVault(
  keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
let authenticator = Authenticator(
  keySource: OpenKeySource(vault), interaction: WalletUser(), extensions: [LiquidExtension.self],
  randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: { 1_790_000_000_000 }, report: { _ in })
let server = Server()
let client = LiquidAuthClient(
  http: server, authenticator: LocalAuthenticator(authenticator), publicSuffixes: server,
  userAgent: UserAgent(version: "1.0"), device: "an example", report: { _ in })
for _ in 1...2 {
  let result = try await client.connect(link: "liquid://dapp.example/?requestId=1")
  print("wallet: \(result.ceremony) at \(result.origin.serialized) as \(result.address.text)")
}
