import DisplayText
import Glibc
import LiquidAuth
import ProcessIO
import StateDirectory
import Synchronization

/// The output for a command's events.
struct EventOutput: Sendable {
  /// Whether programs read the events, as one JSON object per line on standard output; people read standard error.
  let isJSON: Bool
  private let start: ContinuousClock.Instant
  private let place: CommandPlace

  /// - Parameter place: the place options, which are added to the commands in failures.
  init(isJSON: Bool, since start: ContinuousClock.Instant, in place: CommandPlace) {
    self.isJSON = isJSON
    self.start = start
    self.place = place
  }

  /// Writes an event.
  func report(_ event: WalletEvent) {
    let milliseconds = Int64((ContinuousClock.now - start) / .milliseconds(1))
    let event = event.completed(by: place)
    if isJSON {
      writeResult(event.json(milliseconds: milliseconds))
    } else if case .failed(let failure) = event {
      StandardStream.error.write("liquid-auth-wallet: \(DisplayText.line(failure.description))")
    } else if let text = event.text {
      StandardStream.error.write(EventText.line(text, milliseconds: milliseconds))
    }
  }

  /// Writes a line to standard output.
  ///
  /// If the reader of the events has closed the pipe, SIGTERM ends this process in an orderly way.
  func writeResult(_ line: String) {
    // Only once: a second signal would end the process before connections are closed.
    guard !StandardStream.output.write(line), !Self.hasEnded.exchange(true, ordering: .relaxed) else { return }
    kill(getpid(), SIGTERM)
  }

  private static let hasEnded = Atomic(false)
}

/// Lines of text, for people.
enum EventText {
  /// `   123 ms  sentence`, with continuation lines below the sentence.
  static func line(_ text: String, milliseconds: Int64) -> String {
    let digits = String(milliseconds)
    let head = String(repeating: " ", count: max(0, 7 - digits.count)) + digits + " ms  "
    let indentation = String(repeating: " ", count: head.count)
    return head + text.split(separator: "\n").joined(separator: "\n" + indentation)
  }
}
