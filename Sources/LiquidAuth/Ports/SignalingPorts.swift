/// What the signaling needs of the world, one port each.
public struct SignalingPorts: Sendable {
  /// Polling, where web sockets are refused.
  public var http: any HTTPPort
  /// Web sockets.
  public var webSockets: any WebSocketPort
  /// WebRTC.
  public var peerConnections: any PeerConnectionPort
  /// Clock and alarm.
  public var timer: any TimerPort
  /// Chance: spreads the tries of many wallets after a server came back.
  public var randomness: any RandomNumberGenerator & Sendable

  /// Joins the five.
  public init(
    http: any HTTPPort, webSockets: any WebSocketPort, peerConnections: any PeerConnectionPort, timer: any TimerPort,
    randomness: any RandomNumberGenerator & Sendable
  ) {
    self.http = http
    self.webSockets = webSockets
    self.peerConnections = peerConnections
    self.timer = timer
    self.randomness = randomness
  }
}

/// The port to time: a clock that is read and an alarm that rings.
///
/// Nothing in this room reads another clock or sleeps, so that tests move time by hand.
public protocol TimerPort: Sendable {
  /// The time since a start of the adapter's choice; it never goes back, and goes on while the machine sleeps.
  var now: Duration { get }
  /// Calls `deliver` once, not before `delay` has passed; at once for a delay of zero or less.
  ///
  /// `deliver` may be called on any thread and never waits.
  /// - Returns: a function that cancels the timer; a timer that is just firing may still call `deliver`.
  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}
