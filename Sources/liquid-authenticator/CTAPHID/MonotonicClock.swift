import CTAPHID

/// The clock of the shell, on which the machine's deadlines stand.
protocol MonotonicClock: Sendable {
  /// The time since a start of its own; it never goes back.
  var now: Instant { get }
  /// Sleeps until the instant has come; throws when the task is cancelled.
  func sleep(until instant: Instant) async throws(CancellationError)
}
