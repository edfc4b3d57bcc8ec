import EventLoop
import EventLoopTests
import Foundation
import HelperProcess
import Synchronization
import TestVectors
import Testing

@testable import Prompts

/// Tests/EndToEnd/support/pinentry.py set up for one test: its own program, settings and log.
final class ScriptedPinentry: Sendable {
  /// One line of its log.
  struct Event: Decodable {
    let event: String
    let pid: Int32
    let time: Double
    let command: String?
    let answer: String?
    let title: String?
    let description: String?
    let prompt: String?
    let ok: String?
    let cancel: String?
    let error: String?
    let timeout: String?
    let options: [String: String]?
    let environment: [String: String]?
    let openFiles: [Int]?
    let number: Int32?
  }

  let folder: URL
  private let logged = Mutex<[String]>([])

  var program: String { folder.appendingPathComponent("pinentry").path }
  /// The lines that the daemon logged.
  var lines: [String] { logged.withLock { $0 } }

  init(_ control: [String: any Sendable] = [:]) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("pinentry-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let script = URL(filePath: #filePath).appending(path: "../../../../EndToEnd/support/pinentry.py")
      .standardizedFileURL.path
    try set(control)
    let wrapper = """
      #!/bin/sh
      export PINENTRY_CONTROL='\(folder.path)/control.json' PINENTRY_LOG='\(folder.path)/log'
      exec python3 '\(script)'

      """
    try Data(wrapper.utf8).write(to: URL(fileURLWithPath: program))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
  }

  /// Sets what the program does from now on.
  func set(_ control: [String: any Sendable]) throws {
    let settings = try JSONSerialization.data(withJSONObject: control)
    try settings.write(to: folder.appendingPathComponent("control.json"), options: .atomic)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Prompts with the program under test.
  func prompter(
    program other: String? = nil, environment: [String: String] = [:], terminal: String? = nil,
    limits: Pinentry.Limits = Pinentry.Limits(setUp: .patience, closing: .patience),
    clock: any MonotonicClock = ManualClock()
  ) throws -> UserPrompter {
    let pinentry = Pinentry(
      helper: try HelperProcess(program: other ?? program), environment: { environment[$0] }, terminal: terminal,
      limits: limits,
      executor: globalConcurrentExecutor)
    return UserPrompter(testing: pinentry, clock: clock) { line in self.logged.withLock { $0.append(line) } }
  }

  var events: [Event] {
    get throws {
      let text = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
      return try text.split(separator: "\n").map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
    }
  }

  func events(_ name: String) throws -> [Event] { try events.filter { $0.event == name } }

  /// Waits until `count` events are logged.
  func awaitEvent(_ name: String, count: Int = 1) async throws {
    guard try await !eventually({ try events(name).count >= count }) else { return }
    Issue.record("no event \(name): \(try events)")
  }

  /// Whether every dialog's program ends; one that has answered may still be closing its window.
  func ends() async throws -> Bool { try await eventually { try isGone } }

  /// Whether every process that the program started is gone and reaped.
  var isGone: Bool {
    get throws { try events.allSatisfy { kill($0.pid, 0) == -1 && errno == ESRCH } }
  }
}
