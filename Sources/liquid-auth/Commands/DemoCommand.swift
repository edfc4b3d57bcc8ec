import ArgumentParser
import ProcessIO
import Synchronization

/// `liquid-auth demo`.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show a registration, a sign-in and a recovery, without a device and without a vault.",
    discussion: """
      Runs the real key in this process, against a site of its own, with a temporary phrase that it does not show. The \
      demo answers the prompts itself, and prints that it does. It verifies every signature, flag and hash; the exit code \
      is 0 only if all checks succeed. It reads and writes no file.
      """)

  @OptionGroup var output: OutputOptions

  func run() async throws {
    let transcript = Transcript(isQuiet: output.json)
    let holds: Bool
    do {
      holds = try await Demonstration { transcript.take($0) }.run()
    } catch {
      throw CommandFailure("the demo stopped early: \(error)")
    }
    if output.json { StandardStream.output.write(transcript.json(holds: holds).description) }
    guard holds else { throw CommandFailure("a check of the demo failed") }
    if !output.json { StandardStream.output.write("\nall \(transcript.checkCount) checks hold") }
  }
}

/// The demo's output, shown as it comes, or kept for one JSON value.
final class Transcript: Sendable {
  private let events = Mutex<[Demonstration.Event]>([])
  private let isQuiet: Bool

  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func take(_ event: Demonstration.Event) {
    let isFirst = events.withLock { events in
      events.append(event)
      return events.count == 1
    }
    if !isQuiet { StandardStream.output.write(Self.line(event, isFirst: isFirst)) }
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
