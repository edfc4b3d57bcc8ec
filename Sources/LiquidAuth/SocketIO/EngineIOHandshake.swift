/// What an Engine.IO server says of the session it opens: protocol 4, "Handshake".
struct EngineIOHandshake: Equatable, Sendable {
  /// Names the session in the URL of every polling exchange; 1 to 256 bytes.
  let sid: String
  /// How often the server pings; 100 ms to 10 minutes.
  let pingInterval: Duration
  /// How long after that a ping may be late; 100 ms to 10 minutes.
  let pingTimeout: Duration
  /// Bytes that the server reads in one message or one body; `nil` where it does not say.
  let maxPayload: Int?
  /// The JSON object as it came.
  let text: String

  /// After so long a silence, the connection counts as lost.
  var longestSilence: Duration { pingInterval + pingTimeout }

  private struct Members: Decodable {
    let sid: String
    let pingInterval: Int
    let pingTimeout: Int
    let maxPayload: Int?
  }

  private static let milliseconds = 100...600_000
  private static let maximumSIDSize = 256

  /// Reads the JSON object; numbers that no server means are refused, since every wait follows from them.
  init(_ text: String) throws(SocketIOError) {
    let members = try JSONText.decode(Members.self, from: text)
    guard (1...Self.maximumSIDSize).contains(members.sid.utf8.count),
      Self.milliseconds.contains(members.pingInterval), Self.milliseconds.contains(members.pingTimeout),
      members.maxPayload ?? 1 > 0
    else { throw .malformed(.handshake) }
    sid = members.sid
    pingInterval = .milliseconds(members.pingInterval)
    pingTimeout = .milliseconds(members.pingTimeout)
    maxPayload = members.maxPayload
    self.text = text
  }
}
