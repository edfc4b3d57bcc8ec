package import CTAP2
import CTAPHID
package import ControlProtocol
package import CryptoPrimitives
package import EventLoop
package import Fingerprint
package import HelperProcess
package import Logind
package import Messages
import ProcessIO
package import ProtectorProtocol
package import Recovery
import Synchronization

/// Asks the person on behalf of the device and the control socket: the dialogs of one request at a time, with time
/// limits.
///
/// An answer must belong to the question that the person sees and to the pages before it. So the dialogs of one request
/// follow one another without those of another in between. Ceremonies are queued anyway, but U2F asks outside the
/// queue, between two messages of its host.
///
/// The dialog of a request that a browser may have sent to all keys at once names the other keys that are plugged in. A
/// person who refuses here may want to use one of those, and Chromium ends a registration or sign-in for all keys when
/// one of them answers OPERATION_DENIED. So a refusal beside another key is not answered, as when nobody touches a key
/// with a button: the request goes on until the client withdraws it or its time is over.
package actor UserPrompter: UserInteraction {
  /// How long a person has at least to answer a ceremony's prompt (CTAP §6.1.2: 30 s).
  static let presence = Duration.seconds(30)
  /// How long a person has for all dialogs of a request whose client gets keepalives.
  ///
  /// The client withdraws the request when it has waited long enough. Another request that waits ends it after
  /// ``presence``, or ``answer`` for an unlocking.
  static let requestTimeout = Duration.seconds(600)
  /// How often such a request looks whether another one waits.
  static let interval = Duration.seconds(1)
  /// How long a person has for all dialogs of a prompt for which no platform waits, such as a wallet's: ten minutes, or
  /// half a minute a page where there are more than 20.
  static func reading(pages: Int) -> Duration { max(.seconds(600), .seconds(30) * pages) }
  /// How long a dialog waits for one answer, if the time limit of the request does not say that.
  static let answer = Duration.seconds(120)
  /// How long a page that needs reading must have been open for an OK to count.
  static let shortestReading = Duration.milliseconds(500)
  /// How often one means can be tried for one request.
  static let triesPerDialog = 3

  /// Judges a typed passphrase; `isLastTry` if the dialog accepts no further one.
  package typealias Judge<Accepted: Sendable> =
    @Sendable (_ passphrase: SecretBytes, _ isLastTry: Bool) async -> PassphraseVerdict<Accepted>

  /// Waits for one finger, as ``FingerprintReader/read(_:)`` does; blocks.
  typealias ReadFingers = @Sendable (Cancellation) -> Result<FingerprintResult, FingerprintFailure>

  /// Begins a conversation with `liquid-auth-pam`; blocks.
  package typealias Converse = @Sendable (AccountRequest) -> Result<AccountConversation, ProtectorFailure>

  /// Shows the dialogs.
  nonisolated let backEnd: any PromptBackEnd
  let verifier: PassphraseVerifier?
  let readFingers: ReadFingers?
  let freeReader: (@Sendable () -> Bool)?
  let screen: (any LockableScreen)?
  package nonisolated let converse: Converse?
  private let otherKeys: @Sendable () -> [String]
  private let programs: @Sendable (Door) -> Door.Programs
  /// The user's language.
  package nonisolated let catalogue: Catalogue
  let clock: any MonotonicClock
  package nonisolated let executor: any TaskExecutor
  let log: @Sendable (String) -> Void
  nonisolated let turns = RequestQueue(())
  private nonisolated let observer = Mutex<(@Sendable () -> Void)?>(nil)
  /// What is wrong with the dialogs so far.
  var faults = DialogFaults()
  /// Ends the wait for a dialog that the user closed, when the user asks for it again; `nil` if none was closed.
  var recalls: AsyncStream<Recall>.Continuation?

  /// - Parameters:
  ///   - verifier: checks the passphrase of the open vault; `nil` without user verification.
  ///   - readFingers: reads fingers for the prompts that accept one; `nil` without the system bus.
  ///   - freeReader: as ``FingerprintReader/free()``.
  ///   - screen: the screen that shows the dialogs; `nil` without the system bus.
  ///   - converse: reaches PAM for the prompts that accept it; `nil` if nothing can.
  ///   - otherKeys: returns the names of the other keys that are plugged in now.
  ///   - programs: returns the programs that may have sent a request; can block.
  ///   - catalogue: the user's language.
  ///   - log: gets a line if a dialog could not be shown.
  init(
    _ backEnd: any PromptBackEnd, verifier: PassphraseVerifier?, readFingers: ReadFingers? = nil,
    freeReader: (@Sendable () -> Bool)? = nil, screen: (any LockableScreen)? = nil, converse: Converse? = nil,
    otherKeys: @escaping @Sendable () -> [String],
    programs: @escaping @Sendable (Door) -> Door.Programs, catalogue: Catalogue, clock: any MonotonicClock,
    executor: any TaskExecutor, log: @escaping @Sendable (String) -> Void
  ) {
    self.backEnd = backEnd
    self.verifier = verifier
    self.readFingers = readFingers
    self.freeReader = freeReader
    self.screen = screen
    self.converse = converse
    self.otherKeys = otherKeys
    self.programs = programs
    self.catalogue = catalogue
    self.clock = clock
    self.executor = executor
    self.log = log
  }

  /// Prompts with the back end of the user's choice.
  ///
  /// - Parameters:
  ///   - choice: the value of `--prompt`.
  ///   - helper: starts the programs that show dialogs, reaches PAM, and finds the programs that may have sent a request.
  ///   - hasAskpass: whether `--askpass` names a program, which takes the place of the pinentry.
  ///   - terminal: the authenticator's own terminal; `nil` if it has none.
  ///   - verifier: checks the passphrase of the open vault; `nil` without user verification.
  ///   - fingerprints: reads fingers for the prompts that accept one; `nil` without the system bus.
  ///   - screen: the screen that shows the dialogs; `nil` without the system bus.
  ///   - otherKeys: returns the names of the other keys that are plugged in now.
  ///   - catalogue: the user's language.
  ///   - notice: gets a line if another back end must show a dialog than the first that suits it.
  ///   - log: gets a line if a dialog could not be shown.
  package init(
    _ choice: PromptChoice, by helper: HelperProcess, hasAskpass: Bool, terminal: String?,
    verifier: PassphraseVerifier?, fingerprints: FingerprintReader?, screen: ScreenLock?,
    otherKeys: @escaping @Sendable () -> [String], catalogue: Catalogue, clock: any MonotonicClock,
    executor: any TaskExecutor, notice: @escaping @Sendable (String) -> Void,
    log: @escaping @Sendable (String) -> Void
  ) {
    let backEnd = choice.backEnd(
      helper, hasAskpass: hasAskpass, terminal: terminal, executor: executor, log: notice)
    self.init(
      backEnd, verifier: verifier, readFingers: fingerprints?.read, freeReader: fingerprints?.free, screen: screen,
      converse: helper.converse, otherKeys: otherKeys, programs: helper.programs, catalogue: catalogue, clock: clock,
      executor: executor, log: log)
  }

  // MARK: Status

  /// What `liquid-auth status` says about the back ends.
  package nonisolated var report: PromptReport { backEnd.report }

  /// Tests the back ends at the start, so that the status names those that work.
  package nonisolated func testBackEnds() async { _ = await backEnd.selfTest(within: PromptChain.firstTest) }

  /// Waits until the programs and windows of closed dialogs have ended.
  package nonisolated func ended() async { await backEnd.ended() }

  /// Whether a prompt is open now.
  package nonisolated var isAsking: Bool { turns.isTaken }

  /// Calls `observer` when the prompt of a request opens; it must not wait.
  package nonisolated func observe(_ observer: @escaping @Sendable () -> Void) {
    self.observer.withLock { $0 = observer }
  }

  /// Why dialogs cannot be shown, or why the last one failed.
  package var problem: Problem? { faults.problem(of: backEnd) }

  /// Whether the last pages were answered, agreed to or refused, faster than a person can read them.
  package var answersByItself: Bool { faults.answersByItself }

  /// Why a means could not verify the last time that it was tried, for each of these.
  package func problems(of means: [VerificationMeans]) -> [Problem] { means.compactMap { faults.ofMeans[$0] } }

  /// Notes and logs that a means could not verify.
  ///
  /// - Parameters:
  ///   - words: what is wrong, then what to do: lower case, no full stop.
  ///   - remedy: the words of the command that repairs it.
  func failed(_ means: VerificationMeans, _ words: String, remedy: [String]? = nil) {
    let problem = Problem("\(means.subject) cannot verify: \(words)", remedy: remedy.map { Remedy($0) })
    faults.ofMeans[means] = problem
    log(problem.text)
  }

  /// Notes that a means works.
  package func works(_ means: VerificationMeans) { faults.ofMeans[means] = nil }

  // MARK: Asking

  package nonisolated var canVerify: Bool { verifier != nil }
  package nonisolated var verificationTriesLeft: Int { verifier?.triesLeft ?? PassphraseVerifier.triesPerUnlocking }
  /// How many wrong tries of fingers and PAM together are still allowed before only the passphrase verifies.
  nonisolated var triesOfMeans: Int { verifier?.triesOfMeans ?? 0 }

  package func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    // A caller that asks for verification has read `canVerify`.
    guard verifier != nil || !verification else { throw .unavailable }
    let request = PromptRequest(client as? RequestOrigin)
    let others = keys(beside: request.origin, ifConcerned: prompt.mayConcernAnotherKey)
    var pages = PromptPages(prompt, askedThrough: await doorLines(of: request), beside: others, in: catalogue)
    pages.last.takesPassphrase = verification
    if verification { pages.last.means = prompt.means }
    let limit = prompt.hasTimeToRead ? Self.reading(pages: pages.all.count) : request.timeout ?? Self.presence
    let verified: HistoryEntry.Verification? = try await ask(
      pages.all, of: request, within: limit, atLeast: Self.presence, by: \.verification
    ) { [verifier] passphrase, _ in
      switch await verifier?.verify(passphrase) {
      case .right: .accepted(.passphrase)
      case .wrong(let triesLeft): .wrong(triesLeft: triesLeft, then: .verificationFailed)
      case .blocked: .ended(.verificationBlocked)
      case .locked, nil: .ended(.unavailable)
      }
    }
    return Confirmation(verification: verified ?? .none)
  }

  /// Refuses without a dialog; beside another key after 30 seconds, as when nobody touches a key with a button.
  package func refuse(_ prompt: UserPrompt, from client: (any RequestClient)?) async -> UserInteractionError {
    let origin = client as? RequestOrigin
    guard !keys(beside: origin, ifConcerned: prompt.mayConcernAnotherKey).isEmpty else { return .declined }
    await origin?.status?.report(.upNeeded)
    do throws(CancellationError) {
      try await clock.sleep(until: clock.now.advanced(by: Self.presence))
    } catch {
      return .cancelled
    }
    return .timedOut
  }

  /// Asks for a passphrase until `judge` accepts one or ends the dialog.
  ///
  /// The same dialog says that a passphrase was wrong, and asks again.
  package func passphrase<Accepted: Sendable>(
    _ dialog: PromptText, _ judge: @escaping Judge<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    let request = dialog.request ?? PromptRequest(nil)
    let others = keys(beside: request.origin, ifConcerned: dialog.mayConcernAnotherKey)
    let pages = PromptPages(dialog, askedThrough: await doorLines(of: request), beside: others)
    guard
      let accepted = try await ask(
        pages.all, of: request, within: request.timeout, atLeast: Self.answer, by: nil, judge)
    else { throw .unavailable }
    return accepted
  }

  /// Shows a dialog without a field until the user presses its button; a refusal is an error.
  package func agreement(to dialog: PromptText) async throws(UserInteractionError) {
    let request = dialog.request ?? PromptRequest(nil)
    let others = keys(beside: request.origin, ifConcerned: dialog.mayConcernAnotherKey)
    let pages = PromptPages(dialog, takesPassphrase: false, askedThrough: await doorLines(of: request), beside: others)
    let _: Never? = try await ask(
      pages.all, of: request, within: request.timeout, atLeast: Self.answer, by: nil
    ) { _, _ in .ended(.declined) }
  }

  /// The names of the other keys that may serve the request too: only a request of the device can go to several keys.
  private func keys(beside origin: RequestOrigin?, ifConcerned isConcerned: Bool) -> [String] {
    switch origin?.door {
    case .device, nil: isConcerned ? otherKeys() : []
    case .controlSocket, .anotherComputer: []
    }
  }

  /// The lines that say where the request came in; none if no request caused the prompt.
  private func doorLines(of request: PromptRequest) async -> [String] {
    guard let door = request.origin?.door else { return [] }
    return door.lines(await OwnThread.run { [programs] in programs(door) }, in: catalogue)
  }

  /// Shows the dialogs of one request; meanwhile keepalives report upNeeded to the client.
  ///
  /// - Parameters:
  ///   - least: how long the request is not ended by another one that waits.
  ///   - means: the result after a means has verified.
  /// - Returns: what the judge returned for the passphrase, or the result of a means; `nil` if the user pressed a button.
  private func ask<Accepted: Sendable>(
    _ pages: [PromptText], of request: PromptRequest, within limit: Duration?, atLeast least: Duration,
    by means: (@Sendable (VerificationMeans) -> Accepted)?, _ judge: @escaping Judge<Accepted>
  ) async throws(UserInteractionError) -> Accepted? {
    let deadline = limit.map { clock.now.advanced(by: $0) }
    let pages = pages.map { page in
      var page = page
      page.request = request
      return page
    }
    await request.origin?.status?.report(.upNeeded)
    let outcome = await limited(until: deadline, of: request, yieldingAfter: least) {
      await self.inTurn(pages, until: deadline, means, judge)
    }
    await request.origin?.status?.report(.processing)
    return try outcome.get()
  }

  // MARK: One request at a time

  private enum Turn<Accepted: Sendable>: Sendable {
    case over(Result<Accepted?, UserInteractionError>)
    /// The person refused, and may want to use another key.
    case leftToOthers
  }

  /// Shows a request's dialogs after those before it are closed; a request that is cancelled while it waits shows none.
  private func inTurn<Accepted: Sendable>(
    _ pages: [PromptText], until deadline: Instant?, _ means: (@Sendable (VerificationMeans) -> Accepted)?,
    _ judge: @escaping Judge<Accepted>
  ) async -> Result<Accepted?, UserInteractionError> {
    do throws(CancellationError) {
      switch try await turns.submit({ _ in await self.showAll(pages, until: deadline, means, judge) }) {
      case .over(let outcome): return outcome
      case .leftToOthers:
        // The next request has the turn already: its dialogs do not wait for this time-out.
        try await clock.sleep(until: clock.now.advanced(by: Self.presence))
        return .failure(.timedOut)
      }
    } catch {
      return .failure(.cancelled)
    }
  }

  private func showAll<Accepted: Sendable>(
    _ pages: [PromptText], until deadline: Instant?, _ means: (@Sendable (VerificationMeans) -> Accepted)?,
    _ judge: Judge<Accepted>
  ) async -> Turn<Accepted> {
    observer.withLock { $0 }?()
    faults.begin()
    var others: [String] = []
    do throws(UserInteractionError) {
      var accepted: Accepted?
      for page in pages {
        others = keys(beside: page.request?.origin, ifConcerned: page.mayConcernAnotherKey)
        accepted = try await show(page, until: deadline, means, judge)
      }
      faults.end(with: nil)
      return .over(.success(accepted))
    } catch {
      faults.end(with: error)
      let isRefused = [.declined, .unavailable, .wrongPassphrase].contains(error)
      return isRefused && !others.isEmpty ? .leftToOthers : .over(.failure(error))
    }
  }
}
