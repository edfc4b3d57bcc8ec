import HTTP
import Synchronization
import Testing

@testable import liquid_auth

/// One connection, as bytes in and bytes out.
@Suite struct DemoConnectionTests {
  let site = DemoSite(port: 8080, at: .now) { _ in }
  let ends = Ends()

  final class Ends: Sendable {
    let count = Mutex(0)
  }

  private static let start = ContinuousClock.now

  private func connection() -> DemoConnection {
    DemoConnection(site, at: Self.start) { [ends] in ends.count.withLock { $0 += 1 } }
  }

  /// Sends bytes in pieces of a size; returns what the server sent.
  private func exchange(
    _ text: String, pieces size: Int = .max, on connection: DemoConnection, at time: Duration = .zero
  ) -> String {
    String(decoding: exchange(Array(text.utf8), pieces: size, on: connection, at: time), as: UTF8.self)
  }

  private func exchange(
    _ bytes: [UInt8], pieces size: Int = .max, on connection: DemoConnection, at time: Duration = .zero
  ) -> [UInt8] {
    var rest = bytes[...]
    var sent: [UInt8] = []
    while !rest.isEmpty, !connection.isOver {
      connection.receive(Array(rest.prefix(size)), at: Self.start + time)
      rest = rest.dropFirst(size)
      sent += self.sent(on: connection)
    }
    return sent
  }

  private func sent(on connection: DemoConnection) -> [UInt8] {
    var sent: [UInt8] = []
    connection.flush { bytes in
      sent += bytes
      return bytes.count
    }
    return sent
  }

  private var page: String { "GET \(site.start) HTTP/1.1\r\nHost: localhost:8080\r\n\r\n" }

  @Test(arguments: [Int.max, 7, 1])
  func `a request in any pieces is answered once, and the connection ends`(_ size: Int) throws {
    let connection = self.connection()
    let answer = exchange(page, pieces: size, on: connection)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("</html>\n"))
    for header in [
      "Content-Type: text/html; charset=utf-8", "Connection: close", "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'; script-src 'self';",
    ] { #expect(answer.contains("\r\n\(header)"), "\(header)") }
    #expect(connection.isAnswered && ends.count.withLock { $0 } == 0)
  }

  @Test func `a second request on the connection gets no answer`() throws {
    let answer = exchange(page + page, on: connection())
    #expect(answer.matches(of: #/HTTP\/1.1 /#).count == 1)
  }

  @Test func `a refusal has the same headers`() throws {
    let answer = exchange("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", on: connection())
    #expect(answer.hasPrefix("HTTP/1.1 421 ") && answer.contains("\r\nContent-Security-Policy: "))
    #expect(!answer.contains("Set-Cookie"))
  }

  @Test func `the answer to done ends the demo once it was sent`() throws {
    let answer = exchange(page, on: connection())
    let cookie = try #require(answer.firstMatch(of: #/Set-Cookie: ([^;]+);/#)?.1)
    let done =
      "POST /done HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: http://localhost:8080\r\nCookie: \(cookie)\r\n"
      + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    #expect(exchange(done, on: connection()).hasPrefix("HTTP/1.1 200 "))
    #expect(ends.count.withLock { $0 } == 1)
  }

  static let tooLong = [
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 65537\r\n\r\n",
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n"
      + String(repeating: " ", count: 65537) + "\r\n0\r\n\r\n",
  ]

  // Holds: DEMO-4
  @Test(arguments: tooLong)
  func `a body above 64 kB is refused before its end`(_ text: String) throws {
    let connection = self.connection()
    #expect(exchange(text, pieces: 4096, on: connection).hasPrefix("HTTP/1.1 413 "))
    #expect(connection.isAnswered)
  }

  // Holds: DEMO-5
  @Test func `headers without end are cut off`() throws {
    let connection = self.connection()
    let endless = "GET / HTTP/1.1\r\n" + String(repeating: "A: \(String(repeating: "b", count: 1000))\r\n", count: 200)
    let answer = exchange(endless, pieces: 1000, on: connection)
    #expect(connection.isOver && answer.isEmpty)
  }

  // Holds: DEMO-5
  @Test(arguments: [
    "GET / HTTP/1.0\r\nHost: localhost:8080\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: localhost:8080\r\n" + String(repeating: "A: b\r\n", count: 101) + "\r\n",
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
  ])
  func `what is not one HTTP/1.1 request is refused`(_ text: String) throws {
    let connection = self.connection()
    let answer = exchange(text, on: connection)
    #expect(answer.hasPrefix("HTTP/1.1 400 ") && connection.isAnswered, "\(answer)")
  }

  // Holds: DEMO-5
  @Test func `half a request ends after ten seconds, whatever else comes`() {
    let connection = self.connection()
    #expect(exchange("GET / HTTP/1.1\r\nHost: local", on: connection).isEmpty)
    #expect(connection.deadline == Self.start + .seconds(10))
    connection.expire(at: Self.start + DemoConnection.time - .nanoseconds(1))
    #expect(exchange("host:80", on: connection, at: .seconds(9)).isEmpty && !connection.isOver)
    connection.expire(at: Self.start + DemoConnection.time)
    #expect(connection.isOver)
  }

  @Test func `an answer is sent as far as there is room`() {
    let connection = self.connection()
    connection.receive(Array(page.utf8), at: Self.start)
    var sent: [UInt8] = []
    while connection.isWaiting {
      #expect(!connection.isAnswered)
      connection.flush { bytes in
        sent += bytes.prefix(100)
        return min(100, bytes.count)
      }
    }
    #expect(connection.isAnswered && String(decoding: sent, as: UTF8.self).hasSuffix("</html>\n"))
  }

