/// How far it is to an open channel.
public enum SignalingStage: String, Sendable {
  /// The server is being connected to.
  case linking
  /// The offer was sent; the dApp's answer is waited for.
  case signalled
  /// The answer has come; a path to the dApp is looked for.
  case connecting
  /// The channel is open.
  case open
}

/// What a person may want to know while a channel is being opened.
public struct SignalingProgress: Equatable, Sendable {
  /// What has happened.
  public enum Event: Equatable, Sendable {
    /// A stage has begun; each is told once, in their order.
    case stage(SignalingStage)
    /// The connection to the server is lost; another is tried after the delay.
    case reconnecting(PortError, delay: Duration)
    /// No dApp has answered for so long since the offer was sent. Told after 15 s, and whenever the time has doubled.
    case waiting(Duration)
    /// So many answers were not taken: they cannot be used, or came before the offer or after the one that was taken, from
    /// another dApp of this wallet or a page that was loaded twice. Told at the first and whenever the number has doubled.
    case ignoredAnswers(Int)
    /// No TURN server of the configuration gave an address: none was reached, or none took user and password. Where there
    /// is another path, the channel opens all the same.
    case noRelay
    /// So many of the dApp's candidates were malformed or too many. Told at the first and whenever the number has
    /// doubled.
    case refusedCandidates(Int)
  }

  /// What has happened.
  public let event: Event
  /// The time since the start.
  public let elapsed: Duration
}
