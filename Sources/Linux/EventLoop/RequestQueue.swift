import CTAPHID
package import Synchronization

/// The queue in which requests of the device and of the control socket wait for the authenticator.
///
/// One request at a time has exclusive access to the authenticator, until it is answered: also a ceremony that waits
/// for a person. The work runs in the caller's task, so that cancelling that task withdraws its prompt.
///
/// Requests of the device go before those of the control socket that wait: a browser gives up after some seconds, and a
/// program of the user could fill the queue.
package final class RequestQueue<Authenticator: Sendable>: Sendable {
  @usableFromInline let line = RequestLine()
  @usableFromInline let authenticator: Mutex<Authenticator>

  package init(_ authenticator: Authenticator) { self.authenticator = Mutex(authenticator) }

  /// Whether a request is being served.
  package var isTaken: Bool { line.isTaken }
  /// How many requests got their turn without waiting.
  package var turns: UInt64 { line.turns }
  /// A copy of the authenticator as the last request left it; changes to the copy are lost.
  package var copy: Authenticator { authenticator.withLock { $0 } }
  /// How many requests wait in line.
  package var waitingCount: Int { line.waitingCount }

  /// Runs `work` after all earlier requests.
  ///
  /// It can be inlined: each request uses it, and code that fits any type of authenticator is slower.
  ///
  /// - Parameter isOfDevice: whether it goes before the requests that wait and are not of the device.
  /// - Throws: if the task is cancelled before its turn; `work` has not run then.
  @inlinable
  package func submit<Answer: Sendable>(
    isOfDevice: Bool = false, _ work: @Sendable (inout Authenticator) async -> Answer
  ) async throws(CancellationError) -> Answer {
    try await line.takeTurn(isOfDevice: isOfDevice)
    defer { line.passTurn() }
    var changed = authenticator.withLock { $0 }
    let answer = await work(&changed)
    authenticator.withLock { swap(&$0, &changed) }
    return answer
  }

  /// Waits until no request was served for `time`: a ceremony consists of several requests, with pauses between them.
  ///
  /// A program that sends requests all the time cannot make it wait for ever: after `limit` it waits only for the
  /// requests that are in the queue then.
  package func quiet(for time: Duration, limit: Duration, clock: any MonotonicClock) async {
    let end = clock.now.advanced(by: limit)
    var turns: UInt64?
    while turns != self.turns || isTaken {
      guard clock.now < end else {
        _ = try? await submit { _ in }
        return
      }
      turns = self.turns
      try? await clock.sleep(until: clock.now.advanced(by: time))
    }
  }
}

/// Who has the turn in a queue of requests, and who waits for it.
@usableFromInline
final class RequestLine: Sendable {
  private struct State {
    var isTaken = false
    var turns: UInt64 = 0
    /// Those of the device first, each kind in its order.
    var waiting: [(ticket: UInt64, isOfDevice: Bool, turn: CheckedContinuation<Bool, Never>)] = []
    var lastTicket: UInt64 = 0

    /// Takes the turn of a request if it is free.
    mutating func takeTurn() -> Bool {
      guard !isTaken else { return false }
      isTaken = true
      turns += 1
      return true
    }
  }

  private let state = Mutex(State())

  var isTaken: Bool { state.withLock { $0.isTaken } }
  var turns: UInt64 { state.withLock { $0.turns } }
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Waits for the turn; throws if the task is cancelled before.
  @usableFromInline
  func takeTurn(isOfDevice: Bool) async throws(CancellationError) {
    guard !Task.isCancelled else { throw CancellationError() }
    if state.withLock({ $0.takeTurn() }) { return }
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    let hasTurn = await withTaskCancellationHandler {
      await withCheckedContinuation { wait($0, ticket, isOfDevice) }
    } onCancel: {
      leave(ticket)
    }
    guard hasTurn else { throw CancellationError() }
  }

  private func wait(_ turn: CheckedContinuation<Bool, Never>, _ ticket: UInt64, _ isOfDevice: Bool) {
    let hasTurn = state.withLock { state -> Bool? in
      // A cancellation that comes later finds the ticket; one that came before would not.
      if Task.isCancelled { return false }
      if state.takeTurn() { return true }
      let place = isOfDevice ? state.waiting.firstIndex { !$0.isOfDevice } : nil
      state.waiting.insert((ticket, isOfDevice, turn), at: place ?? state.waiting.endIndex)
      return nil
    }
    if let hasTurn { turn.resume(returning: hasTurn) }
  }

  private func leave(_ ticket: UInt64) {
    let turn = state.withLock { state in
      state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0).turn }
    }
    turn?.resume(returning: false)
  }

  /// Gives the turn to the next that waits.
  @usableFromInline
  func passTurn() {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      state.isTaken = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst().turn
    }
    next?.resume(returning: true)
  }
}
