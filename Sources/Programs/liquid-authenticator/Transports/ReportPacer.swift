import CTAPHID

/// Spreads a long answer over time, so that hidraw's ring of 64 reports does not overflow before its reader wakes.
///
/// An answer of up to 32 reports, as all answers of the authenticator are, is sent at once.
struct ReportPacer {
  /// How many reports go at once.
  static let burst = 32
  /// The pause between two bursts, in which the reader can wake.
  static let pause = Duration.milliseconds(20)
  /// The most reports that wait; further ones are lost, as they would be in the ring.
  static let capacity = 1024

  private var waiting: [Report] = []
  /// When the next burst is due; `nil` while nothing waits.
  private(set) var deadline: Instant?

  /// Takes the reports of one message; returns those to write now.
  mutating func admit(_ reports: [Report], at now: Instant) -> [Report] {
    waiting += reports.prefix(Self.capacity - waiting.count)
    return deadline == nil ? burst(at: now) : []
  }

  /// The reports that are due at `now`.
  mutating func due(at now: Instant) -> [Report] {
    guard let deadline, deadline <= now else { return [] }
    return burst(at: now)
  }

  private mutating func burst(at now: Instant) -> [Report] {
    let next = waiting.prefix(Self.burst)
    waiting.removeFirst(next.count)
    deadline = waiting.isEmpty ? nil : now.advanced(by: Self.pause)
    return Array(next)
  }
}
