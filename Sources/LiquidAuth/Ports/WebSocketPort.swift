/// The port to web sockets: RFC 6455, as Socket.IO uses them.
///
/// What an adapter does besides: it answers the frames Ping and Close, joins fragments, and checks a `wss:` server's
/// certificate as ``HTTPPort`` does. It follows no redirect, keeps no cookie, offers no extension and no subprotocol,
/// and never opens anything again by itself.
public protocol WebSocketPort: Sendable {
  /// Begins to open a web socket and returns at once; `deliver` gets its events.
  ///
  /// `deliver` hears ``WebSocketEvent/open`` at most once, then messages in their order, and at the end exactly one
  /// ``WebSocketEvent/closed(_:)``, also when the opening failed or ``WebSocketConnection/close()`` was called. It may
  /// be called on any thread but never on two at a time, never waits, and may be called before `open` has returned.
  ///
  /// - Parameters:
  ///   - url: `wss:` or, on loopback alone, `ws:`, with path and query, without user information and fragment.
  ///   - headers: what is sent besides what RFC 6455 §4.1 itself needs: `User-Agent`, `Cookie`.
  ///   - maximumMessageSize: the longest message, bytes of all its fragments together. A longer one, or a header that
  ///     announces one, closes the socket with status code 1009 and is ``PortError/tooLarge``.
  func open(
    url: String, headers: [HTTPHeader], maximumMessageSize: Int,
    deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection
}

/// One web socket, from the moment its opening begins.
public protocol WebSocketConnection: Sendable {
  /// Sends one text message, after all that were sent before; neither waits nor fails.
  ///
  /// What cannot be written is dropped: the end of the socket is told as an event.
  func send(_ text: String)
  /// Closes the socket with status code 1000, or gives up its opening; a second call does nothing.
  ///
  /// What was sent before is written first. A server that does not answer the Close frame is not waited for longer than
  /// a second.
  func close()
}

/// What happens on one web socket.
public enum WebSocketEvent: Equatable, Sendable {
  /// The server has taken the upgrade (status 101): messages can be sent.
  case open
  /// A whole text message. A binary one closes the socket with status code 1003 and is ``PortError/notText``.
  case text(String)
  /// It is over; `nil` where either side closed it in order.
  case closed(PortError?)
}
