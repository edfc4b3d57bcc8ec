/// The port to web sockets: RFC 6455, as Socket.IO uses them.
///
/// An adapter answers the frames Ping and Close, joins fragments, and checks a `wss:` server's certificate as
/// ``HTTPPort`` does. It follows no redirects, keeps no cookies, offers no extensions and no subprotocols, and never
/// reconnects by itself.
public protocol WebSocketPort: Sendable {
  /// Begins to open a web socket and returns at once; `deliver` gets its events.
  ///
  /// `deliver` gets ``WebSocketEvent/open`` at most once, then messages in their order, and at the end exactly one
  /// ``WebSocketEvent/closed(_:)``, even if the opening failed or ``WebSocketConnection/close()`` was called. It may be
  /// called on any thread but never on two at a time, never blocks, and may be called before `open` has returned.
  ///
  /// - Parameters:
  ///   - url: `wss:` or, on loopback only, `ws:`, with path and query, without user information and fragment.
  ///   - headers: the fields besides those that RFC 6455 §4.1 requires: `User-Agent`, `Cookie`.
  ///   - maximumMessageSize: the longest message, bytes of all its fragments together. A longer one, or a header that
  ///     announces one, closes the socket with status code 1009 and is ``PortError/tooLarge``.
  func open(
    url: String, headers: [HTTPHeader], maximumMessageSize: Int,
    deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection
}

/// One web socket, from the moment its opening begins.
public protocol WebSocketConnection: Sendable {
  /// Sends one text message after all earlier ones; neither blocks nor fails.
  ///
  /// A message that cannot be written is dropped; an event then reports the end of the socket.
  func send(_ text: String)
  /// Closes the socket with status code 1000, or cancels its opening; a second call does nothing.
  ///
  /// Earlier messages are written first. It waits at most a second for the server's Close frame.
  func close()
}

/// An event of a web socket.
public enum WebSocketEvent: Equatable, Sendable {
  /// The server has accepted the upgrade (status 101): messages can be sent.
  case open
  /// A whole text message. A binary one closes the socket with status code 1003 and is ``PortError/notText``.
  case text(String)
  /// The end; `nil` if either side closed the socket in order.
  case closed(PortError?)
}
