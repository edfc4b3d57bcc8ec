import Synchronization

/// The demo's output, shown as it comes, or kept for one JSON value.
final class Transcript: Sendable {
  private let events = Mutex<[Demonstration.Event]>([])
  private let isQuiet: Bool

  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func add(_ event: Demonstration.Event) {
    let isFirst = events.withLock { events in
      events.append(event)
      return events.count == 1
    }
    if !isQuiet { writeResult(Self.line(event, isFirst: isFirst), isJSON: false) }
  }

  var checkCount: Int {
    events.withLock { events in
      events.count { event in
        if case .check = event { true } else { false }
      }
    }
  }

  static func line(_ event: Demonstration.Event, isFirst: Bool) -> String {
    switch event {
    case .step(let title): "\(isFirst ? "" : "\n")\(title)"
    case .note(let text): "      \(text)"
    case .check(let name, let holds): "\(holds ? "  ok  " : "FAILED")\(holds ? "" : " ")\(name)"
    }
  }

  /// `{"holds", "steps": [{"step", "notes": […], "checks": [{"check", "holds"} …]} …]}`.
  func json(holds: Bool) -> JSON {
    var steps: [(title: String, notes: [JSON], checks: [JSON])] = []
    for event in events.withLock({ $0 }) {
      switch event {
      case .step(let title): steps.append((title, [], []))
      case .note(let text): steps[steps.count - 1].notes.append(.string(text))
      case .check(let name, let holds):
        steps[steps.count - 1].checks.append(["check": .string(name), "holds": .bool(holds)])
      }
    }
    return [
      "holds": .bool(holds),
      "steps": .array(
        steps.map { ["step": .string($0.title), "notes": .array($0.notes), "checks": .array($0.checks)] }),
    ]
  }
}
