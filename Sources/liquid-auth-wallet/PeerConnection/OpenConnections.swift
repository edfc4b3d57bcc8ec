import Synchronization

/// How many connections are not freed yet, so that a program that ends can wait for the last.
final class OpenConnections: Sendable {
  private struct State {
    var count = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// One is made.
  func begin() { state.withLock { $0.count += 1 } }

  /// One is freed.
  func end() {
    let waiting = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    waiting.forEach { $0.resume() }
  }

  /// Returns when none is left.
  func drained() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        if state.count > 0 { state.waiting.append(continuation) }
        return state.count == 0
      }
      if isEmpty { continuation.resume() }
    }
  }
}