  // Holds: DEMO-5
  @Test func `what comes after the answer is discarded, to a limit and a time`() {
    let connection = self.connection()
    _ = exchange(page, on: connection)
    connection.receive([UInt8](repeating: 0, count: DemoConnection.mostBytes), at: Self.start)
    #expect(!connection.isOver && !connection.isWaiting)
    connection.receive([0], at: Self.start)
    #expect(connection.isOver)
    let slow = self.connection()
    _ = exchange(page, on: slow)
    slow.expire(at: Self.start + DemoConnection.time)
    #expect(slow.isOver)
  }
}

/// Web sockets of a site that repeats what it hears.
@Suite struct DemoSocketTests {
  private final class Echo: DemoWebSite {
    let host = "localhost:8080", start = "/"
    let lastRequest = ContinuousClock.now
    let headers: [(name: String, value: String)] = []
    let hasSockets = true
    private let sockets = Mutex<[DemoSocket]>([])
    private let closedSockets = Mutex(0)

    /// The last socket that was opened.
    var last: DemoSocket? { sockets.withLock { $0.last } }
    var closedCount: Int { closedSockets.withLock { $0 } }

    func answer(_ request: DemoRequest, at now: ContinuousClock.Instant) -> DemoResponse { .refused(404, "no page") }
    func takesSocket(_ request: DemoRequest) -> Bool { request.path == "/socket" }
    func opened(_ socket: DemoSocket, _ request: DemoRequest) {
      sockets.withLock { $0.append(socket) }
      socket.send("hello")
    }
    func received(_ text: String, from socket: DemoSocket, at now: ContinuousClock.Instant) { socket.send(text) }
    func closed(_ socket: DemoSocket) { closedSockets.withLock { $0 += 1 } }
  }

  private let site = Echo()
  private static let start = ContinuousClock.now

  private static func request(_ path: String = "/socket") throws -> [UInt8] {
    try #require(
      WebSocketOpening(authority: "localhost:8080", target: path, fields: [], nonce: Array("the sample nonce".utf8))
    ).request
  }

  /// A frame of a client, with a mask of zeros.
  private static func frame(_ head: UInt8, _ text: String = "") -> [UInt8] {
    [head, 0x80 | UInt8(text.utf8.count), 0, 0, 0, 0] + text.utf8
  }

  private func sent(_ connection: DemoConnection) -> [UInt8] {
    var sent: [UInt8] = []
    connection.flush { bytes in
      sent += bytes
      return bytes.count
    }
    return sent
  }

  private func open() throws -> DemoConnection {
    let connection = DemoConnection(site, at: Self.start) {}
    connection.receive(try Self.request(), at: Self.start)
    let answer = String(decoding: sent(connection), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.1 101 ") && answer.contains("Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
    #expect(answer.hasSuffix("hello"))
    return connection
  }

  @Test func `messages and pings are answered, in any pieces, without a limit of time`() throws {
    let connection = try open()
    #expect(connection.deadline == nil)
    let bytes = Self.frame(0x01, "a") + Self.frame(0x89, "?") + Self.frame(0x80, "b")
    for byte in bytes { connection.receive([byte], at: Self.start) }
    #expect(sent(connection) == [0x8A, 1, 0x3F, 0x81, 2, 0x61, 0x62])
    connection.expire(at: Self.start + .seconds(3600))
    #expect(!connection.isOver)
  }

  @Test func `what comes with the request is heard`() throws {
    let connection = DemoConnection(site, at: Self.start) {}
    connection.receive(try Self.request() + Self.frame(0x81, "a"), at: Self.start)
    #expect(sent(connection).suffix(3) == [0x81, 1, 0x61])
  }

  @Test func `a request that the site does not take is answered as any other`() throws {
    let connection = DemoConnection(site, at: Self.start) {}
    connection.receive(try Self.request("/other"), at: Self.start)
    #expect(String(decoding: sent(connection), as: UTF8.self).hasPrefix("HTTP/1.1 404 ") && connection.isAnswered)
    #expect(site.last === nil)
  }

  @Test func `a Close frame is answered, and the site hears of the end once`() throws {
    let connection = try open()
    connection.receive(Self.frame(0x88), at: Self.start)
    #expect(!connection.isOver && sent(connection) == [0x88, 0] && connection.isOver)
    connection.closed()
    connection.closed()
    #expect(site.closedCount == 1)
    site.last?.send("too late")
    #expect(!connection.isWaiting)
  }

  @Test func `a fault of the client has ten seconds to be answered`() throws {
    let connection = try open()
    connection.receive(Self.frame(0x82, "a"), at: Self.start)
    #expect(sent(connection) == [0x88, 2, 0x03, 0xEB] && !connection.isOver)
    connection.expire(at: Self.start + DemoConnection.time)
    #expect(connection.isOver)
  }

  @Test func `a message above 64 kB is a fault`() throws {
    let connection = try open()
    connection.receive([0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], at: Self.start)
    #expect(sent(connection) == [0x88, 2, 0x03, 0xF1])
  }

  @Test func `a client that does not read is closed`() throws {
    let connection = try open()
    let socket = try #require(site.last)
    for _ in 0..<2 { socket.send(String(repeating: "a", count: DemoConnection.mostWaiting)) }
    #expect(connection.isOver)
  }
}
