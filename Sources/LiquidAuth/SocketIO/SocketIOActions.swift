extension SocketIOMachine {
  /// What a transport tells of one connection.
  struct Input: Sendable {
    /// What has happened.
    enum Event: Sendable {
      /// On the web socket.
      case webSocket(WebSocketEvent)
      /// The outcome of the GET that waits for packets.
      case polled(Result<HTTPResponse, PortError>)
      /// The outcome of a POST.
      case posted(Result<HTTPResponse, PortError>)
    }

    /// The connection it happened on.
    let connection: ConnectionID
    /// What has happened.
    let event: Event
  }

  /// What the driver must do, in the order of the array.
  enum Action: Equatable, Sendable {
    /// For the transports.
    case transport(Exchange)
    /// The server has let us in; after a lost connection, once more.
    case connected
    /// The server sent an event.
    case event(SocketIOEvent)
    /// The connection is lost; another is tried after the delay.
    case lost(PortError, delay: Duration)
    /// It is over; nothing is tried any more.
    case failed(LiquidAuthError)
  }

  /// What is done over the network; a target is path and query, of the server's origin.
  enum Exchange: Equatable, Sendable {
    /// Begin to open a web socket.
    case openWebSocket(ConnectionID, target: String)
    /// Send this message on it.
    case send(ConnectionID, String)
    /// GET the next packets; the server answers when it has some.
    case poll(ConnectionID, target: String)
    /// POST packets, `text/plain` in UTF-8.
    case post(ConnectionID, target: String, body: String)
    /// Close the web socket, or give up the exchanges that wait.
    case close(ConnectionID)
  }

  /// Path and query of what is asked of the server: Engine.IO 4 at Socket.IO's own path.
  enum Target {
    /// Of the web socket.
    static let webSocket = "/socket.io/?EIO=4&transport=websocket"
    /// Of the poll that opens a session.
    static let polling = "/socket.io/?EIO=4&transport=polling"

    /// Of every other exchange of a session.
    ///
    /// Its name is the server's text: all but the unreserved characters of RFC 3986 is percent-encoded.
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
