package import CTAPHID

/// The clock that the state machine's deadlines refer to.
package protocol MonotonicClock: Sendable {
  /// The time since an arbitrary start; it never goes back.
  var now: Instant { get }
  /// Sleeps until the instant has come; throws if the task is cancelled.
  func sleep(until instant: Instant) async throws(CancellationError)
}
