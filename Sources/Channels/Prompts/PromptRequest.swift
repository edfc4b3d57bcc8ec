import CTAP2
import CTAPHID
import DisplayText
import EventLoop
import HelperProcess
import Messages
import Synchronization

/// The request to which the dialogs of a prompt belong.
final class PromptRequest: Sendable, Equatable {
  /// Where it came in; `nil` for a prompt that no request caused.
  let origin: RequestOrigin?
  /// Called for each dialog with a field that the back end has prepared, and now shows; `nil` if nothing waits for it.
  ///
  /// If the desktop can hide the dialog, the person first presses a button in a dialog with the same page.
  let shown: (@Sendable () -> Void)?
  private let hasEnded = Mutex(false)

  init(_ origin: RequestOrigin?, shown: (@Sendable () -> Void)? = nil) {
    self.origin = origin
    self.shown = shown
  }

  /// The time limit of the request, if its client gets keepalives.
  var timeout: Duration? { origin?.status == nil ? nil : UserPrompter.requestTimeout }

  /// Whether the time of the request or of its dialog is over, for a back end whose task is cancelled.
  var isOver: Bool { hasEnded.withLock { $0 } }
  func end() { hasEnded.withLock { $0 = true } }

  static func == (a: PromptRequest, b: PromptRequest) -> Bool { a === b }
}

extension UserPrompter {
  /// Waits until half a second has passed since a page was opened, so that a program that answers at once causes no
  /// busy loop.
  func pause(since opened: Instant) async throws(UserInteractionError) {
    do throws(CancellationError) {
      try await clock.sleep(until: opened.advanced(by: Self.shortestReading))
    } catch {
      throw .cancelled
    }
  }

  /// Runs `body` and cancels it at the deadline; a cancellation by the deadline becomes `timedOut`.
  ///
  /// - Parameters:
  ///   - request: the request of the dialog; `end()` is called when its time is over.
  ///   - least: after this time, a request whose client gets keepalives also ends if another one waits.
  nonisolated func limited<Answer: Sendable>(
    until deadline: Instant?, of request: PromptRequest?, yieldingAfter least: Duration? = nil,
    _ body: @escaping @Sendable () async -> Result<Answer, UserInteractionError>
  ) async -> Result<Answer, UserInteractionError> {
    guard let deadline else { return await body() }
    guard clock.now < deadline else { return .failure(.timedOut) }
    let asking = Task(executorPreference: executor) { await body() }
    let watch = Task(executorPreference: executor) { [clock] in
      do throws(CancellationError) {
        if let least, let status = request?.origin?.status {
          try await self.wait(atLeast: least, forOthersThan: status, until: deadline)
        } else {
          try await clock.sleep(until: deadline)
        }
      } catch {
        return false
      }
      request?.end()
      asking.cancel()
      return true
    }
    let outcome = await withTaskCancellationHandler {
      await asking.value
    } onCancel: {
      asking.cancel()
    }
    watch.cancel()
    let isOver = await watch.value
    if case .failure(.cancelled) = outcome, isOver, !Task.isCancelled { return .failure(.timedOut) }
    return outcome
  }

  /// Sleeps until another request waits for this one, but for `least` at least, and until the deadline at most.
  private nonisolated func wait(
    atLeast least: Duration, forOthersThan status: RequestStatus, until deadline: Instant
  ) async throws(CancellationError) {
    try await clock.sleep(until: min(deadline, clock.now.advanced(by: least)))
    while clock.now < deadline {
      if await status.isAwaited() { return }
      try await clock.sleep(until: min(deadline, clock.now.advanced(by: Self.interval)))
    }
  }
}

extension Door {
  /// The lines of a dialog about the door, if it is not the device, and about the programs, if there are any.
  ///
  /// The programs are only a hint: a program can change its name, several can have the device open, and the number of a
  /// process that has ended can belong to another one.
  func lines(_ programs: Programs, in catalogue: Catalogue) -> [String] {
    let door =
      switch self {
      case .device: [Message]()
      case .controlSocket: [Message("Requested by: a program on this machine, not through the security key")]
      case .anotherComputer:
        [
          Message("Requested by: a browser on another computer, whose QR code you gave"),
          Message("Refuse if you do not see the screen of that computer."),
        ]
      }
    guard !programs.named.isEmpty else { return WalletText.wrapped(door, in: catalogue) }
    let names = programs.named.map { Message("\(DisplayText.name($0.name)) (process \($0.process))") }
    let (named, others) = (names.joined(by: ", "), programs.others)
    let all =
      others == 0
      ? named : Message("\(named) and \(others) other", plural: "\(named) and \(others) others", count: others)
    return WalletText.wrapped(door + [Message("Perhaps sent by: \(all)")], in: catalogue)
  }
}
