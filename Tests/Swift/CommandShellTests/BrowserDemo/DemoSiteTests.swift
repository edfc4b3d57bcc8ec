import CryptoPrimitives
import LiquidAuth
import ProcessIO
import Recovery
import Synchronization
import Testing

@testable import liquid_auth

/// The site over requests, with a clock that the test moves.
@Suite struct DemoSiteTests {
  let start = ContinuousClock.now
  let events = Events()
  let site: DemoSite

  final class Events: Sendable {
    let all = Mutex<[DemoSiteEvent]>([])
  }

  init() {
    site = DemoSite(port: 8080, at: start) { [events] event in events.all.withLock { $0.append(event) } }
  }

  /// The options of a ceremony, and the members of an answer, that these tests read.
  private struct Answer: Decodable {
    struct User: Decodable { let id: Base64URLBytes }
    struct Descriptor: Decodable { let id: Base64URLBytes }
    struct Check: Decodable {
      let check: String
      let holds: Bool
    }
    var challenge: Base64URLBytes?
    var user: User?
    var userVerification: String?
    var allowCredentials: [Descriptor]?
    var excludeCredentials: [Descriptor]?
    var checks: [Check]?
    var error: String?

    var failed: [String]? { checks?.filter { !$0.holds }.map(\.check) }
  }

  private func request(
    _ method: String, _ path: String, _ body: String = "", cookie: String? = nil,
    _ change: (inout DemoRequest) -> Void = { _ in }
  ) -> DemoRequest {
    var request = DemoRequest(
      method: method, path: path, headers: [("Host", "localhost:8080"), ("Accept", "*/*")], body: Array(body.utf8))
    if let cookie { request.headers.append(("cookie", "other=1; \(cookie)")) }
    if method == "POST" {
      request.headers += [("Origin", "http://localhost:8080"), ("Content-Type", "application/json")]
    }
    change(&request)
    return request
  }

