import LiquidAuth

/// STUN and TURN servers as webrtcbin takes them: URIs with two slashes, and user and password in those of TURN servers.
struct GStreamerServers: Equatable {
  /// The first STUN server, which is all that webrtcbin asks.
  let stun: String?
  /// All TURN servers.
  let turn: [String]

  init(_ servers: [ICEServer]) {
    var (stun, turn): (String?, [String]) = (nil, [])
    for server in servers {
      for url in server.urls {
        guard let url = try? ICEServerURL(url) else { continue }
        switch url.kind {
        case .stun: stun = stun ?? "stun://\(url.authority)"
        case .turn:
          let user = "\(Self.encoded(server.username ?? "")):\(Self.encoded(server.credential ?? ""))"
          turn.append("turn://\(user)@\(url.authority)?transport=\(url.transport.rawValue)")
        }
      }
    }
    (self.stun, self.turn) = (stun, turn)
  }

  /// With all but RFC 3986's unreserved characters percent-encoded.
  static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
