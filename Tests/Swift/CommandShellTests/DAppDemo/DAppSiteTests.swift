import AlgorandTransaction
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Foundation
import LiquidAuth
import Recovery
import Synchronization
import Testing

@testable import liquid_auth

/// A page and a wallet at the site of `demo --dapp`, without a network.
@Suite struct DAppSiteTests {
  static let request = "0b8c6f7e-5a1d-4c0e-9a35-0b1f4a3d2c11"

  let events = Kept<DAppEvent>()
  let site: DAppSite
  let account: Ed25519.PrivateKey

  /// What was sent or reported, in order.
  final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    var all: [Value] { values.withLock { $0 } }
    func add(_ value: Value) { values.withLock { $0.append(value) } }
  }

  init() throws {
    var seed = randomBytes(32)
    account = try Ed25519.PrivateKey(seed: SecretBytes(consuming: &seed))
    site = DAppSite(port: 8080, at: .now) { [events] in events.add($0) }
  }

  private var address: AlgorandAddress { AlgorandAddress(publicKey: account.publicKey) }

  private struct Answer: Decodable {
    struct User: Decodable { let credId: String }
    struct Check: Decodable {
      let check: String
      let holds: Bool
    }
    var challenge: Base64URLBytes?
    var wallet: String?
    var credentials: [User]?
    var frame: String?
    var checks: [Check]?
    var reason: String?
    var error: String?
  }

  private struct Results: Decodable { let signatures: Int }

  private func post<Decoded: Decodable>(
    _ path: String, _ body: String, cookie: String? = nil, _ more: [(name: String, value: String)] = [],
    as type: Decoded.Type = Answer.self
  ) throws -> (status: Int, answer: Decoded, cookie: String?) {
    var request = DemoRequest(
      method: "POST", path: path, headers: [("Host", "localhost:8080"), ("Content-Type", "application/json")],
      body: Array(body.utf8))
    request.headers += more
    if let cookie { request.headers.append(("Cookie", cookie)) }
    let response = site.answer(request, at: .now)
    let set = response.headers.first { $0.name == "Set-Cookie" }?.value
    return (
      response.status, try JSONCoding.decode(type, from: response.body),
      set.flatMap { $0.split(separator: ";").first }.map(String.init)
    )
  }

  /// Opens a socket; what it gets is kept.
  private func open(cookie: String? = nil) -> (socket: DemoSocket, heard: Kept<String>) {
    let heard = Kept<String>()
    let socket = DemoSocket { heard.add($0) }
    var request = DemoRequest(
      method: "GET", path: "/socket.io/?EIO=4&transport=websocket", headers: [("Host", "localhost:8080")])
    if let cookie { request.headers.append(("Cookie", cookie)) }
    #expect(site.takesSocket(request))
    site.opened(socket, request)
    site.received("40", from: socket, at: .now)
    return (socket, heard)
  }

  private func json(_ value: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  private func liquid(_ challenge: [UInt8], address: String? = nil) throws -> LiquidExtensionResult {
    LiquidExtensionResult(
      requestId: try #require(RequestID(Self.request)), address: address ?? self.address.text,
      signature: Base64URLBytes(try account.signature(for: challenge)), device: "a test")
  }

  private static let wish = #"{"username":"X","displayName":"X","extensions":{"liquid":true}}"#

  /// Begins a registration; returns its challenge and cookie.
  private func beginRegistration() throws -> (challenge: [UInt8], cookie: String) {
    let (status, answer, cookie) = try post("/attestation/request", Self.wish)
    #expect(status == 201)
    return (try #require(answer.challenge?.bytes), try #require(cookie))
  }

  private func registration(
    _ key: BrowserKey, _ challenge: [UInt8], _ liquid: LiquidExtensionResult
  ) throws -> String {
    let made = try key.register(challenge, packed: false)
    let object = try #require(made.attestationObject)
    return try json(
      AttestationCredential(
        id: made.id.bytes, response: .init(clientDataJSON: made.clientDataJSON, attestationObject: object),
        liquid: liquid))
  }

  private func signIn(_ key: BrowserKey, _ challenge: [UInt8]) throws -> String {
    let made = try key.signIn(challenge)
    return try json(
      AssertionCredential(
        id: made.id.bytes,
        response: .init(
          clientDataJSON: made.clientDataJSON, authenticatorData: try #require(made.authenticatorData),
          signature: try #require(made.signature), userHandle: nil),
        liquid: liquid(challenge)))
  }

  /// Registers for the request of the tests; returns the wallet's key and cookie.
  private func registered() throws -> (key: BrowserKey, cookie: String) {
    let (challenge, cookie) = try beginRegistration()
    let key = try BrowserKey()
    let (status, answer, _) = try post(
      "/attestation/response", registration(key, challenge, liquid(challenge)), cookie: cookie)
    #expect(status == 201 && answer.wallet == address.text)
    #expect(answer.credentials?.map(\.credId) == [Base64URL.encode(key.id)])
    return (key, cookie)
  }

  /// A page that waits for the request of the tests.
  private func page() -> (socket: DemoSocket, heard: Kept<String>) {
    let page = open()
    site.received(#"420["link",{"requestId":"\#(Self.request)"}]"#, from: page.socket, at: .now)
    return page
  }

  private var asked: String { #"{"requestId":"\#(Self.request)"}"# }

  private func answer(_ frame: String) throws -> (status: Int, answer: Answer, cookie: String?) {
    try post("/answer", #"{"requestId":"\#(Self.request)","frame":"\#(frame)"}"#)
  }

  /// The wallet's answer to a frame, with one signature.
  private func signed(_ frame: String, _ change: ([UInt8]) -> [UInt8] = { $0 }) throws -> String {
    let bytes = try #require(Base64URL.decode(frame.utf8))
    let decoded = try LooseCBORDecoder.decode(bytes, maximumSize: 4096)
    let message = try #require(decoded.map)
    #expect(message["reference"] == "arc0027:sign_transactions:request")
    let item = try #require(message["params"]?.map?["txns"]?.array?.first?.map?["txn"]?.text)
    let unsigned = try #require(Base64URL.decode(item.utf8))
    let transaction = try Transaction(decoding: unsigned)
    #expect(transaction.sender == address && transaction.genesisID == "testnet-v1.0" && transaction.rekeyTo == nil)
    guard case .payment(let payment) = transaction.content else {
      Issue.record("no payment")
      return ""
    }
    #expect(payment.amount == 0 && payment.receiver == address && payment.closeRemainderTo == nil)
    let signature = change(try account.signature(for: transaction.signingInput))
    let id = try #require(message["id"])
    let reply: LooseCBORValue = [
      "reference": "arc0027:sign_transactions:response", "requestId": id,
      "result": ["stxns": [.text(Base64URL.encode(signature))]],
    ]
    return Base64URL.encode(LooseCBOREncoder.encode(reply))
  }

  @Test func `a wallet registers, the page is told, and a signature is verified`() throws {
    let page = page()
    #expect(page.heard.all.count == 2 && page.heard.all[0].hasPrefix("0{") && page.heard.all[1].hasPrefix("40{"))
    let (key, cookie) = try registered()
    let told = try #require(page.heard.all.last)
    #expect(told.hasPrefix("430[{") && told.contains(address.text) && told.contains(Base64URL.encode(key.id)))

    let wallet = open(cookie: cookie)
    site.received(#"42["offer-description","v=0"]"#, from: wallet.socket, at: .now)
    #expect(page.heard.all.last == #"42["offer-description","v=0"]"#)
    site.received(#"42["answer-candidate",{"candidate":"x"}]"#, from: page.socket, at: .now)
    #expect(wallet.heard.all.last == #"42["answer-candidate",{"candidate":"x"}]"#)

    let frame = try #require(try post("/ask", asked).answer.frame)
    let (status, verdict, _) = try answer(signed(frame))
    #expect(status == 200 && verdict.checks?.allSatisfy(\.holds) == true)
    let (_, results, _) = try post("/done", asked, as: Results.self)
    #expect(results.signatures == 1 && site.results.holds && site.results.storedIDs == [key.id])
    let steps = events.all.map { event -> String in
      guard case .verified(let step, let verdict) = event, verdict.holds else { return "" }
      return step.rawValue
    }
    #expect(steps == ["registration", "signature"])
  }

  @Test func `a registered passkey signs in, and another is not known`() throws {
    let (key, cookie) = try registered()
    let begun = try post("/assertion/request/\(Base64URL.encode(key.id))", "{}", cookie: cookie)
    let challenge = try #require(begun.answer.challenge?.bytes)
    #expect(begun.status == 201 && begun.cookie == nil && challenge[0] >= 0x80)
    let done = try post("/assertion/response", signIn(key, challenge), cookie: cookie)
    #expect(done.status == 201 && done.answer.wallet == address.text && site.results.failures == 0)
    let again = try post("/assertion/response", signIn(key, challenge), cookie: cookie)
    #expect(again.status == 401 && again.answer.error == "Challenge not found.", "a challenge is used once")
    let other = try post("/assertion/request/AAAA", "{}")
    #expect(other.status == 401 && other.answer.reason == "not_found")
  }

  static let faults: [(String, @Sendable (inout BrowserKey) -> Void)] = [
    ("the origin is http://localhost:8080", { $0.origin = "https://localhost" }),
    ("rpIdHash is that of localhost", { $0.rpID = "other.example" }),
    ("the user was present (UP)", { $0.flags.remove(.userPresent) }),
  ]

  // Holds: DEMO-6
  @Test(arguments: faults.indices)
  func `an answer that the service refuses is explained, and may come again`(_ index: Int) throws {
    let (name, change) = Self.faults[index]
    let page = page()
    let (challenge, cookie) = try beginRegistration()
    var key = try BrowserKey()
    change(&key)
    let refused = try post(
      "/attestation/response", registration(key, challenge, liquid(challenge)), cookie: cookie)
    #expect(refused.status == 401 && refused.answer.error == "User verification failed")
    guard case .verified(.registration, let verdict)? = events.all.last else {
      Issue.record("no event")
      return
    }
    #expect(verdict.failed == [name] && page.heard.all.count == 2 && !site.results.holds)
    let right = try post(
      "/attestation/response", registration(BrowserKey(), challenge, liquid(challenge)), cookie: cookie)
    #expect(right.status == 201 && page.heard.all.count == 3)
  }

  // Holds: DEMO-6
  @Test func `an address that has not signed the challenge is refused`() throws {
    let (challenge, cookie) = try beginRegistration()
    let stranger = AlgorandAddress(publicKey: [UInt8](repeating: 7, count: 32)).text
    let wrong = [try liquid(challenge, address: stranger), try liquid([0] + challenge.dropFirst())]
    for one in wrong {
      let refused = try post("/attestation/response", registration(BrowserKey(), challenge, one), cookie: cookie)
      guard case .verified(_, let verdict)? = events.all.last else {
        Issue.record("no event")
        return
      }
      #expect(refused.status == 401 && verdict.failed == ["the address has signed the challenge"])
    }
    #expect(try post("/attestation/request", #"{"username":"X"}"#).status == 501)
  }

  @Test func `a wrong signature fails, and a refusal of the wallet is none`() throws {
    _ = page()
    _ = try registered()
    let frame = try #require(try post("/ask", asked).answer.frame)
    let wrong = try answer(signed(frame) { [$0[0] ^ 1] + $0.dropFirst() })
    let failed = wrong.answer.checks?.filter { !$0.holds }.map(\.check)
    #expect(wrong.status == 200 && failed == ["the signature is that of the address, over the transaction"])
    let failures = site.results.failures
    let refusal: LooseCBORValue = ["error": ["code": .unsigned(4001), "message": "the user said no"]]
    _ = try post("/ask", asked)
    let refused = try answer(Base64URL.encode(LooseCBOREncoder.encode(refusal)))
    #expect(refused.status == 409 && refused.answer.error == "the wallet refused: the user said no (4001)")
    #expect(site.results.failures == failures && site.results.signatures == 0)
    #expect(try answer("").status == 403, "nothing was asked")
  }

  // Holds: DEMO-7
  @Test func `strangers get nothing`() throws {
    let page = page()
    #expect(try post("/ask", asked).status == 403, "nobody has signed in")
    let (_, cookie) = try registered()
    let (stranger, heard) = open()
    site.received(#"42["answer-description","v=0"]"#, from: stranger, at: .now)
    site.received(#"42["other",1]"#, from: page.socket, at: .now)
    site.received("42[", from: page.socket, at: .now)
    #expect(open(cookie: cookie).heard.all.count == 2 && heard.all.count == 2 && page.heard.all.count == 3)
    #expect(try post("/ask", #"{"requestId":"another"}"#).status == 403)
    #expect(try post("/done", #"{"requestId":"another"}"#).status == 403)
    site.closed(page.socket)
    #expect(try post("/ask", asked).status == 403, "the page has gone")
  }

  @Test func `the summary names what a demo with a wallet needs, and its events count it`() {
    var results = DAppResults(checks: 1, failures: 0, signatures: 0, storedIDs: [[1, 2, 3, 4, 5, 6, 7]])
    #expect(results.text.hasPrefix("\nno check failed, but a demo needs a signature\n"))
    #expect(results.text.contains("liquid-auth credentials remove 010203040506\n"))
    results.signatures = 1
    #expect(results.text.hasPrefix("\nall 1 check succeeded\n"))
    #expect(
      results.json.line
        == #"{"holds": true, "checks": 1, "failures": 0, "signatures": 1, "storedPasskeys": ["01020304050607"]}"#)
  }

  // Holds: DEMO-7
  @Test func `a passkey for a request that no page waits for is not among those to delete`() throws {
    _ = try registered()
    #expect(site.results.failures == 0 && site.results.checks > 0)
    #expect(site.results.storedIDs.isEmpty)
  }

  // Holds: DEMO-7
  @Test func `requests of other sites are refused, and the page has an address that nobody knows`() throws {
    #expect(try post("/attestation/request", Self.wish, [("Origin", "https://evil.example")]).status == 403)
    #expect(try post("/attestation/request", Self.wish, [("Sec-Fetch-Site", "cross-site")]).status == 403)
    func get(_ path: String, host: String = "localhost:8080", origin: String? = nil) -> DemoRequest {
      var request = DemoRequest(method: "GET", path: path, headers: [("Host", host)])
      if let origin { request.headers.append(("Origin", origin)) }
      return request
    }
    #expect(site.answer(get("/"), at: .now).status == 403)
    #expect(site.answer(get(site.start), at: .now).status == 200 && site.start.utf8.count == 23)
    #expect(site.answer(get(site.start, host: "evil.example"), at: .now).status == 421)
    let socket = "/socket.io/?EIO=4&transport=websocket"
    #expect(site.takesSocket(get(socket, origin: "http://localhost:8080")))
    #expect(!site.takesSocket(get(socket, origin: "https://evil.example")))
    #expect(!site.takesSocket(get(socket, host: "evil.example")))
    #expect(!site.takesSocket(get("/", origin: "http://localhost:8080")))
    #expect(site.answer(get("/socket.io/?EIO=4&transport=polling"), at: .now).status == 400)
    #expect(site.headers.contains { $0.value.contains("connect-src 'self' ws://localhost:8080;") })
  }
}
