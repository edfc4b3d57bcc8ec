import NIOCore
import NIOEmbedded
import NIOHTTP1
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

  private func connection() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandler(DemoConnectionLimit())
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
    try channel.pipeline.syncOperations.addHandler(DemoConnection(site) { [ends] in ends.count.withLock { $0 += 1 } })
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 8080)).wait()
    return channel
  }

  /// Sends bytes in pieces of a size; returns what the server sent.
  private func exchange(_ text: String, pieces size: Int = .max, on channel: EmbeddedChannel) throws -> String {
    var rest = ByteBuffer(string: text)
    while rest.readableBytes > 0, channel.isActive {
      let piece = rest.readSlice(length: min(size, rest.readableBytes)) ?? ByteBuffer()
      _ = try? channel.writeInbound(piece)
    }
    return try sent(channel)
  }

  private func sent(_ channel: EmbeddedChannel) throws -> String {
    channel.embeddedEventLoop.run()
    var text = ""
    while let part = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: part) }
    return text
  }

  private var page: String { "GET \(site.start) HTTP/1.1\r\nHost: localhost:8080\r\n\r\n" }

  @Test(arguments: [Int.max, 7, 1])
  func `a request in any pieces is answered once, and the connection ends`(_ size: Int) throws {
    let channel = try connection()
    let answer = try exchange(page, pieces: size, on: channel)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("</html>\n"))
    for header in [
      "Content-Type: text/html; charset=utf-8", "Connection: close", "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'; script-src 'self';",
    ] { #expect(answer.contains("\r\n\(header)"), "\(header)") }
    #expect(!channel.isActive && ends.count.withLock { $0 } == 0)
  }

  @Test func `a second request on the connection gets no answer`() throws {
    let answer = try exchange(page + page, on: connection())
    #expect(answer.matches(of: #/HTTP\/1.1 /#).count == 1)
  }

  @Test func `a refusal has the same headers`() throws {
    let answer = try exchange("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", on: connection())
    #expect(answer.hasPrefix("HTTP/1.1 421 ") && answer.contains("\r\nContent-Security-Policy: "))
    #expect(!answer.contains("Set-Cookie"))
  }

  @Test func `the answer to done ends the demo once it was sent`() throws {
    let answer = try exchange(page, on: connection())
    let cookie = try #require(answer.firstMatch(of: #/Set-Cookie: ([^;]+);/#)?.1)
    let done =
      "POST /done HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: http://localhost:8080\r\nCookie: \(cookie)\r\n"
      + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    #expect(try exchange(done, on: connection()).hasPrefix("HTTP/1.1 200 "))
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
    let channel = try connection()
    #expect(try exchange(text, pieces: 4096, on: channel).hasPrefix("HTTP/1.1 413 "))
    #expect(!channel.isActive)
  }

  // Holds: DEMO-5
  @Test func `headers without end are cut off`() throws {
    let channel = try connection()
    let endless = "GET / HTTP/1.1\r\n" + String(repeating: "A: \(String(repeating: "b", count: 1000))\r\n", count: 200)
    let answer = try exchange(endless, pieces: 1000, on: channel)
    #expect(!channel.isActive && !answer.contains("200 OK"))
  }

  // Holds: DEMO-5
  @Test(arguments: [
    "GET / HTTP/1.0\r\nHost: localhost:8080\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: localhost:8080\r\n" + String(repeating: "A: b\r\n", count: 101) + "\r\n",
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "POST /begin HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
  ])
  func `what is not one HTTP/1.1 request is refused`(_ text: String) throws {
    let channel = try connection()
    let answer = try exchange(text, on: channel)
    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
    #expect(!channel.isActive)
  }

  // Holds: DEMO-5
  @Test func `half a request ends after ten seconds, whatever else comes`() throws {
    let channel = try connection()
    #expect(try exchange("GET / HTTP/1.1\r\nHost: local", on: channel).isEmpty)
    channel.embeddedEventLoop.advanceTime(by: DemoConnectionLimit.time - .nanoseconds(1))
    #expect(try exchange("host:80", on: channel).isEmpty && channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
    #expect(!channel.isActive)
  }
}
