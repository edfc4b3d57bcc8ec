import CTAPHID
import EventLoop
import Synchronization

/// Limits lines that any program can cause: some are written in each minute, the others are counted.
final class LogLimit: Sendable {
  static let period = Duration.seconds(60)

  private struct State {
    var begin: Instant
    var count = 0
  }

  private let subject: String
  private let lines: Int
  private let clock: any MonotonicClock
  private let output: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - subject: what the lines are about, for the line about those left out: "the control socket".
  ///   - lines: how many lines of one ``period`` are written.
  ///   - output: takes each line that is written.
  init(of subject: String, lines: Int, clock: any MonotonicClock, output: @escaping @Sendable (String) -> Void) {
    self.subject = subject
    self.lines = lines
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
    if before > lines { output("\(subject): \(before - lines) further lines were suppressed") }
    guard count <= lines else { return }
    output(line)
    if count == lines {
      output("\(subject): further lines of this minute are counted but not written")
    }
  }
}
