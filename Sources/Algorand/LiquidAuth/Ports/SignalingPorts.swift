/// The ports that signaling needs.
public struct SignalingPorts: Sendable {
  /// Polling, for servers that refuse web sockets.
  public var http: any HTTPPort
  /// Web sockets.
  public var webSockets: any WebSocketPort
  /// WebRTC.
  public var peerConnections: any PeerConnectionPort
  /// Clock and alarm.
  public var timer: any TimerPort
  /// Randomness: spreads the reconnections of many wallets after a server restarts.
  public var randomness: any RandomNumberGenerator & Sendable

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

/// The port to time: a clock and timers.
///
/// Nothing in this module reads another clock or sleeps, so tests control time.
public protocol TimerPort: Sendable {
  /// The time since a start of the adapter's choice; monotonic, and continues while the machine sleeps.
  var now: Duration { get }
  /// Calls `deliver` once, not before `delay` has passed; at once for a delay of zero or less.
  ///
  /// `deliver` may be called on any thread and never waits.
  /// - Returns: a function that cancels the timer; a timer that is just firing may still call `deliver`.
  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}
