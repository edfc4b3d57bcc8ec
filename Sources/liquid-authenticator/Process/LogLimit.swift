import CTAPHID
import Synchronization

/// Limits lines that any program can cause: ten a minute are written, the others are counted.
final class LogLimit: Sendable {
  /// How many lines of one ``period`` are written.
  static let lines = 10
  static let period = Duration.seconds(60)

  private struct State {
    var begin: Instant
    var count = 0
  }

  private let subject: String
  private let clock: any MonotonicClock
  private let output: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - subject: what the lines are about, for the line about those left out: "the control socket".
  ///   - output: takes each line that is written.
  init(of subject: String, clock: any MonotonicClock, output: @escaping @Sendable (String) -> Void) {
    self.subject = subject
    self.clock = clock
    self.output = output
    state = Mutex(State(begin: clock.now))
  }

  /// Writes a line, or counts it.
  func write(_ line: String) {
    let now = clock.now
    let (count, before) = state.withLock { state in
      var before = 0
      if state.begin.advanced(by: Self.period) <= now {
        before = state.count
        state = State(begin: now)
      }
      state.count += 1
      return (state.count, before)
    }
    if before > Self.lines { output("\(subject): \(before - Self.lines) further lines were suppressed") }
    guard count <= Self.lines else { return }
    output(line)
    if count == Self.lines {
      output("\(subject): further lines of this minute are counted but not written")
    }
  }
}
