/// The port to time: a clock that is read and an alarm that rings.
///
/// Nothing in this room reads another clock or sleeps, so that tests move time by hand.
public protocol TimerPort: Sendable {
  /// The time since a start of the adapter's choice; it never goes back, and goes on while the machine sleeps.
  var now: Duration { get }
  /// Calls `deliver` once, not before `delay` has passed; at once for a delay of zero or less.
  ///
  /// `deliver` may be called on any thread and never waits.
  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> any TimerAlarm
}

/// An alarm that was set.
public protocol TimerAlarm: Sendable {
  /// Takes the alarm back; one that has rung, or is about to, may still be heard.
  func cancel()
}
