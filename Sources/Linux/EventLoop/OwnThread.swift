import Glibc
package import ProcessIO
import Synchronization

/// Runs work that blocks on a thread of its own, so that the pool on which tasks run stays free for keepalives.
///
/// The thread exists only while the work does. It blocks all signals: the daemon's own are left to its other threads, a
/// write to a pipe without a reader is an error, and a read from the terminal in the background is EIO and does not
/// stop the process.
package enum OwnThread {
  /// Why ``run(cancellable:)`` did not start the work, for a log.
  package static let nothingLeft =
    "the system has no threads or descriptors left; stop other programs, or raise the limits"

  /// Waits until the work has ended, even if the task is cancelled.
  package static func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      startOrDoHere { continuation.resume(returning: work()) }
    }
  }

  /// Runs work that may take minutes, and that ends when the descriptor of its ``Cancellation`` becomes readable.
  ///
  /// - Returns: `nil`, without starting the work, if the system has no thread or descriptor left: on the caller's
  ///   thread the work would block the task that cancels it.
  package static func run<Result: Sendable>(
    cancellable work: @escaping @Sendable (Cancellation) -> Result
  ) async -> Result? {
    let cancellation = Cancellation()
    guard cancellation.descriptor >= 0 else { return nil }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result?, Never>) in
        if !start({ continuation.resume(returning: work(cancellation)) }) { continuation.resume(returning: nil) }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Runs work that cannot be stopped and has no effect but its result: `nil` as soon as the task is cancelled.
  package static func runUnlessCancelled<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
    let answer = FirstAnswer<Result>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        answer.expect(by: continuation)
        startOrDoHere { answer.give(work()) }
      }
    } onCancel: {
      answer.give(nil)
    }
  }

  /// Runs the work on this thread if no other can be started: slower for others, and still right.
  private static func startOrDoHere(_ body: @escaping @Sendable () -> Void) {
    if !start(body) { body() }
  }

  /// - Returns: whether a thread was started.
  private static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, runOwnThread, work.toOpaque()) == 0 else {
      work.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runOwnThread(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  var signals = sigset_t()
  sigfillset(&signals)
  pthread_sigmask(SIG_SETMASK, &signals, nil)
  if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
  return nil
}

/// Resumes a continuation with whichever answer comes first; `nil` is the answer of a cancellation.
private final class FirstAnswer<Result: Sendable>: Sendable {
  private enum State {
    case empty
    case awaited(CheckedContinuation<Result?, Never>)
    case given
  }

  private let state = Mutex<State>(.empty)

  func expect(by continuation: CheckedContinuation<Result?, Never>) {
    let late = state.withLock { state in
      guard case .empty = state else { return true }
      state = .awaited(continuation)
      return false
    }
    if late { continuation.resume(returning: nil) }
  }

  func give(_ answer: Result?) {
    let continuation = state.withLock { state -> CheckedContinuation<Result?, Never>? in
      defer { state = .given }
      if case .awaited(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: answer)
  }
}
