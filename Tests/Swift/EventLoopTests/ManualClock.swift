package import CTAPHID
import EventLoop
import Synchronization

/// A clock that a test moves by hand.
package final class ManualClock: MonotonicClock {
  private struct Sleeper {
    let until: Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var now = Instant(nanoseconds: 0)
    var sleepers: [UInt64: Sleeper] = [:]
    var lastNumber: UInt64 = 0
    var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var now: Instant { state.withLock(\.now) }
  /// The number of sleeping tasks: at 0, nothing will wake the process.
  package var sleeperCount: Int { state.withLock(\.sleepers.count) }

  package func sleep(until instant: Instant) async throws(CancellationError) {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isOver, watchers) = state.withLock { state -> (Bool?, [CheckedContinuation<Void, Never>]) in
          if Task.isCancelled { return (false, []) }
          if instant <= state.now { return (true, []) }
          state.sleepers[number] = Sleeper(until: instant, continuation: continuation)
          let count = state.sleepers.count
          let ready = state.watchers.filter { $0.count <= count }.map(\.1)
          state.watchers.removeAll { $0.count <= count }
          return (nil, ready)
        }
        watchers.forEach { $0.resume() }
        if let isOver { continuation.resume(returning: isOver) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(returning: false)
    }
    guard isOver else { throw CancellationError() }
  }

  /// Waits until `count` tasks sleep.
  package func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Waits until a task sleeps until `time`.
  package func sleeper(until time: Duration) async {
    let instant = Instant(nanoseconds: 0).advanced(by: time)
    while !state.withLock({ $0.sleepers.values.contains { $0.until == instant } }) {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  package func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      let woken = state.sleepers.filter { $1.until <= now }
      woken.keys.forEach { state.sleepers[$0] = nil }
      return woken.values.map(\.continuation)
    }
    woken.forEach { $0.resume(returning: true) }
  }
}
