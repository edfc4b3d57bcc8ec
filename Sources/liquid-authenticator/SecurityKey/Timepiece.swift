import CTAPHID
import Glibc
import Synchronization

/// The clock of the shell, on which the machine's deadlines stand.
protocol Timepiece: Sendable {
  /// The time since a start of its own; it never goes back.
  var now: Instant { get }
  /// Sleeps until the instant has come; throws when the task is cancelled.
  func sleep(until instant: Instant) async throws(CancellationError)
}

/// The system's clock, and one thread that sleeps until the next sleeper's time.
final class SystemTimepiece: Timepiece, Polled {
  private struct Sleepers {
    var waiting: [UInt64: (until: Instant, continuation: CheckedContinuation<Bool, Never>)] = [:]
    var lastNumber: UInt64 = 0
    var thread: PollThread?

    var next: Instant? { waiting.values.lazy.map(\.until).min() }
  }

  private let sleepers = Mutex(Sleepers())

  /// Starts the thread, which lives as long as the process.
  init() throws(TransportError) {
    // Under the lock: the thread serves nobody before it can be woken.
    try sleepers.withLock { sleepers throws(TransportError) in sleepers.thread = try PollThread(self) }
  }

  var now: Instant {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Instant(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
  }

  func sleep(until instant: Instant) async throws(CancellationError) {
    let number = sleepers.withLock { sleepers in
      sleepers.lastNumber += 1
      return sleepers.lastNumber
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { add($0, number, until: instant) }
    } onCancel: {
      sleepers.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume(returning: false)
    }
    guard isOver else { throw CancellationError() }
  }

  private func add(_ continuation: CheckedContinuation<Bool, Never>, _ number: UInt64, until instant: Instant) {
    let (isAdded, thread) = sleepers.withLock { sleepers -> (Bool, PollThread?) in
      // A cancellation that comes later finds the sleeper; one that came before would not.
      guard !Task.isCancelled else { return (false, nil) }
      let isNext = sleepers.next.map { instant < $0 } ?? true
      sleepers.waiting[number] = (instant, continuation)
      return (true, isNext ? sleepers.thread : nil)
    }
    if !isAdded { continuation.resume(returning: false) }
    thread?.wake()
  }

  // MARK: The thread

  func interests() -> (descriptors: [pollfd], timeout: Int32) {
    ([], sleepers.withLock(\.next).map { $0.pollTimeout(from: now) } ?? -1)
  }

  func ready(_ descriptors: [pollfd]) {
    let now = now
    let due = sleepers.withLock { sleepers in
      let due = sleepers.waiting.filter { $1.until <= now }
      due.keys.forEach { sleepers.waiting[$0] = nil }
      return due.values.map(\.continuation)
    }
    due.forEach { $0.resume(returning: true) }
  }
}
