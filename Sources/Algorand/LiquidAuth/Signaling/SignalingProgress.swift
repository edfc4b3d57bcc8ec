/// The stages on the way to an open channel.
public enum SignalingStage: String, Sendable {
  /// The wallet connects to the server.
  case linking
  /// The offer was sent; the wallet waits for the dApp's answer.
  case signalled
  /// The answer has arrived; the wallet looks for a path to the dApp.
  case connecting
  /// The channel is open.
  case open
}

/// The progress of opening a channel, for display.
public struct SignalingProgress: Equatable, Sendable {
  /// What has happened.
  public enum Event: Equatable, Sendable {
    /// A stage has begun; each is reported once, in order. After ``returned`` they are reported again, from the second.
    case stage(SignalingStage)
    /// The connection to the server is lost; the wallet tries again after the delay.
    case reconnecting(PortError, delay: Duration)
    /// No dApp has answered for this time since the offer. Reported after 15 s, and whenever the time has doubled.
    case waiting(Duration)
    /// This many answers were ignored: they are unusable, or came before the offer or after the accepted one, from
    /// another dApp of this wallet or a page that was loaded twice. Reported at the first and whenever the number has
    /// doubled.
    case ignoredAnswers(Int)
    /// No TURN server of the configuration gave an address: none was reachable, or none accepted user and password. If
    /// there is another path, the channel opens anyway.
    case noRelay
    /// This many candidates of the dApp were malformed, or too many. Reported at the first and whenever the number has
    /// doubled.
    case refusedCandidates(Int)
    /// The channel has ended; the wallet waits for the dApp to come back.
    case away
    /// The dApp is back; the wallet makes a fresh offer.
    case returned
    /// More devices than before were connected for the request at once, this wallet among them; the user is asked.
    case otherSession(devices: Int)
    /// The connection to the server has ended for good. The open channel stays, and is the last.
    case serverLeft(LiquidAuthError)
  }

  /// What has happened.
  public let event: Event
  /// The time since the start.
  public let elapsed: Duration
}

/// How a connection that stayed with the dApp ended.
public enum SignalingEnding: Equatable, Sendable {
  /// The channel ended and the server does not report who is present, or `serve` wanted no further channel.
  case done
  /// The channel ended, and no other was open within the timeout.
  case nobodyReturned
  /// The user did not want another session of the page.
  case refused
  /// The server refused the wallet, or is gone.
  case byServer(LiquidAuthError)
}
