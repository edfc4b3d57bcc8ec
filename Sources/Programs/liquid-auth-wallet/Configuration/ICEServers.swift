import LiquidAuth

/// A STUN or TURN server in the configuration: its address, and for a TURN server user and password.
enum ICEServerText {
  /// Reads `stun:host[:port]` or `turn:host[:port][?transport=tcp] USER PASSWORD`.
  static func server(_ text: String) throws(WalletFailure) -> ICEServer {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard let address = words.first else { throw WalletFailure("the address of a STUN or TURN server is missing") }
    let url: ICEServerURL
    do { url = try ICEServerURL(address) } catch { throw WalletFailure("this is not a STUN or TURN server: \(error)") }
    switch (url.kind, words.count) {
    case (.stun, 1): return ICEServer(urls: [address])
    case (.turn, 3): return ICEServer(urls: [address], username: words[1], credential: words[2])
    case (.stun, _): throw WalletFailure("a STUN server takes only an address")
    case (.turn, _):
      throw WalletFailure("a TURN server takes a user and a password: turn:HOST USER PASSWORD")
    }
  }
}

extension WalletConfiguration {
  /// A server on the command line: a STUN server, or a TURN server whose user and password are in the file.
  func iceServer(named text: String) throws(WalletFailure) -> ICEServer {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.first?.lowercased().hasPrefix("turn:") == true else { return try ICEServerText.server(text) }
    guard words.count == 1 else {
      throw WalletFailure(
        "other users can read command lines, and may have read this password; write the server into "
          + "\(file), as ice-server = turn:HOST USER PASSWORD, and name its address alone", code: .mistake)
    }
    guard let server = iceServers?.first(where: { $0.urls == words }) else {
      throw WalletFailure("\(file) has no line for it: ice-server = \(words[0]) USER PASSWORD")
    }
    return server
  }
}

/// The address of a STUN or TURN server: RFC 7064 and RFC 7065.
struct ICEServerURL: Equatable {
  /// The protocol of the server.
  enum Kind: String {
    /// Reports our public address.
    case stun
    /// Relays our packets.
    case turn
  }

  /// The transport to a TURN server.
  enum Transport: String {
    case udp, tcp
  }

  let kind: Kind
  /// Host and port.
  let authority: String
  let transport: Transport

  /// Reads `stun:host[:port]` or `turn:host[:port][?transport=udp|tcp]`.
  ///
  /// Servers over TLS, `stuns:` and `turns:`, are refused: libnice, which GStreamer uses, has no TLS. Data through a
  /// TURN server is encrypted from end to end anyway.
  init(_ text: String) throws(WalletFailure) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts[0].lowercased()
    guard scheme != "stuns", scheme != "turns" else {
      throw WalletFailure("STUN and TURN over TLS are not supported; give turn: with ?transport=tcp")
    }
    guard parts.count == 2, let kind = Kind(rawValue: scheme) else {
      throw WalletFailure("it begins with neither stun: nor turn:")
    }
    let pieces = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.kind = kind
    authority = try Self.authority(pieces[0])
    switch (kind, pieces.count > 1 ? pieces[1].lowercased() : nil) {
    case (_, nil), (.turn, "transport=udp"): transport = .udp
    case (.turn, "transport=tcp"): transport = .tcp
    default: throw WalletFailure("only ?transport=udp or ?transport=tcp may follow, and only in turn:")
    }
  }

  /// The default port of STUN and TURN: RFC 8489 §18.6.
  private static let defaultPort = 3478

  private static let noHost = WalletFailure("its host is neither a name nor an address")

  private static func authority(_ text: Substring) throws(WalletFailure) -> String {
    let isBracketed = text.hasPrefix("[")
    guard
      let end = isBracketed
        ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":") ?? text.endIndex
    else { throw noHost }
    let (host, port) = (text[..<end], text[end...])
    guard !host.isEmpty, host.utf8.allSatisfy({ isHostByte($0, isBracketed: isBracketed) }) else { throw noHost }
    guard !port.isEmpty else { return "\(host):\(defaultPort)" }
    guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else {
      throw WalletFailure("its port is not a number from 1 to 65535")
    }
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

/// The public servers that the apps of Liquid Auth use.
///
/// Google's STUN, and Nodely's TURN with the user that the apps' guides publish. They learn who talks with whom; the
/// data is encrypted from end to end.
///
/// The list omits servers over TLS (``ICEServerURL``) and further STUN servers of the same owner: webrtcbin uses only
/// one.
let defaultICEServers = [
  ICEServer(urls: ["stun:stun.l.google.com:19302"]),
  ICEServer(
    urls: [
      "turn:global.turn.nodely.network:80?transport=tcp", "turn:eu.turn.nodely.io:80?transport=tcp",
      "turn:us.turn.nodely.io:80?transport=tcp",
    ], username: "liquid-auth", credential: "sqmcP4MiTKMT4TGEDSk9jgHY"),
]
