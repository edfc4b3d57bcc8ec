import CTAP2
import CTAPHID
import CryptoPrimitives
import Synchronization

/// Dialogs in a program of the person's desktop: any pinentry, over the Assuan protocol.
///
/// A pinentry that is missing, dies, hangs or talks nonsense denies, and the log says what happened and what to do.
struct Pinentry: DialogBackEnd {
  /// How long is waited, in whole seconds.
  struct Limits: Sendable {
    /// For everything that needs no person, together.
    var setUp: Duration = .seconds(10)
    /// For the person, each time; whoever asked may have given up long before.
    var answer: Duration = .seconds(120)
    /// For a program that has answered, to close its window; then it is told to end.
    var closing: Duration = .milliseconds(500)
    /// For a program that was told to end; then it is killed.
    var ending: Duration = .milliseconds(60)
  }

  /// A path, or a name that is looked up in PATH.
  let program: String
  /// The options (`name=value`) that tell it where to show its dialog.
  let options: [String]
  /// What to wait for, how long.
  let limits: Limits
  /// Says how long a page has been open.
  let timepiece: any Timepiece
  /// Where the end of a program is waited for, when its answer is there.
  let executor: any TaskExecutor
  /// The end of the program before, which may still be closing its window.
  private let closing = Closing()
  /// Takes a line when a dialog failed.
  let log: @Sendable (String) -> Void

  /// - Parameters:
  ///   - environment: looks up a variable; the program itself inherits all of them.
  ///   - terminal: the daemon's own terminal, when it has one.
  init(
    program: String, environment: (String) -> String?, terminal: String?, limits: Limits = Limits(),
    timepiece: any Timepiece, executor: any TaskExecutor = globalConcurrentExecutor,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.program = program
    self.executor = executor
    self.limits = limits
    self.timepiece = timepiece
    self.log = log
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty }
    let values = [
      ("ttyname", environment("GPG_TTY") ?? terminal), ("ttytype", environment("TERM")), ("lc-ctype", locale),
      ("display", environment("DISPLAY")),
    ]
    options = values.compactMap { name, value in value.flatMap { $0.isEmpty ? nil : "\(name)=\($0)" } }
  }

  func confirm(_ text: PromptText) async throws(UserInteractionError) {
    try await withSession(text) { session throws(PinentrySession.Stop) in
      try await text.untilRead(timepiece, cancelled: .interaction(.cancelled)) { () throws(PinentrySession.Stop) in
        try await step { cancellation throws(PinentrySession.Stop) in
          try session.confirm(limit: limits.answer, cancellation)
        }
      }
    }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    try await withSession(text) { session throws(PinentrySession.Stop) in
      var error: String?
      while true {
        switch await check(try await typed(error: error, in: session)) {
        case .accepted(let accepted): return accepted
        case .wrong(let words): error = words
        case .ended(let reason): throw .interaction(reason)
        }
      }
    }
  }

  /// What the person types.
  ///
  /// An empty field is no try, for a key that is held down leaves one: it is asked for again, and the time for the answer
  /// goes on.
  private func typed(error: String?, in session: PinentrySession) async throws(PinentrySession.Stop) -> SecretBytes {
    let first = timepiece.now
    var error = error
    while true {
      let opened = timepiece.now
      let left = limits.answer - first.duration(to: opened)
      guard left > .zero else { throw .interaction(.timedOut) }
      let passphrase = try await step { [error] cancellation throws(PinentrySession.Stop) in
        try session.passphrase(error: error, limit: left, cancellation)
      }
      guard passphrase.count == 0 else { return passphrase }
      error = PromptText.nothingTyped
      try await PromptText.pause(since: opened, timepiece, cancelled: PinentrySession.Stop.interaction(.cancelled))
    }
  }

  /// Starts the program, when the one before has ended, and tells it the words.
  ///
  /// A program that failed has ended when this returns; one that answered ends meanwhile.
  private func withSession<Answer: Sendable>(
    _ text: PromptText, _ body: (PinentrySession) async throws(PinentrySession.Stop) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    await closing.wait()
    guard !Task.isCancelled else { throw .cancelled }
    let session: PinentrySession
    do {
      session = try await step { _ throws(PinentrySession.Stop) in try PinentrySession(starting: program) }
    } catch {
      throw outcome(of: error, ending: nil)
    }
    let answer: Answer
    do {
      try await step { cancellation throws(PinentrySession.Stop) in
        try session.prepare(text, options: options, limits: limits, cancellation)
      }
      answer = try await body(session)
    } catch {
      throw outcome(of: error, ending: await end(session, closesItself: error.endsByItself))
    }
    closing.begin(Task(executorPreference: executor) { _ = await end(session, closesItself: true) })
    return answer
  }

  private func end(_ session: PinentrySession, closesItself: Bool) async -> ChildProcess.Ending? {
    await OwnThread.run { [limits] in
      session.end(grace: closesItself ? limits.closing : .zero, thenKilledAfter: limits.ending)
    }
  }

  private func step<Answer: Sendable>(
    _ body: @escaping @Sendable (Cancellation) throws(PinentrySession.Stop) -> Answer
  ) async throws(PinentrySession.Stop) -> Answer {
    try await OwnThread.run(cancellable: { cancellation in
      Result { () throws(PinentrySession.Stop) in try body(cancellation) }
    }).get()
  }

  private func outcome(of stop: PinentrySession.Stop, ending: ChildProcess.Ending?) -> UserInteractionError {
    switch stop {
    case .interaction(let error): return error
    case .failure(let failure):
      log(failure.description(of: program, ending: ending))
      return .declined
    }
  }
}

extension PinentrySession.Stop {
  /// Whether the pinentry is about to end without being told.
  fileprivate var endsByItself: Bool {
    switch self {
    case .interaction(.declined), .failure(.ended), .failure(.refused): true
    default: false
    }
  }
}

/// The end of a program that has answered.
private final class Closing: Sendable {
  private let task = Mutex<Task<Void, Never>?>(nil)

  func begin(_ task: Task<Void, Never>) { self.task.withLock { $0 = task } }

  func wait() async { await task.withLock { $0.take() }?.value }
}
