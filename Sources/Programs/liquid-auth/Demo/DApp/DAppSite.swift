import AlgorandTransaction
import CryptoPrimitives
import DeterministicKeys
import LiquidAuth
import Recovery
import Synchronization

/// The totals of a demo with a wallet.
struct DAppResults: DemoTotals, Equatable, Sendable {
  var checks = 0
  var failures = 0
  var signatures = 0
  /// The ids of the passkeys that wallets have registered.
  var storedIDs: [[UInt8]] = []

  /// Whether every check succeeded, and there was a signature.
  var holds: Bool { failures == 0 && signatures > 0 }
  static let needs = "a signature"
  var counts: JSON { ["signatures": .number(Int64(signatures))] }
}

/// The site of `liquid-auth demo --dapp`: a Liquid Auth service, and the page of a dApp; all state is in memory.
///
/// The wallet and the page meet here as at the real service: over HTTP, and over Socket.IO on web sockets, of which
/// this has what they use. They then talk over a channel of their own, and the page passes its messages on.
final class DAppSite: DemoWebSite {
  /// The most requests that pages wait for at a time.
  static let mostRequests = 64

  let host: String
  let start = "/" + Base64URL.encode(randomBytes(16))
  private let report: @Sendable (DAppEvent) -> Void

  /// A request that a page waits for, with an id that only the page and the wallet know.
  private struct Request {
    let page: DemoSocket
    /// The number of the acknowledgement that tells the page of the sign-in.
    let acknowledgement: String
    var address: AlgorandAddress?
    var signature: DAppSignature?
  }

  private struct Peer {
    let socket: DemoSocket
    var address: AlgorandAddress?
  }

  private typealias Message = (socket: DemoSocket, text: String)

  private struct State {
    var service: DAppService
    var requests: [String: Request] = [:]
    var peers: [ObjectIdentifier: Peer] = [:]
    var results = DAppResults()
    var lastRequest: ContinuousClock.Instant
  }

  private struct Outcome {
    var response: DemoResponse
    var event: DAppEvent?
    var messages: [Message] = []
  }

  private let state: Mutex<State>

  /// - Parameter report: takes each event, in order; it is called during a request.
  init(port: Int, at now: ContinuousClock.Instant, report: @escaping @Sendable (DAppEvent) -> Void) {
    let host = DAppSite.host(at: port)
    self.host = host
    self.report = report
    state = Mutex(State(service: DAppService(origin: "http://\(host)"), lastRequest: now))
  }

  var headers: [(name: String, value: String)] { DAppPage.headers(host: host) }
  /// The totals so far.
  var results: DAppResults { state.withLock(\.results) }
  var lastRequest: ContinuousClock.Instant { state.withLock(\.lastRequest) }

  // MARK: HTTP

  func answer(_ request: DemoRequest, at now: ContinuousClock.Instant) -> DemoResponse {
    // A wallet has no page, and names no origin.
    if let refusal = request.refusal(host: host, isOriginNeeded: false) { return refusal }
    let outcome = state.withLock { state in
      let outcome = request.method == "GET" ? Outcome(response: page(request)) : Self.posted(request, &state)
      // Anybody on this machine can load the script and the style.
      let isPage = request.method == "POST" || outcome.response.contentType == "text/html"
      if isPage, outcome.response.status < 300 { state.lastRequest = now }
      return outcome
    }
    for message in outcome.messages { message.socket.send(message.text) }
    if let event = outcome.event { report(event) }
    return outcome.response
  }

  private func page(_ request: DemoRequest) -> DemoResponse {
    switch request.path {
    case "/dapp.js": .file("text/javascript", DAppPage.script)
    case "/demo.css": .file("text/css", DemoPage.style)
    case start: .file("text/html", DAppPage.html)
    case "/": .refused(403, "open the address that liquid-auth demo has printed")
    // Wallets and dApps that poll first: they must begin with a web socket here.
    case let path where path.hasPrefix("/socket.io/"): .refused(400, "this service has web sockets only")
    default: .refused(404, "there is no such page")
    }
  }

  private struct Asked: Decodable {
    let requestId: RequestID
  }

  private struct Answered: Decodable {
    let requestId: RequestID
    let frame: String
  }

  private static func posted(_ request: DemoRequest, _ state: inout State) -> Outcome {
    do {
      if let answer = try state.service.answer(request) { return served(answer, &state) }
      switch request.path {
      case "/ask": return makeRequest(try JSONCoding.decode(Asked.self, from: request.body).requestId.text, &state)
      case "/answer":
        let answered = try JSONCoding.decode(Answered.self, from: request.body)
        return verify(answered.frame, answered.requestId.text, &state)
      case "/done":
        let id = try JSONCoding.decode(Asked.self, from: request.body).requestId.text
        return state.requests[id] == nil ? unknown : Outcome(response: .ending(state.results))
      default: return Outcome(response: .refused(404, "there is no such request"))
      }
    } catch {
      return Outcome(response: .refused(400, "the request cannot be read: \(error)"))
    }
  }

  private static let unknown = Outcome(
    response: .refused(403, "this page is from an earlier demo, or its connection has ended; load it again"))

