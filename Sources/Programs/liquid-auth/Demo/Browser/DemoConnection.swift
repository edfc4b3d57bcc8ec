import HTTP
import Synchronization

/// One connection to the demo's server, as bytes in and bytes out: one request, its answer, and the end; or one web socket.
///
/// A browser opens another connection for its next request. So the server keeps nothing of a client, and a connection
/// has one limit for its size and one for its time. A web socket has a limit for each message, and for what waits.
///
/// Everything happens on the server's loop.
final class DemoConnection: Sendable {
  /// The most headers of a request.
  static let mostHeaders = 100
  /// The most bytes from a client: a body, its request line and its headers.
  static let mostBytes = DemoSite.longestBody + 32_768
  /// The most time from the connection to the last byte of the answer.
  static let time = Duration.seconds(10)
  /// The most bytes that may wait for a web socket that is not read; one more message is added then.
  static let mostWaiting = 65_536

  private enum Phase {
    case request(RequestReader)
    /// What comes now is discarded: a connection that is closed with unread bytes could lose the answer.
    case answered
    case socket(WebSocketMachine)
    /// The last bytes are to be sent, and nothing is read.
    case ending
    case over
  }

  private struct State {
    var phase = Phase.request(
      RequestReader(
        maximumSize: DemoConnection.mostBytes, maximumFields: DemoConnection.mostHeaders,
        maximumBodySize: DemoSite.longestBody))
    /// The bytes that came after the answered request.
    var count = 0
    var output: [UInt8] = []
    var deadline: ContinuousClock.Instant?
    var socket: DemoSocket?
    var endsDemo = false
  }

  private let site: any DemoWebSite
  private let end: @Sendable () -> Void
  private let state: Mutex<State>

  /// - Parameter end: ends the demo.
  init(_ site: any DemoWebSite, at now: ContinuousClock.Instant, end: @escaping @Sendable () -> Void) {
    self.site = site
    self.end = end
    state = Mutex(State(deadline: now + Self.time))
  }

  /// When it must be over; `nil` for a web socket.
  var deadline: ContinuousClock.Instant? { state.withLock(\.deadline) }
  /// Whether bytes wait to be sent.
  var isWaiting: Bool { state.withLock { !$0.output.isEmpty } }
  /// Whether the whole answer was sent: nothing follows.
  var isAnswered: Bool {
    state.withLock { state in
      if case .answered = state.phase { state.output.isEmpty } else { false }
    }
  }
  /// Whether the connection is to be closed.
  var isOver: Bool {
    state.withLock { state in
      switch state.phase {
      case .over: true
      case .ending: state.output.isEmpty
      default: false
      }
    }
  }

  /// Takes bytes of the client.
  func receive(_ bytes: [UInt8], at now: ContinuousClock.Instant) {
    var rest = bytes[...]
    switch state.withLock({ Self.read(&rest, &$0) }) {
    case .incomplete: break
    case .refused(.tooLong): state.withLock { $0.phase = .over }
    case .refused(.malformed): answer(.refused(400, "only HTTP/1.1 is supported"))
    case .refused(.bodyTooLong): answer(.refused(413, "the body is too long"))
    case .request(let request): serve(request, rest, at: now)
    case nil: hear(rest, at: now)
    }
  }

  /// Sends what waits, as far as `write` takes it: it returns how many bytes it took.
  func flush(_ write: (UnsafeRawBufferPointer) -> Int) {
    let isEnd = state.withLock { state in
      guard !state.output.isEmpty else { return false }
      state.output.removeFirst(state.output.withUnsafeBytes(write))
      guard state.output.isEmpty, state.endsDemo else { return false }
      state.endsDemo = false
      return true
    }
    if isEnd { end() }
  }

  /// Ends a connection whose time is over.
  func expire(at now: ContinuousClock.Instant) {
    state.withLock { state in
      if let deadline = state.deadline, deadline <= now { state.phase = .over }
    }
  }

  /// The connection is closed.
  func closed() {
    let socket = state.withLock { state in
      state.phase = .over
      return state.socket.take()
    }
    if let socket { site.closed(socket) }
  }

  // MARK: Requests

  /// Reads as much of the request as there is; `nil` after it.
  private static func read(_ rest: inout ArraySlice<UInt8>, _ state: inout State) -> RequestReader.Outcome? {
    switch state.phase {
    case .request(var reader):
      // A second reference would copy the bytes.
      state.phase = .ending
      let outcome = reader.receive(&rest)
      state.phase = .request(reader)
      return outcome
    case .answered:
      state.count += rest.count
      if state.count > mostBytes { state.phase = .over }
      return .incomplete
    case .socket: return nil
    case .ending, .over: return .incomplete
    }
  }

  private func serve(_ whole: RequestReader.Request, _ rest: ArraySlice<UInt8>, at now: ContinuousClock.Instant) {
    let request = DemoRequest(
      method: whole.method, path: whole.target, headers: whole.head.fields, body: whole.body)
    guard site.hasSockets, let head = whole.webSocketAnswer, site.takesSocket(request) else {
      return answer(site.answer(request, at: now))
    }
    let socket = DemoSocket { [weak self] in self?.send($0) }
    state.withLock { state in
      state.output += head
      state.phase = .socket(WebSocketMachine(server: DemoSite.longestBody))
      state.deadline = nil
      state.socket = socket
    }
    site.opened(socket, request)
    hear(rest, at: now)
  }

  private func answer(_ response: DemoResponse) {
    let headers =
      [
        ("Content-Type", "\(response.contentType); charset=utf-8"), ("Content-Length", "\(response.body.count)"),
        ("Connection", "close"),
      ] + site.headers + response.headers
    let head =
      "HTTP/1.1 \(response.status) \(response.status == 200 ? "OK" : "")\r\n"
      + headers.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
    state.withLock { state in
      state.output += Array(head.utf8) + response.body
      state.phase = .answered
      state.endsDemo = response.endsDemo
    }
  }

  // MARK: Web sockets

  /// Takes bytes of a web socket.
  private func hear(_ bytes: ArraySlice<UInt8>, at now: ContinuousClock.Instant) {
    let texts = state.withLock { state -> [String] in
      guard case .socket(var machine) = state.phase else { return [] }
      // As for a request.
      state.phase = .ending
      var texts: [String] = []
      let actions = machine.receive(Array(bytes))
      state.phase = .socket(machine)
      for action in actions {
        switch action {
        case .send(let bytes): Self.write(bytes, &state)
        case .text(let text): texts.append(text)
        // The machine takes none.
        case .binary: break
        case .close: state.phase = .ending
        }
      }
      // A client that is told of its fault has the time of a request to answer.
      if machine.isClosing, state.deadline == nil { state.deadline = now + Self.time }
      return texts
    }
    guard let socket = state.withLock(\.socket) else { return }
    for text in texts { site.received(text, from: socket, at: now) }
  }

  private func send(_ text: String) {
    state.withLock { state in
      guard case .socket(var machine) = state.phase else { return }
      let bytes = machine.send(text)
      state.phase = .socket(machine)
      Self.write(bytes, &state)
    }
  }

  /// Adds bytes to what waits; ends the connection of a client that does not read.
  private static func write(_ bytes: [UInt8], _ state: inout State) {
    guard state.output.count <= mostWaiting else {
      state.phase = .over
      return
    }
    state.output += bytes
  }
}
