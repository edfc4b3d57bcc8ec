import CryptoPrimitives
import LiquidAuth
import Recovery
import Synchronization

/// A request to the demo's server, whole.
struct DemoRequest: Sendable {
  var method: String
  var path: String
  /// In the order of the request; names in any case.
  var headers: [(name: String, value: String)]
  var body: [UInt8] = []

  /// All values of a header.
  func values(_ name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name }.map(\.value)
  }
}

/// The answer of the demo's server.
struct DemoResponse: Sendable {
  var status: Int
  var contentType = "application/json"
  var body: [UInt8]
  /// Headers beside those that every answer has.
  var headers: [(name: String, value: String)] = []
  /// Whether the demo ends once this is sent.
  var endsDemo = false

  /// A file of the page.
  static func file(_ contentType: String, _ text: String) -> Self {
    Self(status: 200, contentType: contentType, body: Array(text.utf8))
  }
  static func json(_ value: JSON, status: Int = 200) -> Self { Self(status: status, body: Array(value.line.utf8)) }
  /// The answer to the button that ends the demo.
  static func ending(_ totals: some DemoTotals) -> Self {
    var response = json(totals.json)
    response.endsDemo = true
    return response
  }
  static func refused(_ status: Int, _ reason: String) -> Self { json(["error": .string(reason)], status: status) }
}

/// The totals of a demo in a browser.
struct DemoResults: DemoTotals, Equatable, Sendable {
  var checks = 0
  var failures = 0
  var registrations = 0
  var signIns = 0
  /// The ids of the passkeys that are stored on the key.
  var storedIDs: [[UInt8]] = []

  /// Whether every check succeeded, and there was a registration and a sign-in.
  var holds: Bool { failures == 0 && registrations > 0 && signIns > 0 }
  static let needs = "a registration and a sign-in"
  var counts: JSON { ["registrations": .number(Int64(registrations)), "signIns": .number(Int64(signIns))] }
}

/// The site of `liquid-auth demo --browser`: requests in, answers out; all state is in memory.
final class DemoSite: DemoWebSite {
  /// The most browsers at a time.
  static let mostSessions = 64
  /// The longest body of a request, bytes.
  static let longestBody = 65_536

  let host: String
  /// The path of the first request of a browser; after it, the browser's cookie opens "/", too.
  let start = "/" + Base64URL.encode(randomBytes(16))
  private let cookie: String
  private let report: @Sendable (DemoSiteEvent) -> Void

  private struct State {
    var sessions: [String: DemoSession] = [:]
    var results = DemoResults()
    var lastRequest: ContinuousClock.Instant
  }

  private let state: Mutex<State>

  /// - Parameter report: takes each event, in order; it is called during a request.
  init(port: Int, at now: ContinuousClock.Instant, report: @escaping @Sendable (DemoSiteEvent) -> Void) {
    host = DemoSite.host(at: port)
    // Cookies do not belong to a port: two demos at a time need two names.
    cookie = "liquid-auth-demo-\(port)"
    self.report = report
    state = Mutex(State(lastRequest: now))
  }

  var headers: [(name: String, value: String)] { DemoPage.headers }

  /// The totals so far.
  var results: DemoResults { state.withLock(\.results) }
  /// When the page sent its last request.
  var lastRequest: ContinuousClock.Instant { state.withLock(\.lastRequest) }

  /// Answers a request.
  func answer(_ request: DemoRequest, at now: ContinuousClock.Instant) -> DemoResponse {
    if let refusal = request.refusal(host: host, isOriginNeeded: true) { return refusal }
    let (response, event) = state.withLock { state in
      let answer = request.method == "GET" ? (page(request, &state, now), nil) : posted(request, &state, now)
      // Anybody on this machine can load the script and the style.
      if answer.0.status == 200, session(request, state) != nil || answer.0.contentType == "text/html" {
        state.lastRequest = now
      }
      return answer
    }
    if let event { report(event) }
    return response
  }

  // MARK: Pages

