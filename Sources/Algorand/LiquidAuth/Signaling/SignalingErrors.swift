// The errors of the signaling, from the connection to the server to the open channel.

extension LiquidAuthError {
  /// What to do after a sign-in: dApps wait for it once, and a used link does not work again.
  public static let newLink = "reload the dApp's page and take its new link"

  private static let turn =
    "if a network blocks the connection, add a TURN server to wallet.conf (ice-server); then \(newLink)"

  /// The server removed this wallet, as it does with the other sessions of a passkey that signs in.
  static let removedByServer = Self(
    "the server ended this wallet's session; another wallet may have signed in with the same passkey",
    hint: "to connect this one again, \(newLink)")

  /// Every connection to the server failed; `loss` is the last failure.
  static func serverGone(_ loss: PortError) -> Self {
    Self(.serverLost(loss), "the server cannot be reached: \(loss)", hint: "try again later: \(newLink)")
  }

  /// The server had accepted the connection, and was lost before the channel was open; `loss` is the last failure.
  static func serverLost(_ loss: PortError) -> Self {
    Self(
      .serverLost(loss), "the connection to the server was lost before the channel to the dApp was open: \(loss)",
      hint: "when the server is back, \(newLink)")
  }

  /// The server's identity is not proven; with the adapter's reason.
  static func untrusted(_ reason: String) -> Self {
    Self(
      "the server did not prove its identity: \(reason.onOneLine)",
      hint: "do not trust this link, and report it to the dApp's operator")
  }

  /// The server denied the namespace, with its own words.
  static func connectionDenied(_ words: String) -> Self {
    Self("the server denied the connection: \(words.onOneLine)", hint: "ask the dApp for a new link")
  }

  /// One of our messages is larger than the server accepts; sizes in bytes.
  static func messageTooLarge(size: Int, limit: Int) -> Self {
    Self(
      "a message of \(size) bytes is needed; the server accepts \(limit)", hint: "report this to the dApp's operator")
  }

  /// Events came faster than they could be handled.
  static let flooded = Self(
    "the server sent too many messages", hint: "do not trust this server, and report it to the dApp's operator")

  /// No path to the dApp was found, or it was lost before the channel was open; with the adapter's reason.
  static func peerConnectionFailed(_ reason: String) -> Self {
    Self("no connection to the dApp: \(reason.onOneLine)", hint: turn)
  }

  /// The dApp's answer led to no channel, and another wallet of this account is connected.
  ///
  /// The dApp may have answered the other wallet's offer. The adapter gives the reason.
  static func otherWallet(_ reason: String) -> Self {
    Self(
      "no connection to the dApp: \(reason.onOneLine); another wallet of this account is connected, and may have taken "
        + "the answer", hint: "stop one of them, then \(newLink)")
  }

  /// The channel was not open in time; with the stage that was reached.
  static func channelTimedOut(_ stage: SignalingStage) -> Self {
    switch stage {
    case .linking:
      Self(
        .channelTimedOut, "the server did not accept the connection in time", hint: "try again later: \(newLink)")
    case .signalled: Self(.channelTimedOut, "no dApp answered in time", hint: newLink)
    case .connecting, .open: Self(.channelTimedOut, "no path to the dApp was found in time", hint: turn)
    }
  }

  /// The task was cancelled.
  static let cancelled = Self(.cancelled, "cancelled")
}
