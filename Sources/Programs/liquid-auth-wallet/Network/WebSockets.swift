import CryptoPrimitives
import HTTP
import LiquidAuth

/// Web sockets over connections of GIO.
struct WebSockets: WebSocketPort {
  private let network: NetworkThread

  init(on network: NetworkThread) { self.network = network }

  func open(
    url: String, headers: [HTTPHeader], maximumMessageSize: Int,
    deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    let parts = WebSocketPlace(url).flatMap { place in
      WebSocketOpening(
        authority: place.authority, target: place.target, fields: headers.map { ($0.name, $0.value) },
        nonce: randomBytes(WebSocketOpening.nonceSize)
      ).map { (place, $0) }
    }
    guard let (place, opening) = parts else {
      deliver(.closed(.unreachable("no web socket has the address \(url)")))
      return NoWebSocket()
    }
    let machine = WebSocketMachine(client: maximumMessageSize, randomness: SystemRandomNumberGenerator())
    return WebSocket(on: network, at: place, WebSocketProgress(opening, machine)) { event in
      switch event {
      case .open: deliver(.open)
      case .text(let text): deliver(.text(text))
      case .closed(let error): deliver(.closed(error))
      // The machine takes none.
      case .binary: break
      }
    }
  }
}

/// What cannot be opened.
private struct NoWebSocket: WebSocketConnection {
  func send(_ text: String) {}
  func close() {}
}

/// The address of a web socket: scheme, host, port and target.
struct WebSocketPlace: Equatable {
  let isSecure: Bool
  let host: String
  let port: Int
  /// Path and query.
  let target: String
  /// Host and port as in the URL.
  let authority: String

  /// Reads `ws[s]://host[:port]/…`.
  init?(_ url: String) {
    guard let scheme = ["wss://", "ws://"].first(where: url.hasPrefix) else { return nil }
    isSecure = scheme == "wss://"
    let rest = url.dropFirst(scheme.count)
    let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<slash]
    self.authority = String(authority)
    target = rest[slash...].hasPrefix("/") ? String(rest[slash...]) : "/" + rest[slash...]
    let end =
      authority.hasPrefix("[")
      ? authority.firstIndex(of: "]").map(authority.index(after:)) ?? authority.endIndex
      : authority.firstIndex(of: ":") ?? authority.endIndex
    host = authority[..<end].filter { $0 != "[" && $0 != "]" }
    guard !host.isEmpty else { return nil }
    guard authority[end...].isEmpty || authority[end...].hasPrefix(":") else { return nil }
    guard let port = authority[end...].isEmpty ? (isSecure ? 443 : 80) : UInt16(authority[end...].dropFirst()) else {
      return nil
    }
    self.port = Int(port)
  }
}
