extension SocketIOMachine {
  /// What a transport tells of one connection.
  struct Input: Sendable {
    /// What has happened.
    enum Event: Sendable {
      /// On the web socket.
      case webSocket(WebSocketEvent)
      /// The outcome of the GET that waits for packets.
      case polled(Result<HTTPResponse, HTTPFailure>)
      /// The outcome of a POST.
      case posted(Result<HTTPResponse, HTTPFailure>)
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
    case lost(ServerLoss, delay: Duration)
    /// It is over; nothing is tried any more.
    case failed(SignalingError)
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
}
