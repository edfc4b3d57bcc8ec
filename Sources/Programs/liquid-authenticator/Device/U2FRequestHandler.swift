import CTAP2
import CTAPHID
import EventLoop
import Recovery

/// Serves U2F hosts, which repeat a message until the user has agreed: each gets an answer at once while a dialog is
/// open.
///
/// A message waits its turn behind other requests, except the one that asks for the version.
actor U2FRequestHandler {
  /// How long a consent, or a refusal, waits for the host to ask again.
  static let timeout = Duration.seconds(10)
  /// How long a host can be silent before another host's dialog may replace its own, and how long the dialog waits for
  /// a host that has closed the device.
  static let absence = Duration.seconds(2)

  /// The outcome of one dialog.
  fileprivate enum Outcome {
    case open
    case unlocked
    /// Agreed to, under one unlocking of the vault.
    case agreed(Unlocking?)
    case refused(UserInteractionError)
  }

  /// A dialog for one message of one client, which may close the device after each answer and open it again.
  fileprivate struct Question {
    let number: Int
    let message: [UInt8]
    /// That of the message that came last.
    var context: RequestContext
    /// Whether the dialog unlocks the vault, for every message of the client; presence is for this message only.
    let isUnlocking: Bool
    let task: Task<Void, Never>
    /// The site, if its name is known.
    let rpID: String?
    /// When the dialog opened.
    let opened: Instant
    var outcome = Outcome.open
    /// When the outcome came.
    var since: Instant
    /// When the host asked last.
    var asked: Instant
    /// When the host closed the device; `nil` if it has asked since.
    var left: Instant?

    var isOpen: Bool { if case .open = outcome { true } else { false } }
  }

  private let queue: RequestQueue<Authenticator>
  private let keySource: any KeySource
  private let interaction: any UserInteraction
  private let clock: any MonotonicClock
  private let workers: any TaskExecutor
  private let report: @Sendable (CommandReport) -> Void
  private var question: Question?
  private var questions = 0

  init(
    queue: RequestQueue<Authenticator>, keySource: any KeySource, interaction: any UserInteraction,
    clock: any MonotonicClock, workers: any TaskExecutor, report: @escaping @Sendable (CommandReport) -> Void
  ) {
    self.queue = queue
    self.keySource = keySource
    self.interaction = interaction
    self.clock = clock
    self.workers = workers
    self.report = report
  }

  /// Answers a message; does not wait for the user if the host can repeat it.
  func respond(to message: [UInt8], in context: RequestContext) async -> [UInt8] {
    var isAgreed = false
    var waited = Duration.zero
    let start = clock.now
    switch outcome(of: message, context) {
    case .refused: return U2FOutcome.refused
    case .agreed(let unlocking):
      waited = question?.opened.duration(to: start) ?? .zero
      question = nil
      // A consent from before a lock does not count after it.
      isAgreed = keySource.current?.unlocking === unlocking
    case .open, .unlocked, nil: break
    }
    switch await serve(message, isAgreed, waited, context) {
    case .answer(let bytes): return bytes
    case .waitsForVault(let prompt):
      do throws(UserInteractionError) {
        _ = try await keySource.open(for: .silent(prompt), from: context.client)
      } catch {
        report(CommandReport(u2F: message, rpID: nil, error: error, elapsed: start.duration(to: clock.now)))
        return U2FOutcome.refused
      }
      guard case .answer(let bytes) = await serve(message, false, .zero, context) else { return U2FOutcome.refused }
      return bytes
    case .needsVault(let prompt):
      openDialog(message, prompt, context, isUnlocking: true) { [keySource] () async throws(UserInteractionError) in
        _ = try await keySource.open(for: .prompt(prompt), from: context.client)
        return .unlocked
      }
    case .needsPresence(let prompt):
      let unlocking = keySource.current?.unlocking
      openDialog(message, prompt, context, isUnlocking: false) { [interaction] () async throws(UserInteractionError) in
        let confirmation = try await interaction.confirm(prompt, verification: false, from: context.client)
        return confirmation.userPresent ? .agreed(unlocking) : .refused(.declined)
      }
    case nil: break
    }
    return U2FOutcome.askAgain
  }

  /// Passes a message to the authenticator in its turn; `nil` if the request was withdrawn before that.
  private func serve(
    _ message: [UInt8], _ isAgreed: Bool, _ waited: Duration, _ context: RequestContext
  ) async -> U2FOutcome? {
    if Authenticator.isVersion(u2F: message), queue.isTaken {
      var authenticator = queue.copy
      return authenticator.respond(toU2F: message, confirmation: nil, in: context)
    }
    return try? await queue.submit(isOfDevice: true) { authenticator in
      authenticator.respond(
        toU2F: message, confirmation: isAgreed ? Confirmation(userVerified: false) : nil, waited: waited, in: context)
    }
  }

  /// Whether a dialog was answered, and the host has not repeated its message yet.
  var hasAnswer: Bool { question.map { !$0.isOpen } ?? false }

  /// Withdraws the dialog of a channel, or that of any channel for `nil`.
  ///
  /// - Parameter mayReturn: whether the client has only closed the device. Some hosts do so after each answer, and open
  ///   it again to repeat their message: the dialog waits for them, and so does its outcome.
  func withdraw(_ channel: UInt64? = nil, mayReturn: Bool = false) async {
    guard let left = question, left.context.channel == channel ?? left.context.channel else { return }
    if mayReturn {
      guard left.isOpen else { return }
      let now = clock.now
      question?.left = now
      do throws(CancellationError) { try await clock.sleep(until: now.advanced(by: Self.absence)) } catch { return }
      guard let same = question, same.number == left.number, same.left == now, same.isOpen else { return }
    }
    question = nil
    left.task.cancel()
    await left.task.value
  }

  /// The outcome of the dialog for this message, if it still counts.
  private func outcome(of message: [UInt8], _ context: RequestContext) -> Outcome? {
    guard var current = question, current.serves(message, context) else { return nil }
    let now = clock.now
    guard current.isOpen || current.since.duration(to: now) <= Self.timeout else {
      question = nil
      return nil
    }
    (current.asked, current.context, current.left) = (now, context, nil)
    question = current
    return current.outcome
  }

  /// Opens a dialog for a message, unless it is open already, or another host still waits for its own.
  private func openDialog(
    _ message: [UInt8], _ prompt: UserPrompt, _ context: RequestContext, isUnlocking: Bool,
    _ body: @escaping @Sendable () async throws(UserInteractionError) -> Outcome
  ) {
    // The host may have gone while the authenticator worked; its dialogs were withdrawn then.
    guard !Task.isCancelled else { return }
    let now = clock.now
    if let current = question {
      switch current.outcome {
      case .open:
        let isPolled = current.left == nil && current.asked.duration(to: now) <= Self.absence
        if current.serves(message, context) || isPolled { return }
        current.task.cancel()
      // The outcome came while the authenticator worked; the host's next message gets it.
      case .agreed, .refused: if current.serves(message, context) { return }
      case .unlocked: break
      }
    }
    questions += 1
    let task = Task(executorPreference: workers) { [number = questions] in
      let outcome: Outcome
      do throws(UserInteractionError) { outcome = try await body() } catch { outcome = .refused(error) }
      await self.resolve(number, outcome)
    }
    question = Question(
      number: questions, message: message, context: context, isUnlocking: isUnlocking, task: task, rpID: prompt.rpID,
      opened: now, since: now, asked: now)
  }

  private func resolve(_ number: Int, _ outcome: Outcome) {
    guard let ended = question, ended.number == number else { return }
    let now = clock.now
    question?.outcome = outcome
    question?.since = now
    guard case .refused(let error) = outcome else { return }
    report(
      CommandReport(u2F: ended.message, rpID: ended.rpID, error: error, elapsed: ended.opened.duration(to: now)))
  }
}

extension U2FRequestHandler.Question {
  /// Whether it is for a message: the same one, also on a new channel, until the device is replugged.
  ///
  /// The user agrees to the signature of this message, whichever client gets it.
  fileprivate func serves(_ message: [UInt8], _ context: RequestContext) -> Bool {
    guard self.context.pluggedInAt == context.pluggedInAt else { return false }
    return self.message == message || isUnlocking && self.context.channel == context.channel
  }
}
