import CTAPHID

/// The clock of the shell, on which the machine's deadlines stand.
protocol Timepiece: Sendable {
  /// The time since a start of its own; it never goes back.
  var now: Instant { get }
  /// Sleeps until the instant has come; throws when the task is cancelled.
  func sleep(until instant: Instant) async throws(CancellationError)
}

/// The system's clock, which goes on while the machine is suspended: a half message does not outlive that.
struct SystemTimepiece: Timepiece {
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant

  init() { start = ContinuousClock().now }

  var now: Instant { Instant(nanoseconds: 0).advanced(by: clock.now - start) }

  func sleep(until instant: Instant) async throws(CancellationError) {
    do {
      try await clock.sleep(until: start + Instant(nanoseconds: 0).duration(to: instant))
    } catch {
      throw CancellationError()
    }
  }
}