  /// Loads the page; returns its cookie.
  private func load(at time: Duration = .zero) throws -> String {
    #expect(site.answer(request("GET", "/"), at: start + time).status == 403, "another user does not know the address")
    let response = site.answer(request("GET", site.start), at: start + time)
    #expect(response.status == 200 && site.start.utf8.count == 23)
    let cookie = try #require(response.headers.first { $0.name == "Set-Cookie" }?.value)
    #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
    return String(try #require(cookie.split(separator: ";").first))
  }

  private func post(
    _ path: String, _ body: String, _ cookie: String, at time: Duration = .zero
  ) throws -> (status: Int, answer: Answer) {
    let response = site.answer(request("POST", path, body, cookie: cookie), at: start + time)
    return (response.status, try JSONCoding.decode(Answer.self, from: response.body))
  }

  private func begin(_ ceremony: DemoCeremony, _ cookie: String, at time: Duration = .zero) throws -> Answer {
    let (status, answer) = try post("/begin", #"{"ceremony":"\#(ceremony.rawValue)"}"#, cookie, at: time)
    #expect(status == 200, "\(answer.error ?? "")")
    return answer
  }

  private func finish(
    _ ceremony: DemoCeremony, _ credential: PageCredential, _ cookie: String, at time: Duration = .zero
  ) throws -> (status: Int, answer: Answer) {
    let body = #"{"ceremony":"\#(ceremony.rawValue)","credential":\#(credential.json)}"#
    return try post("/finish", body, cookie, at: time)
  }

  /// Registers a passkey; returns its key, with the account's user handle.
  private func registered(_ cookie: String, _ ceremony: DemoCeremony = .passkey) throws -> BrowserKey {
    var key = try BrowserKey()
    let options = try begin(ceremony, cookie)
    key.userHandle = options.user?.id.bytes
    let (status, answer) = try finish(ceremony, try key.register(#require(options.challenge?.bytes)), cookie)
    #expect(status == 200 && answer.failed == [])
    return key
  }

  private func signIn(
    _ ceremony: DemoCeremony, _ key: BrowserKey, _ cookie: String
  ) throws -> (status: Int, answer: Answer) {
    let challenge = try #require(try begin(ceremony, cookie).challenge?.bytes)
    return try finish(ceremony, key.signIn(challenge), cookie)
  }

  @Test func `all steps in order give results that hold`() throws {
    let cookie = try load()
    var key = try registered(cookie)
    #expect(try begin(.signIn, cookie).allowCredentials?.isEmpty == true)
    #expect(try signIn(.signIn, key, cookie).answer.failed == [])
    let factor = try registered(cookie, .secondFactor)
    let options = try begin(.secondFactorSignIn, cookie)
    #expect(options.allowCredentials?.map(\.id.bytes) == [factor.id] && options.userVerification == "discouraged")
    #expect(try signIn(.secondFactorSignIn, factor, cookie).answer.failed == [])
    key.prfHashes = [randomBytes(32)]
    #expect(try signIn(.prf, key, cookie).answer.failed == [])
    key.prfHashes.append(randomBytes(32))
    #expect(try signIn(.prfAgain, key, cookie).answer.failed == [])
    #expect(try begin(.excluded, cookie).excludeCredentials?.map(\.id.bytes) == [key.id])
    let failure = #"{"ceremony":"excluded","error":"InvalidStateError"}"#
    #expect(try post("/failed", failure, cookie).answer.failed == [])
    #expect(site.results.holds && site.results.failures == 0)
    #expect(site.results.registrations == 2 && site.results.signIns == 4 && site.results.storedIDs == [key.id])
    let ceremonies = events.all.withLock { events in
      events.compactMap { event in
        if case .verified(let ceremony, let verdict) = event, verdict.holds { ceremony } else { nil }
      }
    }
    #expect(ceremonies == DemoCeremony.allCases)
    #expect(site.answer(request("POST", "/done", "{}", cookie: cookie), at: start).endsDemo)
  }

  // Holds: DEMO-3
  @Test func `a challenge is used once, replaced by the next, and expires`() throws {
    let cookie = try load()
    let key = try BrowserKey()
    let first = try #require(try begin(.passkey, cookie).challenge?.bytes)
    let second = try #require(try begin(.passkey, cookie).challenge?.bytes)
    #expect(first != second && first.count == 32)
    let replaced = try finish(.passkey, key.register(first), cookie)
    #expect(replaced.answer.failed == ["the challenge is the one of this step"])
    // The wrong answer has used up the second one.
    #expect(try finish(.passkey, key.register(second), cookie).status == 409)
    let third = try #require(try begin(.passkey, cookie).challenge?.bytes)
    #expect(try finish(.passkey, key.register(third), cookie, at: DemoSession.challengeLifetime).status == 409)
    let fourth = try #require(try begin(.passkey, cookie).challenge?.bytes)
    let almost = DemoSession.challengeLifetime - .milliseconds(1)
    #expect(try finish(.passkey, key.register(fourth), cookie, at: almost).answer.failed == [])
    #expect(try finish(.passkey, key.register(fourth), cookie).status == 409)
    // A challenge of one ceremony does not serve another.
    let fifth = try #require(try begin(.secondFactor, cookie).challenge?.bytes)
    #expect(try finish(.passkey, key.register(fifth), cookie).status == 409)
  }

  @Test func `a step that needs another one is refused before it`() throws {
    let cookie = try load()
    for ceremony in DemoCeremony.allCases where ceremony.predecessor != nil {
      #expect(try post("/begin", #"{"ceremony":"\#(ceremony.rawValue)"}"#, cookie).status == 409)
    }
    _ = try registered(cookie)
    #expect(try post("/begin", #"{"ceremony":"prf-again"}"#, cookie).status == 409)
    #expect(try post("/begin", #"{"ceremony":"sign-in"}"#, cookie).status == 200)
  }

  // Holds: DEMO-3
  @Test func `a passkey of another step or session is not accepted`() throws {
    let (cookie, other) = (try load(), try load())
    let key = try registered(cookie)
    let factor = try registered(cookie, .secondFactor)
    _ = try registered(other)
    #expect(try signIn(.signIn, factor, cookie).status == 409)
    #expect(try signIn(.secondFactorSignIn, key, cookie).status == 409)
    #expect(try signIn(.signIn, key, other).status == 409)
    #expect(site.results.failures == 0 && site.results.signIns == 0 && !site.results.holds)
  }

  @Test func `secrets that are missing, differ, or do not differ fail`() throws {
    let cookie = try load()
    var key = try registered(cookie)
    let refusal = try signIn(.prf, key, cookie)
    #expect(refusal.status == 409 && refusal.answer.error?.hasPrefix("this browser does not support PRF") == true)
    #expect(site.results.failures == 0)
    key.isPRFSupported = true
    #expect(try signIn(.prf, key, cookie).answer.failed == ["the key gave a secret"])
    key.prfHashes = [randomBytes(31)]
    #expect(try signIn(.prf, key, cookie).answer.failed == ["the key gave a secret"])
    key.prfHashes = [randomBytes(32)]
    #expect(try signIn(.prf, key, cookie).answer.failed == [])
    #expect(try signIn(.prfAgain, key, cookie).answer.failed == ["the key gave two secrets"])
    let right = key.prfHashes[0]
    key.prfHashes = [right, right]
    #expect(try signIn(.prfAgain, key, cookie).answer.failed == ["another salt gives another secret"])
    key.prfHashes = [randomBytes(32), right]
    #expect(try signIn(.prfAgain, key, cookie).answer.failed == ["the same salt gives the same secret"])
  }

  @Test func `a second registration that succeeds although it is excluded fails`() throws {
    let cookie = try load()
    _ = try registered(cookie)
    let challenge = try #require(try begin(.excluded, cookie).challenge?.bytes)
    let (_, answer) = try finish(.excluded, BrowserKey().register(challenge), cookie)
    #expect(answer.failed?.count == 1 && site.results.registrations == 1)
    #expect(site.results.storedIDs.count == 2, "the key has stored it all the same")
    // A refusal by the user is neither right nor wrong.
    _ = try begin(.excluded, cookie)
    let refusal = try post("/failed", #"{"ceremony":"excluded","error":"NotAllowedError"}"#, cookie)
    #expect(refusal.status == 200 && refusal.answer.checks == nil)
  }

  // Holds: DEMO-2
  @Test func `a malformed answer is a failed check, and uses up the challenge`() throws {
    let cookie = try load()
    let challenge = try #require(try begin(.passkey, cookie).challenge?.bytes)
    var credential = try BrowserKey().register(challenge)
    credential.attestationObject = Base64URLBytes([0xff])
    let (status, answer) = try finish(.passkey, credential, cookie)
    #expect(status == 200 && answer.failed?.first?.hasPrefix("the answer can be read: attestationObject") == true)
    #expect(site.results.failures == 1)
    #expect(try finish(.passkey, BrowserKey().register(challenge), cookie).status == 409)
  }

  static let refused: [(status: Int, method: String, change: @Sendable (inout DemoRequest) -> Void)] = [
    (421, "GET", { $0.headers = [] }),
    (421, "GET", { $0.headers[0].value = "localhost" }),
    (421, "GET", { $0.headers[0].value = "127.0.0.1:8080" }),
    (421, "GET", { $0.headers[0].value = "localhost:8080.evil.example" }),
    (421, "POST", { $0.headers.append(("HOST", "localhost:8080")) }),
    (403, "GET", { $0.headers.append(("Sec-Fetch-Site", "cross-site")) }),
    (403, "GET", { $0.headers.append(("Origin", "http://evil.example")) }),
    (403, "POST", { $0.headers.append(("Sec-Fetch-Site", "same-site")) }),
    (403, "POST", { $0.headers.append(("Sec-Fetch-Site", "none")) }),
    (403, "POST", { request in request.headers.removeAll { $0.name == "Origin" } }),
    (403, "POST", { $0.headers.append(("origin", "http://localhost:8080")) }),
    (403, "POST", { request in request.headers.removeAll { $0.name == "cookie" } }),
    (415, "POST", { request in request.headers.removeAll { $0.name == "Content-Type" } }),
    (413, "POST", { $0.body = [UInt8](repeating: 0x20, count: DemoSite.longestBody + 1) }),
    (405, "PUT", { _ in }), (405, "HEAD", { _ in }), (405, "OPTIONS", { _ in }), (405, "get", { _ in }),
    (404, "POST", { $0.path = "/" }), (404, "POST", { $0.path = "/begin?" }),
    (400, "POST", { $0.body = [] }), (400, "POST", { $0.body = Array(#"{"ceremony":"reset"}"#.utf8) }),
  ]

  // Holds: DEMO-4
  @Test(arguments: refused.indices)
  func `a request that the page never sends is refused`(_ index: Int) throws {
    let (status, method, change) = Self.refused[index]
    let cookie = try load()
    let path = method == "POST" ? "/begin" : "/"
    let body = method == "POST" ? #"{"ceremony":"passkey"}"# : ""
    let unchanged = site.answer(request(method, path, body, cookie: cookie), at: start)
    #expect(unchanged.status == (["GET", "POST"].contains(method) ? 200 : 405))
    #expect(site.answer(request(method, path, body, cookie: cookie, change), at: start).status == status)
  }

  // Holds: DEMO-5
  @Test func `the session that was idle for longest makes room, unless it has a passkey`() throws {
    let cookies = try (0..<DemoSite.mostSessions).map { try load(at: .seconds($0)) }
    _ = try registered(cookies[0])
    _ = try begin(.passkey, cookies[1], at: .seconds(1000))
    _ = try load(at: .seconds(1001))
    #expect(try post("/begin", #"{"ceremony":"passkey"}"#, cookies[2]).status == 403)
    for kept in [cookies[0], cookies[1], cookies[3]] {
      #expect(try post("/begin", #"{"ceremony":"passkey"}"#, kept).status == 200)
    }
    #expect(site.lastRequest == start)
  }

  @Test func `a session makes a limited number of passkeys`() throws {
    let cookie = try load()
    for _ in 0..<DemoSession.mostPasskeys { _ = try registered(cookie) }
    #expect(try post("/begin", #"{"ceremony":"passkey"}"#, cookie).status == 409)
  }

  @Test func `the demo ends by itself only after fifteen minutes without a request`() throws {
    let idle = DemoSite(port: 8080, at: .now - BrowserDemo.idleTimeout) { _ in }
    BrowserDemo.wait(for: Cancellation(), idle)
    // What is refused is not a request of the page, and keeps nothing alive.
    _ = idle.answer(request("GET", "/") { $0.headers[0].value = "evil.example" }, at: .now)
    BrowserDemo.wait(for: Cancellation(), idle)
    _ = idle.answer(request("GET", "/"), at: .now)
    BrowserDemo.wait(for: Cancellation(), idle)
    _ = idle.answer(request("GET", idle.start), at: start)
    #expect(idle.lastRequest == start && BrowserDemo.idleTimeout == .seconds(900))
    let ending = Cancellation()
    ending.cancel()
    BrowserDemo.wait(for: ending, site)
  }

  @Test func `the summary names the result and the command that deletes a passkey`() {
    var results = DemoResults(
      checks: 20, failures: 0, registrations: 1, signIns: 0, storedIDs: [[1, 2, 3, 4, 5, 6, 7]])
    #expect(results.text.contains("no check failed, but a demo needs a registration and a sign-in"))
    #expect(!results.holds && results.text.contains("liquid-auth credentials remove 010203040506\n"))
    results.signIns = 1
    #expect(results.holds && results.text.contains("all 20 checks succeeded"))
    results.failures = 1
    #expect(!results.holds && results.text.contains("1 of 20 checks failed"))
  }

  @Test func `an event is text that controls no terminal, and JSON`() {
    var verdict = DemoVerdict()
    verdict.check("good", true)
    verdict.note("transports", "usb\u{1B}[31m")
    let event = DemoSiteEvent.verified(.prf, verdict)
    #expect(
      event.lines == ["\nask the passkey for a secret (PRF)", #"      transports: usb\u{1B}[31m"#, "  ok  good"])
    #expect(
      event.json.line
        == #"{"event": "verified", "ceremony": "prf", "holds": true, "checks": [{"check": "good", "holds": true}], "#
        + #""facts": [{"name": "transports", "value": "usb\u001b[31m"}]}"#)
  }
}

extension PageCredential {
  /// As the page's script writes it.
  fileprivate var json: String {
    var members: [String] = []
    func add(_ name: String, _ bytes: Base64URLBytes?) {
      if let bytes { members.append(#""\#(name)":"\#(Base64URL.encode(bytes.bytes))""#) }
    }
    add("id", id)
    add("clientDataJSON", clientDataJSON)
    add("attestationObject", attestationObject)
    add("authenticatorData", authenticatorData)
    add("signature", signature)
    add("userHandle", userHandle)
    if let prf { members.append("\"prf\":\(prf)") }
    if let prfHashes {
      let second = prfHashes.second.map { #","second":"\#(Base64URL.encode($0.bytes))""# } ?? ""
      members.append(#""prfHashes":{"first":"\#(Base64URL.encode(prfHashes.first.bytes))"\#(second)}"#)
    }
    return "{\(members.joined(separator: ","))}"
  }
}
