import CTAP2
import Messages
import Synchronization

/// Shows each dialog with the first of several back ends that suits it and works.
///
/// One that fails, also while its dialog is open, is followed by the next within the same time limit. It is tried again
/// for the next dialog: a desktop may start its notification daemon after the authenticator.
actor PromptChain: PromptBackEnd {
  /// In the order in which they are tried.
  private nonisolated let all: [any PromptBackEnd]
  private nonisolated let log: @Sendable (String) -> Void
  /// Why back ends failed when they were used last, by their names.
  private nonisolated let faults = Mutex<[String: String]>([:])
  /// The one with the open dialog.
  private var current: (any PromptBackEnd)?
  /// Those that can follow it.
  private var rest: ArraySlice<any PromptBackEnd> = []

  /// - Parameter log: gets a line when a back end fails that did not fail before, or for another reason.
  init(_ all: [any PromptBackEnd], log: @escaping @Sendable (String) -> Void) {
    (self.all, self.log) = (all, log)
  }

  /// Those that are in use, in their order.
  nonisolated var name: String {
    let failed = faults.withLock { $0 }
    let names = all.map(\.name).filter { failed[$0] == nil }
    return "auto: " + (names.isEmpty ? all.map(\.name) : names).joined(separator: ", ")
  }

  /// The problem of the first that can show every dialog, if all of those have one.
  nonisolated var problem: String? {
    let problems = all.filter { $0.suits(PromptText.unlock(for: nil, in: .english)) }.map(\.problem)
    return problems.contains(nil) ? nil : problems.first ?? nil
  }

  nonisolated func suits(_ dialog: PromptText) -> Bool { all.contains { $0.suits(dialog) } }

  func selfTest() async -> String? {
    for (backEnd, next) in zip(all, all.dropFirst().map { Optional($0) } + [nil]) {
      record(await backEnd.selfTest(), of: backEnd, before: next)
    }
    return nil
  }

  func open(_ dialog: PromptText) async throws(PromptFailure) {
    rest = all.filter { $0.suits(dialog) }[...]
    try await openNext(dialog)
  }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    while let current {
      do throws(PromptFailure) {
        let answer = try await current.ask(dialog)
        record(nil, of: current, before: nil)
        return answer
      } catch {
        guard case .unavailable(let words) = error, let next = rest.first else { throw error }
        await current.close()
        record(words, of: current, before: next)
        try await openNext(dialog)
      }
    }
    throw .noAnswer(.declined)
  }

  func close() async {
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
        return try await backEnd.open(dialog)
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
