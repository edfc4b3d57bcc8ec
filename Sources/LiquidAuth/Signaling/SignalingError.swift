/// Why there is no open channel to the dApp.
///
/// Each sentence is lower case without a full stop: what happened, then what to do.
public enum SignalingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The server never let us in, however often it was tried; the last try ended so.
  case serverGone(ServerLoss)
  /// The server had let us in, and went away before the channel was open; how, or how the last try to find it again ended.
  case serverLost(ServerLoss)
  /// The server is not who it should be; the reason is the adapter's.
  case untrusted(String)
  /// The server speaks something else than Socket.IO 5 over Engine.IO 4.
  case protocolViolation(SocketIOError)
  /// The server did not let us into its namespace, in its own words.
  case connectionDenied(String)
  /// One of our messages, in bytes, is larger than the server reads.
  case messageTooLarge(size: Int, limit: Int)
  /// Events came faster than they could be looked at.
  case flooded
  /// No peer connection could be made; the sentence is the adapter's.
  case noPeerConnection(String)
  /// No answer came in time that can be used; what was wrong with the last.
  case unusableAnswer(SessionDescriptionError)
  /// No path to the dApp was found, or it broke off before the channel was open; the reason is the adapter's.
  case peerConnectionFailed(String)
  /// The dApp's answer led to no channel, and another wallet of this account was signaling at this server as well: the
  /// answer may have been to its offer. The reason is the adapter's.
  case otherWallet(String)
  /// The channel was not open in time; how far it had come.
  case timedOut(SignalingStage)
  /// The task was cancelled.
  case cancelled

  /// What happened, then what to do.
  public var description: String {
    switch self {
    case .serverGone(let loss): "the server cannot be reached: \(loss); try again later: \(Self.newLink)"
    case .serverLost(let loss):
      "the server went away before the channel to the dApp was open: \(loss); when it is back, \(Self.newLink)"
    case .untrusted(let reason):
      "the server does not prove who it is: \(reason.onOneLine); do not trust this link, and tell who runs the dApp"
    case .protocolViolation(let error):
      "the server does not speak Socket.IO as it should: \(error); tell who runs the dApp"
    case .connectionDenied(let words):
      "the server denied the connection: \(words.onOneLine); ask the dApp for a new link"
    case .messageTooLarge(let size, let limit):
      "a message of \(size) bytes is needed, and the server reads \(limit); tell who runs the dApp"
    case .flooded: "more came than can be looked at; do not trust this server, and tell who runs the dApp"
    case .noPeerConnection(let reason): reason
    case .unusableAnswer(let error): "the dApp's answer cannot be used: \(error); \(Self.newLink)"
    case .peerConnectionFailed(let reason): "no connection to the dApp: \(reason.onOneLine); \(Self.turn)"
    case .otherWallet(let reason):
      "no connection to the dApp: \(reason.onOneLine); another wallet of this account is connected, "
        + "and may have taken the answer; stop one of them, then \(Self.newLink)"
    case .timedOut(.linking): "the server did not accept the connection in time; try again later: \(Self.newLink)"
    case .timedOut(.signalled): "no dApp answered in time; \(Self.newLink)"
    case .timedOut(.connecting), .timedOut(.open): "no path to the dApp was found in time; \(Self.turn)"
    case .cancelled: "cancelled"
    }
  }

  private static let turn =
    "if a network blocks the connection, add a TURN server to wallet.conf (ice-server); then \(newLink)"

  /// What to do after a sign-in: dApps wait for it once, and a link that was used works no second time.
  public static let newLink = "reload the dApp's page and take its new link"
}

/// How a connection to the server ended.
public enum ServerLoss: Error, Equatable, Sendable, CustomStringConvertible {
  /// None was made; the reason is the adapter's.
  case unreachable(String)
  /// The server answered with this HTTP status.
  case refused(status: Int)
  /// The server closed it.
  case closed
  /// It broke off; the reason is the adapter's.
  case broken(String)
  /// Nothing was heard for longer than the server said it would be silent, or than a try may last.
  case silent

  /// What happened, as part of a sentence.
  public var description: String {
    switch self {
    case .unreachable(let reason): reason.onOneLine
    case .broken(let reason): "the connection broke off, \(reason.onOneLine)"
    case .refused(let status): "HTTP status \(status)"
    case .closed: "it closed the connection"
    case .silent: "it is silent"
    }
  }

  /// Whether another transport to the same server would fare no better.
  var isOfTheNetwork: Bool {
    if case .unreachable = self { true } else { false }
  }
}