  private func page(_ request: DemoRequest, _ state: inout State, _ now: ContinuousClock.Instant) -> DemoResponse {
    switch request.path {
    case "/demo.js": return .file("text/javascript", DemoPage.script)
    case "/demo.css": return .file("text/css", DemoPage.style)
    case start, "/":
      var page = DemoResponse.file("text/html", DemoPage.html)
      if session(request, state) == nil {
        guard request.path == start else {
          return .refused(403, "open the address that liquid-auth demo has printed")
        }
        guard makeRoom(&state) else { return .refused(503, "too many browsers use this demo") }
        let token = Base64URL.encode(randomBytes(32))
        state.sessions[token] = DemoSession(at: now)
        page.headers = [("Set-Cookie", "\(cookie)=\(token); Path=/; HttpOnly; SameSite=Strict")]
      }
      return page
    default: return .refused(404, "there is no such page")
    }
  }

  /// Makes room for one session: removes the one that was idle for longest and made no passkey.
  private func makeRoom(_ state: inout State) -> Bool {
    guard state.sessions.count >= Self.mostSessions else { return true }
    let unused = state.sessions.filter(\.value.passkeys.isEmpty)
    guard let oldest = unused.min(by: { $0.value.lastRequest < $1.value.lastRequest }) else { return false }
    state.sessions[oldest.key] = nil
    return true
  }

  /// The name of the request's session, by its cookie.
  private func session(_ request: DemoRequest, _ state: State) -> String? {
    request.cookies(cookie).first { state.sessions[$0] != nil }
  }

  // MARK: Ceremonies

  private struct Begin: Decodable {
    let ceremony: DemoCeremony
  }

  private struct Finish: Decodable {
    let ceremony: DemoCeremony
    let credential: PageCredential
  }

  private struct Failure: Decodable {
    let ceremony: DemoCeremony
    let error: String
  }

  private func posted(
    _ request: DemoRequest, _ state: inout State, _ now: ContinuousClock.Instant
  ) -> (DemoResponse, DemoSiteEvent?) {
    guard let token = session(request, state), var session = state.sessions[token] else {
      return (.refused(403, "this page is from an earlier demo; load it again"), nil)
    }
    session.lastRequest = now
    defer { state.sessions[token] = session }
    var ceremony: DemoCeremony?
    do {
      switch request.path {
      case "/begin":
        let begin = try JSONCoding.decode(Begin.self, from: request.body)
        return (.json(try session.begin(begin.ceremony, at: now)), nil)
      case "/finish":
        let finish = try JSONCoding.decode(Finish.self, from: request.body)
        ceremony = finish.ceremony
        let before = session.passkeys.count
        let verdict = try session.finish(
          finish.ceremony, finish.credential, for: BrowserRelyingParty(origin: origin), at: now)
        state.results.add(verdict, of: finish.ceremony, made: session.passkeys.count - before)
        // The key has stored it, as the browser reports, even if a check failed.
        if finish.ceremony.isStored { state.results.storedIDs.append(finish.credential.id.bytes) }
        return (.json(verdict.json), .verified(finish.ceremony, verdict))
      case "/failed":
        let failure = try JSONCoding.decode(Failure.self, from: request.body)
        ceremony = failure.ceremony
        guard let verdict = try session.fail(failure.ceremony, failure.error, at: now) else {
          // A browser reports this name both when the person refuses and when the time is over.
          let cause = failure.error == "NotAllowedError" ? "it was refused, or not answered in time: " : ""
          let reason = "\(cause)the browser reports \(failure.error.prefix(64))"
          return (.json([:]), .unfinished(failure.ceremony, reason: reason))
        }
        state.results.add(verdict, of: failure.ceremony, made: 0)
        return (.json(verdict.json), .verified(failure.ceremony, verdict))
      case "/done":
        return (.ending(state.results), nil)
      default: return (.refused(404, "there is no such request"), nil)
      }
    } catch let refusal as DemoSession.Refusal {
      return (.refused(409, refusal.reason), ceremony.map { .unfinished($0, reason: refusal.reason) })
    } catch {
      return (.refused(400, "the request cannot be read: \(error)"), nil)
    }
  }
}

extension DemoResults {
  fileprivate mutating func add(_ verdict: DemoVerdict, of ceremony: DemoCeremony, made passkeys: Int) {
    add(verdict)
    registrations += passkeys
    if verdict.holds, !ceremony.isRegistration { signIns += 1 }
  }
}
