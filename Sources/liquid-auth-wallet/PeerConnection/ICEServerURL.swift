/// The address of a STUN or TURN server: RFC 7064 and RFC 7065.
struct ICEServerURL: Equatable {
  /// What the server does.
  enum Kind: String {
    /// Tells us our address as others see it.
    case stun
    /// Passes our packets on.
    case turn
  }

  /// How a TURN server is spoken to.
  enum Transport: String {
    case udp, tcp
  }

  let kind: Kind
  /// Host and port.
  let authority: String
  let transport: Transport

  /// Reads `stun:host[:port]` or `turn:host[:port][?transport=udp|tcp]`.
  ///
  /// Those over TLS, `stuns:` and `turns:`, are not taken: libnice, on which GStreamer builds, has no TLS. What passes a
  /// TURN server is encrypted from end to end anyway.
  init(_ text: String) throws(ICEServerURLError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts[0].lowercased()
    guard scheme != "stuns", scheme != "turns" else { throw .overTLS }
    guard parts.count == 2, let kind = Kind(rawValue: scheme) else { throw .scheme }
    let pieces = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.kind = kind
    authority = try Self.authority(pieces[0])
    switch (kind, pieces.count > 1 ? pieces[1].lowercased() : nil) {
    case (_, nil), (.turn, "transport=udp"): transport = .udp
    case (.turn, "transport=tcp"): transport = .tcp
    default: throw .query
    }
  }

  /// The port that STUN and TURN have where none is named: RFC 8489 §18.6.
  private static let defaultPort = 3478

  private static func authority(_ text: Substring) throws(ICEServerURLError) -> String {
    let isBracketed = text.hasPrefix("[")
    guard
      let end = isBracketed
        ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":") ?? text.endIndex
    else { throw .host }
    let (host, port) = (text[..<end], text[end...])
    guard !host.isEmpty, host.utf8.allSatisfy({ isHostByte($0, isBracketed: isBracketed) }) else { throw .host }
    guard !port.isEmpty else { return "\(host):\(defaultPort)" }
    guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else { throw .port }
    return "\(host):\(number)"
  }

  private static func isHostByte(_ byte: UInt8, isBracketed: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"): isBracketed
    default: false
    }
  }
}

/// Why a text is no address of a STUN or TURN server.
enum ICEServerURLError: Error, Equatable, CustomStringConvertible {
  case scheme, overTLS, host, port, query

  var description: String {
    switch self {
    case .scheme: "it begins with neither stun: nor turn:"
    case .overTLS: "GStreamer reaches no STUN or TURN server over TLS; give turn: with ?transport=tcp"
    case .host: "its host is no name and no address"
    case .port: "its port is no number from 1 to 65535"
    case .query: "only ?transport=udp or ?transport=tcp may follow, and only in turn:"
    }
  }
}
