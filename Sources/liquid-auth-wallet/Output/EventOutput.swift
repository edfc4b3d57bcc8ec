import Glibc
import LiquidAuth
import Synchronization

/// Where a command tells how far it is.
struct EventOutput: Sendable {
  /// Whether programs read it, one JSON object a line on standard output; if not, people do, on standard error.
  let isJSON: Bool
  private let start: ContinuousClock.Instant

  init(isJSON: Bool, since start: ContinuousClock.Instant) {
    self.isJSON = isJSON
    self.start = start
  }

  /// Tells an event.
  func report(_ event: WalletEvent) {
    let milliseconds = Int64((ContinuousClock.now - start) / .milliseconds(1))
    if isJSON {
      StandardStream.output.write(event.json(milliseconds: milliseconds))
    } else if case .failed(let failure) = event {
      StandardStream.error.write("liquid-auth-wallet: \(TerminalText.line(failure.description))")
    } else if let text = event.text {
      StandardStream.error.write(EventText.line(text, milliseconds: milliseconds))
    }
  }
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

/// Where output goes: events for programs to standard output, what a person reads to standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// A reader that goes away ends a write, and not the process.
  static func survivesItsReaders() { signal(SIGPIPE, SIG_IGN) }

  /// Writes a line whole; what cannot be written is nobody's to hear of.
  ///
  /// The program that reads events and has gone wants nothing more: that ends this process in order, as SIGTERM does.
  func write(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        if self == .output { Self.end() }
        return
      }
      rest = rest.dropFirst(count)
    }
  }

  private static let hasEnded = Atomic(false)

  /// Once: a second signal would not wait for what is open to be closed.
  private static func end() {
    if !hasEnded.exchange(true, ordering: .relaxed) { kill(getpid(), SIGTERM) }
  }
}
