import CryptoPrimitives

/// The client's side of opening a web socket: RFC 6455 §4.1.
package struct WebSocketOpening: Sendable {
  /// The longest head of an answer, bytes.
  package static let maximumHeadSize = 65_536
  /// Bytes in a nonce.
  package static let nonceSize = 16

  /// What the server answered.
  package enum Outcome: Equatable, Sendable {
    /// The socket is open; the bytes that follow the answer.
    case open(rest: [UInt8])
    /// The server answered with another status than 101.
    case refused(status: Int)
    /// The answer is not one of HTTP/1.1, or does not fit the request.
    case invalid
  }

  /// The request, to be sent first.
  package let request: [UInt8]
  /// The head of the answer that opened the socket; `nil` before.
  package private(set) var answer: MessageHead?
  private let acceptance: String
  private let subprotocol: String?
  private var reader = HeadReader()

  /// - Parameters:
  ///   - authority: host and port as in the URL.
  ///   - target: path and query.
  ///   - fields: what the request has besides the fields of RFC 6455.
  ///   - subprotocol: the only one, which the server must choose; with `nil` it must choose none.
  ///   - nonce: 16 random bytes.
  /// - Returns: `nil` if one of the texts cannot be a part of a request.
  package init?(
    authority: String, target: String, fields: [(name: String, value: String)],
    subprotocol: String? = nil, nonce: [UInt8]
  ) {
    let key = Base64.encode(nonce)
    let all =
      [
        ("Host", authority), ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
      ] + fields + (subprotocol.map { [("Sec-WebSocket-Protocol", $0)] } ?? [])
    guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      all.allSatisfy({ MessageHead.isToken($0.0.utf8) && MessageHead.isText($0.1.utf8) })
    else { return nil }
    request = Array(("GET \(target) HTTP/1.1\r\n" + all.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n").utf8)
    acceptance = Self.acceptance(of: key)
    self.subprotocol = subprotocol
  }

  /// Takes bytes of the answer; returns `nil` while it is incomplete.
  package mutating func receive(_ bytes: [UInt8]) -> Outcome? {
    var rest = bytes[...]
    switch reader.read(&rest) {
    case .incomplete: return reader.bytes.count < Self.maximumHeadSize ? nil : .invalid
    case .malformed: return .invalid
    case .head(let head):
      let words = head.startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
      guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
        let status = Int(words[1]), (100...999).contains(status)
      else { return .invalid }
      guard status == 101 else { return .refused(status: status) }
      // The request offers no extension, so the server must not choose one; a subprotocol only if it was offered.
      let isOurs =
        head.contains("websocket", in: "Upgrade") && head.contains("Upgrade", in: "Connection")
        && head.values("Sec-WebSocket-Accept") == [acceptance]
        && head.values("Sec-WebSocket-Extensions").isEmpty
        && head.values("Sec-WebSocket-Protocol") == (subprotocol.map { [$0] } ?? [])
      guard isOurs else { return .invalid }
      answer = head
      return .open(rest: Array(rest))
    }
  }

  /// The value that proves that a server has understood a key: RFC 6455 §4.2.2.
  fileprivate static func acceptance(of key: String) -> String {
    Base64.encode(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }
}

extension RequestReader.Request {
  /// The head of the answer that opens a web socket; `nil` if the request asks for none (RFC 6455 §4.2.1).
  package var webSocketAnswer: [UInt8]? {
    guard method == "GET", body.isEmpty, head.contains("websocket", in: "Upgrade"),
      head.contains("Upgrade", in: "Connection"), head.values("Sec-WebSocket-Version") == ["13"],
      case let keys = head.values("Sec-WebSocket-Key"), keys.count == 1,
      Base64.decode(keys[0])?.count == WebSocketOpening.nonceSize
    else { return nil }
    let text =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(WebSocketOpening.acceptance(of: keys[0]))\r\n\r\n"
    return Array(text.utf8)
  }
}
