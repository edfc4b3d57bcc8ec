import EventLoop
import Glibc
import LiquidAuth
import ProcessIO
import Testing

@testable import liquid_auth_wallet

/// The adapters on this machine, without a network.
struct AdaptersTests {
  @Test func `an offer has a fingerprint, and nothing is left open after the close`() async throws {
    let port = GStreamerPeerConnections()
    let (events, feed) = AsyncStream.makeStream(of: PeerEvent.self)
    let connection = try port.make(iceServers: [], channelLabel: "liquid", bufferedAmountLowThreshold: 1) {
      feed.yield($0)
    }
    connection.createOffer()
    var iterator = events.makeAsyncIterator()
    guard case .offer(let offer) = await iterator.next() else {
      Issue.record("the first event is no offer")
      return
    }
    #expect(throws: Never.self) { try CertificateFingerprints(in: offer) }
    #expect(CandidateLine.mediaTags(in: offer).count == 1)
    #expect(
      offer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=max-message-size:") } == [
        "a=max-message-size:340000"
      ])
    connection.send("to nobody yet")
    connection.close()
    connection.close()
    await port.open.drained()
  }

  @Test func `an answer without an offer is a failure`() async throws {
    let port = GStreamerPeerConnections()
    let (events, feed) = AsyncStream.makeStream(of: PeerEvent.self)
    let connection = try port.make(iceServers: [], channelLabel: "liquid", bufferedAmountLowThreshold: 1) {
      feed.yield($0)
    }
    connection.setAnswer("v=0\r\n")
    var iterator = events.makeAsyncIterator()
    guard case .failed = await iterator.next() else {
      Issue.record("it is told as something else")
      return
    }
    connection.close()
    await port.open.drained()
  }

  @Test func `a closed port is an error for HTTP and web sockets`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let http = HTTPExchanges(on: network)
    let port = try unusedPort()
    await #expect(throws: PortError.unreachable("connection refused")) {
      try await http.send(HTTPRequest(method: .get, url: "http://127.0.0.1:\(port)/"), maximumBodySize: 1)
    }
    let (events, feed) = AsyncStream.makeStream(of: WebSocketEvent.self)
    let socket = WebSockets(on: network).open(
      url: "ws://127.0.0.1:\(port)/", headers: [], maximumMessageSize: 1
    ) { feed.yield($0) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .closed(.unreachable("connection refused")))
    socket.close()
    await network.close()
  }

  @Test func `a network that is closed answers no exchange and opens no web socket`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    await network.close()
    await #expect(throws: PortError.broken("it was cancelled")) {
      try await HTTPExchanges(on: network).send(HTTPRequest(method: .get, url: "http://127.0.0.1/"), maximumBodySize: 1)
    }
    let (events, feed) = AsyncStream.makeStream(of: WebSocketEvent.self)
    _ = WebSockets(on: network).open(url: "ws://127.0.0.1/", headers: [], maximumMessageSize: 1) { feed.yield($0) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .closed(.unreachable("the wallet stopped")))
  }

  /// An answer, and how the exchange ends with it; bodies have at most 8 bytes.
  static let answers: [(String, Result<HTTPResponse, PortError>)] = [
    (
      "HTTP/1.1 201 Created\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nhi",
      .success(
        HTTPResponse(
          status: 201,
          headers: [
            HTTPHeader("Set-Cookie", "a=1"), HTTPHeader("Set-Cookie", "b=2"), HTTPHeader("Content-Length", "2"),
          ],
          body: Array("hi".utf8)))
    ),
    (
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      .success(
        HTTPResponse(
          status: 302,
          headers: [HTTPHeader("Location", "http://127.0.0.1:1/"), HTTPHeader("Content-Length", "0")]))
    ),
    (
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=a\r\nContent-Length: 0\r\n\r\n",
      .success(
        HTTPResponse(
          status: 401,
          headers: [HTTPHeader("WWW-Authenticate", "Basic realm=a"), HTTPHeader("Content-Length", "0")]))
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n",
      .success(
        HTTPResponse(status: 200, headers: [HTTPHeader("Transfer-Encoding", "chunked")], body: Array("12345678".utf8)))
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi",
      .success(
        HTTPResponse(
          status: 200, headers: [HTTPHeader("Content-Encoding", "gzip"), HTTPHeader("Content-Length", "2")],
          body: Array("hi".utf8)))
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", .failure(.tooLarge)),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n123456789", .failure(.tooLarge)),
    ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", .failure(.broken("it was closed"))),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nhi", .failure(.broken("it was closed"))),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", .failure(.broken("it was closed"))),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", .failure(.broken("it was closed"))),
    ("", .failure(.broken("it was closed"))),
    ("hello\r\n\r\n", .failure(.broken("what it sent is not HTTP"))),
  ]

  @Test(arguments: answers)
  func `an answer is whole, or an error, and nothing follows it`(
    text: String, expected: Result<HTTPResponse, PortError>
  ) async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let server = try TestServer { $0.send(text) }
    let request = HTTPRequest(method: .get, url: "http://127.0.0.1:\(server.port)/")
    let result: Result<HTTPResponse, PortError>
    do throws(PortError) {
      result = .success(try await HTTPExchanges(on: network).send(request, maximumBodySize: 8))
    } catch {
      result = .failure(error)
    }
    #expect(result == expected)
    #expect(server.requests.count == 1)
    await network.close()
  }

  @Test func `a request has its fields, its body and no others`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let server = try TestServer { $0.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
    let request = HTTPRequest(
      method: .post, url: "http://127.0.0.1:\(server.port)/a?b=%20c",
      headers: [HTTPHeader("User-Agent", "wallet"), HTTPHeader("Content-Type", "application/json")],
      body: Array("{}".utf8))
    _ = try await HTTPExchanges(on: network).send(request, maximumBodySize: 1)
    await network.close()
    let lines = try #require(server.requests.first).split(separator: "\r\n").map(String.init)
    #expect(lines.first == "POST /a?b=%20c HTTP/1.1" && lines.last == "{}")
    #expect(
      Set(lines.dropFirst().dropLast()) == [
        "User-Agent: wallet", "Content-Type: application/json", "Content-Length: 2", "Connection: Keep-Alive",
        "Host: 127.0.0.1:\(server.port)",
      ])
  }

  @Test func `a body that arrives byte by byte times out`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let server = try TestServer { client in
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      while client.send(".") { usleep(10_000) }
    }
    await #expect(throws: PortError.timedOut) {
      try await HTTPExchanges(on: network, timeout: .milliseconds(500)).send(
        HTTPRequest(method: .get, url: "http://127.0.0.1:\(server.port)/"), maximumBodySize: 10_000)
    }
    await network.close()
  }

  @Test func `cancelling the task ends an exchange`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let (arrivals, feed) = AsyncStream.makeStream(of: Void.self)
    let server = try TestServer { client in
      feed.yield()
      client.waitForEnd()
    }
    let url = "http://127.0.0.1:\(server.port)/"
    let waiting = Task {
      try await HTTPExchanges(on: network).send(HTTPRequest(method: .get, url: url), maximumBodySize: 1)
    }
    var iterator = arrivals.makeAsyncIterator()
    _ = await iterator.next()
    waiting.cancel()
    await #expect(throws: PortError.broken("it was cancelled")) { try await waiting.value }
    await network.close()
  }

  @Test func `a web socket opens, hears, and closes in order`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    // The key is random, so the answer depends on it.
    let server = try TestServer { client in
      guard let answer = client.webSocketAnswer else { return }
      client.send(answer + [0x81, 2] + Array("hi".utf8))
      client.send([0x88, 2, 0x03, 0xE8])
      client.waitForEnd()
    }
    let (events, feed) = AsyncStream.makeStream(of: WebSocketEvent.self)
    let socket = WebSockets(on: network).open(
      url: "ws://127.0.0.1:\(server.port)/", headers: [], maximumMessageSize: 8
    ) { feed.yield($0) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .open)
    #expect(await iterator.next() == .text("hi"))
    #expect(await iterator.next() == .closed(nil))
    socket.close()
    await network.close()
  }

  @Test func `a web socket that is refused has the status`() async throws {
    let network = try NetworkThread(certificateAuthorities: nil)
    let server = try TestServer { $0.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") }
    let (events, feed) = AsyncStream.makeStream(of: WebSocketEvent.self)
    let socket = WebSockets(on: network).open(
      url: "ws://127.0.0.1:\(server.port)/", headers: [], maximumMessageSize: 8
    ) { feed.yield($0) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .closed(.refused(status: 400)))
    socket.close()
    await network.close()
  }

  @Test func `an alarm rings; a cancelled one does not`() async throws {
    let timer = TaskTimer(on: try EventLoop())
    let (rings, feed) = AsyncStream.makeStream(of: Int.self)
    let takeBack = timer.wake(after: .milliseconds(1)) { feed.yield(1) }
    takeBack()
    _ = timer.wake(after: .milliseconds(2)) { feed.yield(2) }
    var iterator = rings.makeAsyncIterator()
    #expect(await iterator.next() == 2)
    #expect(timer.now > .zero)
  }

  @Test(arguments: [("com", true), ("co.uk", true), ("github.io", true), ("example.com", false), ("localhost", true)])
  func `the system's public suffix list is used`(domain: String, isPublic: Bool) throws {
    #expect(try PublicSuffixList().isPublicSuffix(domain) == isPublic)
  }

  // Holds: INPUT-1
  @Test func `a file without certificates is refused`() {
    #expect(throws: WalletFailure("w.conf, line 3: ca-file: /dev/null has no certificate; give a PEM file")) {
      try NetworkThread(certificateAuthorities: CertificateFile(path: "/dev/null", place: "w.conf, line 3: ca-file"))
    }
    #expect(throws: WalletFailure("--ca-file: cannot read /nowhere: No such file or directory")) {
      try NetworkThread(certificateAuthorities: CertificateFile(path: "/nowhere", place: "--ca-file"))
    }
  }

  /// A closed port of 127.0.0.1, which was just released.
  private func unusedPort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(bind(descriptor, address, size) == 0)
        try #require(getsockname(descriptor, address, &size) == 0)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