  /// Counts what the service has verified, and tells the page of a sign-in.
  private static func served(_ answer: DAppService.Answer, _ state: inout State) -> Outcome {
    var outcome = Outcome(response: answer.response, event: answer.event)
    guard case .verified(let step, let verdict)? = answer.event else { return outcome }
    state.results.add(verdict)
    guard let signIn = answer.signIn, let request = state.requests[signIn.requestID] else { return outcome }
    // Any user of the machine can register any id, and the demo prints how to delete it. Only a page and its wallet know
    // the request.
    if step == .registration, !state.results.storedIDs.contains(signIn.credentialID) {
      state.results.storedIDs.append(signIn.credentialID)
    }
    state.requests[signIn.requestID]?.address = signIn.address
    state.peers[ObjectIdentifier(request.page)]?.address = signIn.address
    let told: JSON = [
      [
        "data": [
          "credId": .base64URL(signIn.credentialID), "requestId": .string(signIn.requestID),
          "wallet": .string(signIn.address.text),
        ]
      ]
    ]
    outcome.messages = [(request.page, "43\(request.acknowledgement)\(told.line)")]
    return outcome
  }

  /// Makes the request for a signature, for the page to send.
  private static func makeRequest(_ id: String, _ state: inout State) -> Outcome {
    guard let address = state.requests[id]?.address else { return unknown }
    do {
      let signature = try DAppSignature(address)
      state.requests[id]?.signature = signature
      return Outcome(
        response: .json(["frame": .string(signature.frame), "transaction": .string(signature.transaction.id)]))
    } catch {
      return Outcome(response: .refused(500, "the transaction cannot be made: \(error)"))
    }
  }

  private static func verify(_ frame: String, _ id: String, _ state: inout State) -> Outcome {
    guard let signature = state.requests[id]?.signature else { return unknown }
    state.requests[id]?.signature = nil
    switch signature.verify(frame) {
    case .answered(let verdict):
      state.results.add(verdict)
      if verdict.holds { state.results.signatures += 1 }
      return Outcome(response: .json(verdict.json), event: .verified(.signature, verdict))
    case .refused(let reason):
      let text = "the wallet refused: \(reason.prefix(200))"
      return Outcome(response: .refused(409, text), event: .unfinished(.signature, reason: text))
    }
  }

  // MARK: Web sockets

  var hasSockets: Bool { true }

  func takesSocket(_ request: DemoRequest) -> Bool {
    request.path.hasPrefix("/socket.io/") && request.path.contains("transport=websocket")
      && request.values("host") == [host] && Set(request.values("origin")).isSubset(of: [origin])
  }

  func opened(_ socket: DemoSocket, _ request: DemoRequest) {
    state.withLock { state in
      state.peers[ObjectIdentifier(socket)] = Peer(socket: socket, address: state.service.address(of: request))
    }
    // Without pings for ten minutes, by which time page and wallet talk over their own channel.
    let handshake: JSON = [
      "sid": .base64URL(randomBytes(15)), "upgrades": [], "pingInterval": .number(600_000),
      "pingTimeout": .number(600_000), "maxPayload": .number(Int64(DemoSite.longestBody)),
    ]
    socket.send("0\(handshake.line)")
  }

  func closed(_ socket: DemoSocket) {
    state.withLock { state in
      state.peers[ObjectIdentifier(socket)] = nil
      state.requests = state.requests.filter { $0.value.page !== socket }
    }
  }

  func received(_ text: String, from socket: DemoSocket, at now: ContinuousClock.Instant) {
    let messages = state.withLock { state in
      state.lastRequest = now
      return Self.messages(after: text, from: socket, &state)
    }
    for message in messages { message.socket.send(message.text) }
  }

  /// A packet EVENT: a name, and for `link` the request.
  private struct Event: Decodable {
    let name: String
    let requestID: RequestID?

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      name = try elements.decode(String.self)
      requestID = name == "link" ? try elements.decode(Asked.self).requestId : nil
    }
  }

  private static let signals = ["offer-description", "offer-candidate", "answer-description", "answer-candidate"]

  /// What a packet of Socket.IO leads to: an answer, or the same packet for all with the sender's address.
  private static func messages(after text: String, from socket: DemoSocket, _ state: inout State) -> [Message] {
    if text == "2" { return [(socket, "3")] }
    if text.hasPrefix("40") {
      let session: JSON = ["sid": .base64URL(randomBytes(15))]
      return [(socket, "40\(session.line)")]
    }
    guard text.hasPrefix("42") else { return [] }
    let number = text.dropFirst(2).prefix { ("0"..."9").contains($0) }
    let array = text.dropFirst(2 + number.count)
    guard let event = try? JSONCoding.decode(Event.self, from: Array(array.utf8)) else { return [] }
    if let id = event.requestID, !number.isEmpty {
      if state.requests.count < mostRequests {
        state.requests[id.text] = Request(page: socket, acknowledgement: String(number))
      }
      return []
    }
    guard signals.contains(event.name), let address = state.peers[ObjectIdentifier(socket)]?.address else { return [] }
    return state.peers.values.filter { $0.address == address }.map { ($0.socket, "42\(array)") }
  }
}
