import HTTP
import Testing

/// Tests of RFC 9112.
struct RequestReaderTests {
  private static func reader() -> RequestReader {
    RequestReader(maximumSize: 400, maximumFields: 3, maximumBodySize: 20)
  }

  /// How a text ends, in pieces of a size, and what is left of it.
  private static func outcome(_ text: String, pieces size: Int = .max) -> (RequestReader.Outcome, left: String) {
    var reader = reader()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      var piece = rest.prefix(size)
      rest = rest.dropFirst(size)
      let outcome = reader.receive(&piece)
      if case .incomplete = outcome { continue }
      return (outcome, String(decoding: piece + rest, as: UTF8.self))
    }
    return (.incomplete, "")
  }

  private static func request(_ text: String, pieces size: Int = .max) throws -> RequestReader.Request {
    guard case .request(let request) = outcome(text, pieces: size).0 else {
      throw Refused(text: text)
    }
    return request
  }

  private struct Refused: Error {
    let text: String
  }

  private static func refusal(_ text: String, pieces size: Int = .max) -> RequestReader.Refusal? {
    guard case .refused(let refusal) = outcome(text, pieces: size).0 else { return nil }
    return refusal
  }

  @Test(arguments: [Int.max, 7, 1])
  func `a request in any pieces is read, and what follows is left`(size: Int) throws {
    let text = "POST /a?b HTTP/1.1\r\nHost:a\r\nX: \t b c \t\r\nContent-Length: 2\r\n\r\nhi"
    let request = try Self.request(text, pieces: size)
    #expect(request.method == "POST" && request.target == "/a?b" && request.body == Array("hi".utf8))
    #expect(request.head.fields.map(\.name) == ["Host", "X", "Content-Length"])
    #expect(request.head.values("x") == ["b c"] && request.head.values("host") == ["a"])
    #expect(Self.outcome(text + "more", pieces: size).left.hasSuffix("more"))
  }

  @Test(arguments: ["Content-Length: 0\r\n", ""])
  func `a request without a body ends with its head`(field: String) throws {
    let request = try Self.request("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
    #expect(request.body.isEmpty)
  }

  @Test(arguments: [Int.max, 3, 1])
  func `chunks are joined, and extensions and trailers ignored`(size: Int) throws {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
    let body = "2\r\nhi\r\n00A;name=\"value\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
    let request = try Self.request(head + body, pieces: size)
    #expect(String(decoding: request.body, as: UTF8.self) == "hi0123456789")
  }

  private static let heads: [String] = [
    "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "\r\n\r\n",
    " GET / HTTP/1.1\r\n\r\n", "G(T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
    "GET / HTTP/1.1\r\n: no name\r\n\r\n", "GET / HTTP/1.1\r\nA : b\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "GET / HTTP/1.1\r\nA: b\u{0}\r\n\r\n", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", "GET / HTTP/1.1\nA: b\r\n\r\n",
    "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n{}",
    "POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
  ]
  /// What is not a body in chunks.
  private static let chunks: [String] = ["\r\n", "-1\r\n", "g\r\n", "0x1\r\n", "1\n", "1\r\nab\r\n", "1\r\na\n"]
  static let malformed: [String] =
    heads + chunks.map { "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\($0)" }

  @Test(arguments: malformed)
  func `what is not one request of HTTP 1-1 is refused`(text: String) {
    #expect(Self.refusal(text) == .malformed)
    #expect(Self.refusal(text, pieces: 1) == .malformed)
  }

  @Test(arguments: [
    "Content-Length: 21\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n15\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
    "Transfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n1\r\n",
  ])
  func `a body above the limit is refused before its end`(fields: String) {
    #expect(Self.refusal("POST / HTTP/1.1\r\n\(fields)") == .bodyTooLong)
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nA: \(String(repeating: "b", count: 500))", String(repeating: "a", count: 400),
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;\(String(repeating: "b", count: 500))",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(String(repeating: "A: b\r\n", count: 100))",
  ])
  func `a request without end is refused at its limit`(text: String) {
    #expect(Self.refusal(text) == .tooLong)
    #expect(Self.refusal(text, pieces: 1) == .tooLong)
  }

  @Test func `a part of a request is incomplete`() {
    let text = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nh"
    for count in 1...text.utf8.count {
      let part = String(decoding: text.utf8.prefix(count), as: UTF8.self)
      guard case .incomplete = Self.outcome(part).0 else {
        Issue.record("\(count) bytes")
        return
      }
    }
  }
}
