/// The one line in which both doors wait for the authenticator.
///
/// Whoever has the turn has the authenticator to himself until his request is answered: a ceremony that waits for a
/// person is not entered again. The work runs in the caller's task, so that cancelling that task withdraws its prompt.
actor RequestQueue<Authenticator: Sendable> {
  private var authenticator: Authenticator
  /// Whether a request is being served.
  private(set) var isTaken = false
  private var waiting: [Waiter] = []
  private var lastTicket: UInt64 = 0

  /// How many requests wait in line.
  var waitingCount: Int { waiting.count }

  private struct Waiter {
    let ticket: UInt64
    let turn: CheckedContinuation<Bool, Never>
  }

  /// Takes the authenticator over.
  init(_ authenticator: Authenticator) { self.authenticator = authenticator }

  /// Runs `work` when all that came before is done.
  ///
  /// - Throws: when the task is cancelled before its turn; `work` did not run then.
  func submit<Answer: Sendable>(
    _ work: @Sendable (inout Authenticator) async -> Answer
  ) async throws(CancellationError) -> Answer {
    try await takeTurn()
    defer { passTurn() }
    var authenticator = authenticator
    let answer = await work(&authenticator)
    self.authenticator = authenticator
    return answer
  }

  /// Runs `work` if nobody else is being served; `nil` instead of waiting.
  func ifFree<Answer: Sendable>(_ work: @Sendable () -> Answer) -> Answer? { isTaken ? nil : work() }

  private func takeTurn() async throws(CancellationError) {
    guard !Task.isCancelled else { throw CancellationError() }
    guard isTaken else {
      isTaken = true
      return
    }
    lastTicket += 1
    let ticket = lastTicket
    let hasTurn = await withTaskCancellationHandler {
      await withCheckedContinuation { waiting.append(Waiter(ticket: ticket, turn: $0)) }
    } onCancel: {
      Task { await self.leave(ticket) }
    }
    guard hasTurn else { throw CancellationError() }
  }

  private func leave(_ ticket: UInt64) {
    guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiting.remove(at: index).turn.resume(returning: false)
  }

  private func passTurn() {
    if waiting.isEmpty {
      isTaken = false
    } else {
      waiting.removeFirst().turn.resume(returning: true)
    }
  }
}
