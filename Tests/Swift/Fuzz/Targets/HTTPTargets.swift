import HTTP

/// Requests to the server of the demos, and web sockets of both roles.
enum HTTPTargets {
  static let all: [Target] = [
    Target(
      "http-request", of: "a request to the server of the demos", atMost: 1024,
      words: [
        "GET ", "POST ", " HTTP/1.1\r\n", "\r\n\r\n", "Content-Length: ", "Transfer-Encoding: chunked", "0\r\n\r\n",
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: ",
      ],
      seeds: {
        [
          Array("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}".utf8),
          Array("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nA: b\r\n\r\n".utf8),
          opening.request,
        ]
      }, read: readRequest),
    Target(
      "web-socket-opening", of: "a server's answer to the opening of a web socket", atMost: 1024,
      words: [
        "HTTP/1.1 101 ", "Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-WebSocket-Accept: ", "\r\n\r\n",
      ],
      seeds: { [answer, Array("HTTP/1.1 400 No\r\n\r\n".utf8)] }, read: readAnswer),
    Target(
      "web-socket", of: "what a web socket receives, as a client or a server", atMost: 1024,
      words: ["\u{1}", "\u{0}", "\u{8}", "\u{9}", "\u{A}"],
      seeds: {
        [
          [0, 0x81, 1, 0x61, 0x89, 1, 0x62, 0x88, 2, 3, 0xE8], [0, 0x01, 1, 0x61, 0x80, 1, 0x62],
          [1, 0x81, 0x81, 1, 2, 3, 4, 0x60], [0, 0x81, 126, 0, 126] + [UInt8](repeating: 0x61, count: 126),
        ]
      }, read: readFrames),
  ]

  private static let maximumSize = 200
  private static let opening = constant {
    guard
      let made = WebSocketOpening(
        authority: "a.example", target: "/", fields: [], nonce: Array("the sample nonce".utf8))
    else { throw NoOpening() }
    return made
  }
  private static let answer = Array(
    ("HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n").utf8)

  private struct NoOpening: Error {}

  private static func readRequest(_ input: [UInt8]) {
    let whole = request(input, pieces: input.count)
    let slow = request(input, pieces: 1)
    expect(whole.text == slow.text && whole.left == slow.left, "in pieces it is another request")
    expect(whole.size <= maximumSize, "a body above its limit")
  }

  /// What a reader makes of bytes in pieces of a size, and how many bytes it leaves.
  private static func request(_ input: [UInt8], pieces: Int) -> (text: String, size: Int, left: Int) {
    var reader = RequestReader(maximumSize: 900, maximumFields: 5, maximumBodySize: maximumSize)
    var rest = input[...]
    while !rest.isEmpty {
      var piece = rest.prefix(max(1, pieces))
      rest = rest.dropFirst(max(1, pieces))
      switch reader.receive(&piece) {
      case .incomplete: expect(piece.isEmpty, "bytes are left of an incomplete request")
      // Where it ends does not matter: nothing more is read.
      case .refused(let refusal): return ("\(refusal)", 0, 0)
      case .request(let request):
        let fields = request.head.fields.map { "\($0.name): \($0.value)" }
        let text = "\(request.method) \(request.target) \(fields) \(request.body) \(request.webSocketAnswer ?? [])"
        return (text, request.body.count, piece.count + rest.count)
      }
    }
    return ("", 0, 0)
  }

  private static func readAnswer(_ input: [UInt8]) {
    var (whole, slow) = (opening, opening)
    let outcome = whole.receive(input)
    var last: WebSocketOpening.Outcome?
    var rest = input[...]
    while last == nil, let byte = rest.popFirst() { last = slow.receive([byte]) }
    if case .open(let after) = outcome {
      expect(last == .open(rest: []) && after == Array(rest), "in pieces it is another answer")
    } else {
      expect(outcome == last, "in pieces it is another answer")
    }
  }

  /// Reads as a client or a server, by the first byte.
  private static func readFrames(_ input: [UInt8]) {
    let isServer = input.first.map { $0 & 1 == 1 } ?? false
    let bytes = Array(input.dropFirst())
    var (whole, slow) = (machine(isServer), machine(isServer))
    let actions = whole.receive(bytes)
    expect(actions == bytes.flatMap { slow.receive([$0]) }, "in pieces it is something else")
    expect(whole.fault == slow.fault && whole.isClosing == slow.isClosing, "in pieces it has another end")
    for (index, action) in actions.enumerated() {
      switch action {
      case .text(let text): expect(text.utf8.count <= maximumSize, "a message above its limit")
      case .binary: expect(false, "a binary message on a socket for text")
      case .close: expect(index == actions.count - 1 && whole.isClosing, "something follows the end")
      // The other role reads what is sent, and finds nothing wrong with it.
      case .send(let bytes):
        var other = machine(!isServer)
        _ = other.receive(bytes)
        expect(other.fault == nil, "it sends what is not allowed")
      }
    }
    expect(!whole.isClosing || whole.send("a").isEmpty && whole.close().isEmpty, "it sends after a Close frame")
  }

  private static func machine(_ isServer: Bool) -> WebSocketMachine {
    isServer
      ? WebSocketMachine(server: maximumSize)
      : WebSocketMachine(client: maximumSize, randomness: Counter())
  }

  /// The same masks for each input.
  private struct Counter: RandomNumberGenerator {
    private var last: UInt64 = 0
    mutating func next() -> UInt64 {
      last &+= 0x0102_0305
      return last
    }
  }
}
