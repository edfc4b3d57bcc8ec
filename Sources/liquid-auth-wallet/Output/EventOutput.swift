import LiquidAuth

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
