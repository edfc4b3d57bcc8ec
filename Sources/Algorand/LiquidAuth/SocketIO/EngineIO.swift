/// One packet of Engine.IO, protocol 4: a digit for its type, then text.
///
/// A WebSocket message is one packet; the body of a polling exchange is one or more with U+001E between them.
enum EngineIOPacket: Equatable, Sendable {
  /// 0: the server's first packet.
  case open(EngineIOHandshake)
  /// 1: the end of the session.
  case close
  /// 2: requests a pong with the same text, which is empty, or `probe` on a transport under test.
  case ping(String)
  /// 3: the answer to a ping.
  case pong(String)
  /// 4: a packet of Socket.IO.
  case message(String)
  /// 5: the change from polling to a web socket is complete.
  case upgrade
  /// 6: nothing; ends a waiting poll.
  case noop

  private static let separator: UInt8 = 0x1e

  /// Reads one packet.
  ///
  /// - Throws: ``LiquidAuthError/binary`` for `b` and base64; ``LiquidAuthError/malformed(_:)`` for any other type, for
  ///   text after a type that has none, and for a ping with unexpected text, so that the server cannot choose what is
  ///   echoed.
  init(_ text: some StringProtocol) throws(LiquidAuthError) {
    guard let type = text.utf8.first else { throw .malformed("packet") }
    let rest = String(decoding: text.utf8.dropFirst(), as: UTF8.self)
    switch (type, rest.isEmpty) {
    case (UInt8(ascii: "0"), _): self = .open(try EngineIOHandshake(rest))
    case (UInt8(ascii: "1"), true): self = .close
    case (UInt8(ascii: "2"), _) where ["", "probe"].contains(rest): self = .ping(rest)
    case (UInt8(ascii: "3"), _): self = .pong(rest)
    case (UInt8(ascii: "4"), _): self = .message(rest)
    case (UInt8(ascii: "5"), true): self = .upgrade
    case (UInt8(ascii: "6"), true): self = .noop
    case (UInt8(ascii: "b"), _): throw .binary
    default: throw .malformed("packet")
    }
  }

  /// Reads the body of a polling exchange, which has at least one packet.
  static func packets(inPayload payload: String) throws(LiquidAuthError) -> [EngineIOPacket] {
    var packets: [EngineIOPacket] = []
    for text in payload.utf8.split(separator: separator, omittingEmptySubsequences: false) {
      packets.append(try EngineIOPacket(Substring(text)))
    }
    return packets
  }

  /// Writes packets as the body of a polling exchange.
  static func payload(_ packets: some Sequence<EngineIOPacket>) -> String {
    packets.map(\.text).joined(separator: String(UnicodeScalar(separator)))
  }

  /// The packet as it is sent.
  var text: String {
    switch self {
    case .open(let handshake): "0" + handshake.text
    case .close: "1"
    case .ping(let text): "2" + text
    case .pong(let text): "3" + text
    case .message(let text): "4" + text
    case .upgrade: "5"
    case .noop: "6"
    }
  }
}

/// The parameters of a session from an Engine.IO server: protocol 4, "Handshake".
struct EngineIOHandshake: Equatable, Sendable {
  /// Names the session in the URL of every polling exchange; 1 to 256 bytes.
  let sid: String
  /// How often the server pings; 100 ms to 10 minutes.
  let pingInterval: Duration
  /// How long after that a ping may be late; 100 ms to 10 minutes.
  let pingTimeout: Duration
  /// The most bytes of one message or body that the server accepts; `nil` if not stated.
  let maxPayload: Int?
  /// The JSON object as received.
  let text: String

  /// The silence after which the connection counts as lost.
  var longestSilence: Duration { pingInterval + pingTimeout }

  private struct Members: Decodable {
    let sid: String
    let pingInterval: Int
    let pingTimeout: Int
    let maxPayload: Int?
  }

  private static let milliseconds = 100...600_000
  private static let maximumSIDSize = 256

  /// Reads the JSON object; refuses extreme numbers, since every wait depends on them.
  init(_ text: String) throws(LiquidAuthError) {
    let members = try SocketIOJSON.decode(Members.self, from: text)
    guard (1...Self.maximumSIDSize).contains(members.sid.utf8.count),
      Self.milliseconds.contains(members.pingInterval), Self.milliseconds.contains(members.pingTimeout),
      members.maxPayload ?? 1 > 0
    else { throw .malformed("handshake") }
    sid = members.sid
    pingInterval = .milliseconds(members.pingInterval)
    pingTimeout = .milliseconds(members.pingTimeout)
    maxPayload = members.maxPayload
    self.text = text
  }
}
