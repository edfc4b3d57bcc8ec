/// What the demo's server serves: a page, and the requests that follow.
protocol DemoWebSite: Sendable {
  /// `localhost:PORT`, the only host that is answered: any other name leads to 127.0.0.1 by DNS rebinding.
  var host: String { get }
  /// The path of the page, which is new for each demo: other users of the machine do not know it.
  var start: String { get }
  /// When the page, or the wallet, sent its last request.
  var lastRequest: ContinuousClock.Instant { get }
  /// The headers of every answer.
  var headers: [(name: String, value: String)] { get }
  /// Whether there are web sockets.
  var hasSockets: Bool { get }

  /// Answers a request.
  func answer(_ request: DemoRequest, at now: ContinuousClock.Instant) -> DemoResponse
  /// Whether a request for a web socket is accepted.
  func takesSocket(_ request: DemoRequest) -> Bool
  /// A web socket is open, after this request.
  func opened(_ socket: DemoSocket, _ request: DemoRequest)
  /// A message has come.
  func received(_ text: String, from socket: DemoSocket, at now: ContinuousClock.Instant)
  /// A web socket is closed.
  func closed(_ socket: DemoSocket)
}

extension DemoWebSite {
  /// The host of a port.
  static func host(at port: Int) -> String { port == 80 ? "localhost" : "localhost:\(port)" }

  /// The origin of the page.
  var origin: String { "http://\(host)" }
  /// The page's address, which the demo prints and opens.
  var address: String { origin + start }

  var hasSockets: Bool { false }

  func takesSocket(_ request: DemoRequest) -> Bool { false }
  func opened(_ socket: DemoSocket, _ request: DemoRequest) {}
  func received(_ text: String, from socket: DemoSocket, at now: ContinuousClock.Instant) {}
  func closed(_ socket: DemoSocket) {}
}

/// An open web socket of the demo's server.
final class DemoSocket: Sendable {
  /// Sends a text message.
  let send: @Sendable (String) -> Void

  init(send: @escaping @Sendable (String) -> Void) { self.send = send }
}

/// A step of a page; the raw value is its name in events.
protocol DemoStep: RawRepresentable<String>, Equatable, Sendable {
  /// What happens, as a title.
  var title: String { get }
}

extension DemoCeremony: DemoStep {}

/// What happens at a demo's site.
enum DemoEvent<Step: DemoStep>: Equatable, Sendable {
  /// The answer to a step was verified.
  case verified(Step, DemoVerdict)
  /// A step gave nothing to verify: refused by the site, or ended by the browser or the wallet.
  case unfinished(Step, reason: String)
}

/// The totals of a demo with a page.
protocol DemoTotals {
  var checks: Int { get set }
  var failures: Int { get set }
  /// The ids of the passkeys that the demo has stored.
  var storedIDs: [[UInt8]] { get }
  /// Whether every check succeeded, and the demo had the ceremonies that it needs.
  var holds: Bool { get }
  /// What a demo needs, besides checks that succeed.
  static var needs: String { get }
  /// The members of `json` that count what this demo needs.
  var counts: JSON { get }
}

extension DemoTotals {
  mutating func add(_ verdict: DemoVerdict) {
    checks += verdict.checks.count
    failures += verdict.checks.count { !$0.holds }
  }

  /// `{"holds", "checks", "failures", …, "storedPasskeys": [id …]}`.
  var json: JSON {
    let totals: JSON = [
      "holds": .bool(holds), "checks": .number(Int64(checks)), "failures": .number(Int64(failures)),
    ]
    return totals.adding(counts).adding(["storedPasskeys": .array(storedIDs.map(JSON.hex))])
  }
}

/// What happens at the site of `liquid-auth demo --browser`.
typealias DemoSiteEvent = DemoEvent<DemoCeremony>

extension DemoRequest {
  /// The values of the cookies with a name.
  func cookies(_ name: String) -> [String] {
    let prefix = "\(name)="
    return values("cookie").flatMap { $0.split(separator: ";") }.map { $0.drop { $0 == " " } }
      .filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }

  /// The refusal of what neither our own page sends nor, unless the header Origin is needed, a wallet.
  func refusal(host: String, isOriginNeeded: Bool) -> DemoResponse? {
    let origin = "http://\(host)"
    guard values("host") == [host] else { return .refused(421, "open \(origin)/ in a browser on this machine") }
    guard method == "GET" || method == "POST" else {
      var refused = DemoResponse.refused(405, "only GET and POST are answered")
      refused.headers = [("Allow", "GET, POST")]
      return refused
    }
    let isPost = method == "POST"
    // "none": the user's own navigation.
    guard Set(values("sec-fetch-site")).isSubset(of: isPost ? ["same-origin"] : ["same-origin", "none"]),
      isPost && isOriginNeeded ? values("origin") == [origin] : Set(values("origin")).isSubset(of: [origin])
    else { return .refused(403, "only the page of this server may send this") }
    guard isPost else { return nil }
    guard values("content-type") == ["application/json"] else {
      return .refused(415, "the content type is not application/json")
    }
    guard body.count <= DemoSite.longestBody else { return .refused(413, "the body is too long") }
    return nil
  }
}
