extension SocketIOMachine {
  /// An event of a transport on one connection.
  struct Input: Sendable {
    /// The event.
    enum Event: Sendable {
      /// An event of the web socket.
      case webSocket(WebSocketEvent)
      /// The outcome of the GET that waits for packets.
      case polled(Result<HTTPResponse, PortError>)
      /// The outcome of a POST.
      case posted(Result<HTTPResponse, PortError>)
    }

    /// The connection of the event.
    let connection: ConnectionID
    let event: Event
  }

  /// An action for the driver, which performs them in the order of the array.
  enum Action: Equatable, Sendable {
    /// Use a transport.
    case transport(Exchange)
    /// The server has accepted the connection; repeated after a lost connection.
    case connected
    /// The server sent an event.
    case event(SocketIOEvent)
    /// The connection is lost; the machine tries again after the delay.
    case lost(PortError, delay: Duration)
    /// The end; the machine tries nothing more.
    case failed(LiquidAuthError)
  }

  /// An exchange over the network; a target is path and query at the server's origin.
  enum Exchange: Equatable, Sendable {
    /// Begin to open a web socket.
    case openWebSocket(ConnectionID, target: String)
    /// Send this message on it.
    case send(ConnectionID, String)
    /// GET the next packets; the server answers when it has some.
    case poll(ConnectionID, target: String)
    /// POST packets, `text/plain` in UTF-8.
    case post(ConnectionID, target: String, body: String)
    /// Close the web socket, or cancel the waiting exchanges.
    case close(ConnectionID)
  }

  /// Path and query of the requests: Engine.IO 4 at Socket.IO's own path.
  enum Target {
    /// The web socket.
    static let webSocket = "/socket.io/?EIO=4&transport=websocket"
    /// The poll that opens a session.
    static let polling = "/socket.io/?EIO=4&transport=polling"

    /// Every other exchange of a session.
    ///
    /// The server chooses the session's name: all but the unreserved characters of RFC 3986 are percent-encoded.
    static func polling(sid: String) -> String { "\(polling)&sid=\(percentEncoded(sid))" }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let marks = Array("-._~".utf8)

    private static func percentEncoded(_ text: String) -> String {
      let bytes = text.utf8.flatMap { byte -> [UInt8] in
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.lowercasedASCII)
        if isLetter || byte.isASCIIDigit || marks.contains(byte) { return [byte] }
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
