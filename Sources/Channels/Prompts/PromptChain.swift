import CTAP2
import ControlProtocol
import Messages
import Synchronization

/// Shows each dialog with the first of several back ends that suits it and works.
///
/// If a back end fails, even while its dialog is open, the next one shows the dialog within the same time limit. The
/// back end that failed is tested again before each later dialog, because a desktop can start its notification daemon
/// after the authenticator. It is left out if the test fails.
actor PromptChain: PromptBackEnd {
  /// The value of `--prompt`.
  private nonisolated let choice: String
  /// In the order in which they are tried.
  private nonisolated let all: [any PromptBackEnd]
  private nonisolated let log: @Sendable (String) -> Void
  /// Why back ends failed when they were used last, by their names.
  private nonisolated let faults = Mutex<[String: String]>([:])
  /// The one with the open dialog.
  private var current: (any PromptBackEnd)?
  /// Whether ``current`` has opened the dialog.
  private var hasOpened = false
  /// Those that can follow it.
  private var rest: ArraySlice<any PromptBackEnd> = []

  /// - Parameters:
  ///   - choice: the value of `--prompt`.
  ///   - log: gets a line when a back end fails that did not fail before, or for another reason.
  init(_ all: [any PromptBackEnd], choice: String = "auto", log: @escaping @Sendable (String) -> Void) {
    (self.all, self.choice, self.log) = (all, choice, log)
  }

  nonisolated var report: PromptReport {
    let faults = faults.withLock { $0 }
    let backEnds = all.flatMap { backEnd in
      backEnd.report.backEnds.map { PromptReport.BackEnd($0.kind, program: $0.program, fault: faults[backEnd.name]) }
    }
    return PromptReport(choice: choice, backEnds)
  }

  /// The problem of the first that can show every dialog, if all of those have one.
  nonisolated var problem: Problem? {
    let problems = all.filter { $0.suits(PromptText.unlock(for: nil, in: .english)) }.map(\.problem)
    return problems.contains(nil) ? nil : problems.first ?? nil
  }

  nonisolated func suits(_ dialog: PromptText) -> Bool { all.contains { $0.suits(dialog) } }

  nonisolated var notifications: (any PromptBackEnd)? { all.compactMap(\.notifications).first }

  /// How long the test at the start may take, when the bus and the notification daemon can be busy.
  static let firstTest = Duration.seconds(10)
  /// How long the test before a dialog may take: the dialog waits for the test.
  static let laterTest = Duration.milliseconds(500)

  func selfTest(within limit: Duration) async -> String? {
    for (backEnd, next) in zip(all, all.dropFirst().map { Optional($0) } + [nil]) {
      record(await backEnd.selfTest(within: limit), of: backEnd, before: next)
    }
    return nil
  }

  func open(_ dialog: PromptText) async throws(PromptFailure) {
    let suitable = all.filter { $0.suits(dialog) }
    let working = await working(suitable)
    rest = (working.isEmpty ? suitable : working)[...]
    try await openNext(dialog)
  }

  /// The back ends that did not fail at their last use, or that pass the test now.
  private func working(_ backEnds: [any PromptBackEnd]) async -> [any PromptBackEnd] {
    var working: [any PromptBackEnd] = []
    for backEnd in backEnds {
      let failed = faults.withLock { $0[backEnd.name] != nil }
      if failed, await backEnd.selfTest(within: Self.laterTest) != nil { continue }
      working.append(backEnd)
    }
    return working
  }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    while let current {
      do throws(PromptFailure) {
        let answer = try await current.ask(dialog)
        record(nil, of: current, before: nil)
        return answer
      } catch {
        guard case .unavailable(let words) = error, let next = rest.first else { throw error }
        hasOpened = false
        await current.close()
        record(words, of: current, before: next)
        try await openNext(dialog)
      }
    }
    throw .noAnswer(.unavailable)
  }

  var isOpen: Bool { get async { hasOpened ? await current?.isOpen ?? false : false } }

  var canBeQueued: Bool { get async { await current?.canBeQueued ?? false } }

  func close() async {
    hasOpened = false
    await current?.close()
    current = nil
  }

  func ended() async {
    for backEnd in all { await backEnd.ended() }
  }

  private func openNext(_ dialog: PromptText) async throws(PromptFailure) {
    while let backEnd = rest.popFirst() {
      current = backEnd
      do throws(PromptFailure) {
        try await backEnd.open(dialog)
        hasOpened = true
        return
      } catch {
        guard case .unavailable(let words) = error, let next = rest.first else { throw error }
        await backEnd.close()
        record(words, of: backEnd, before: next)
      }
    }
  }

  private func record(_ fault: String?, of backEnd: any PromptBackEnd, before next: (any PromptBackEnd)?) {
    let before = faults.withLock { faults in
      defer { faults[backEnd.name] = fault }
      return faults[backEnd.name]
    }
    guard let fault, fault != before else { return }
    log("\(backEnd.name) cannot show prompts: \(fault)" + (next.map { "; \($0.name) shows them instead" } ?? ""))
  }
}
