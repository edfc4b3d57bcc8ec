package import CTAP2
import CTAPHID
import CryptoPrimitives
import EventLoop
import Messages
import Recovery

/// A dialog with one page, from its opening to the answer that counts.
///
/// An answer does not count if it comes too soon for a person who reads, is an empty entry, or is a wrong one with tries
/// left: the dialog stays, and says why.
extension UserPrompter {
  /// How a means of verification ended, if the user did not refuse.
  enum MeansOutcome: Sendable, Equatable {
    /// It verified the user, who saw the page.
    case verified
    /// The next means verifies instead: the user chose it, this one failed, or its tries are used up.
    case next(remark: Message?)
  }

  /// Shows a page for each of its means in turn, and finally for the passphrase or a button.
  func show<Accepted: Sendable>(
    _ page: PromptText, until deadline: Instant?, _ yield: (@Sendable (VerificationMeans) -> Accepted)?,
    _ judge: Judge<Accepted>
  ) async throws(UserInteractionError) -> Accepted? {
    var page = page
    while let yield {
      // Not sooner: another request can have used tries up since.
      page.means = page.means.filter(canVerify)
      guard !page.means.isEmpty else { break }
      let means = page.means.removeFirst()
      switch try await verify(by: means, page) {
      case .verified:
        verifier?.count(means, isRight: true)
        works(means)
        return yield(means)
      case .next(let remark):
        page.remark = remark.map(catalogue.text)
      }
    }
    return try await show(page, until: deadline, judge)
  }

  /// Whether the daemon has what a means needs, and tries are left.
  private func canVerify(by means: VerificationMeans) -> Bool {
    guard triesOfMeans > 0 else { return false }
    return switch means {
    case .fingerprint: readFingers != nil
    case .pam: converse != nil
    }
  }

  private func verify(
    by means: VerificationMeans, _ page: PromptText
  ) async throws(UserInteractionError) -> MeansOutcome {
    switch means {
    case .fingerprint: try await readFinger(for: page)
    case .pam: try await askAccount(for: page)
    }
  }

  private func show<Accepted: Sendable>(
    _ page: PromptText, until deadline: Instant?, _ judge: Judge<Accepted>
  ) async throws(UserInteractionError) -> Accepted? {
    try await open(page)
    if page.takesPassphrase, page.request?.shown != nil, await backEnd.canBeQueued {
      // The desktop can hide it behind prompts of other programs: what waits beside it counts after a button.
      await backEnd.close()
      var first = page
      (first.takesPassphrase, first.agree) = (false, catalogue.text(Message("Next")))
      try await agreeByButton(to: first)
      try await open(page)
    }
    do throws(UserInteractionError) {
      let accepted = try await answer(to: page, until: deadline, judge)
      await backEnd.close()
      return accepted
    } catch {
      await backEnd.close()
      throw error
    }
  }

  /// Shows a page without a field until the user presses its button.
  func agreeByButton(to page: PromptText) async throws(UserInteractionError) {
    let _: Never? = try await show(page, until: nil) { _, _ in .ended(.declined) }
  }

  func open(_ dialog: PromptText) async throws(UserInteractionError) {
    do throws(PromptFailure) {
      try await backEnd.open(dialog)
    } catch {
      await backEnd.close()
      throw refusal(error)
    }
  }

  /// Shows a dialog until an answer counts.
  private func answer<Accepted: Sendable>(
    to page: PromptText, until deadline: Instant?, _ judge: Judge<Accepted>
  ) async throws(UserInteractionError) -> Accepted? {
    var dialog = page
    var triesLeft = Self.triesPerDialog
    let longest = page.request?.timeout ?? Self.answer
    var limit = clock.now.advanced(by: longest)
    var isFirst = true
    while true {
      let opened = clock.now
      // If the request's deadline comes first, its timer is enough.
      let isLimited = deadline.map { limit < $0 } ?? true
      let outcome = await limited(until: isLimited ? limit : nil, of: page.request) { [dialog] in
        await self.askOrReopen(dialog)
      }
      // Once for each page: a key held down sends several answers.
      if isFirst { faults.count(outcome, after: opened.duration(to: clock.now)) }
      isFirst = false
      guard let answer = try outcome.get() else {
        limit = clock.now.advanced(by: longest)
        continue
      }
      switch answer {
      case .agreed where !page.takesPassphrase:
        guard page.needsReading, clock.now < opened.advanced(by: Self.shortestReading) else { return nil }
        // Too soon for a person who reads: a key held down, or a click meant for another window.
        try await pause(since: opened)
        limit = clock.now.advanced(by: longest)
      case .typed(let passphrase) where page.takesPassphrase && passphrase.count == 0:
        // An empty passphrase is not a try, because a key held down sends one; it does not extend the time either.
        dialog.remark = catalogue.text(page.entry.nothingTyped)
        try await pause(since: opened)
      case .typed(let passphrase) where page.takesPassphrase:
        triesLeft -= 1
        switch await judge(passphrase, triesLeft == 0) {
        case .accepted(let accepted): return accepted
        case .wrong(let atMost, let reason):
          guard triesLeft > 0 else { throw reason }
          dialog.remark = catalogue.text(page.entry.wrong(triesLeft: min(triesLeft, atMost)))
        case .ended(let reason): throw reason
        }
        limit = clock.now.advanced(by: longest)
      case .agreed, .typed: throw refusal(.unavailable("\(backEnd.name) gave an unexpected answer"))
      }
    }
  }

  func ask(_ dialog: PromptText) async -> Result<PromptAnswer, UserInteractionError> {
    if dialog.takesPassphrase { dialog.request?.shown?() }
    do throws(PromptFailure) { return .success(try await backEnd.ask(dialog)) } catch {
      return .failure(refusal(error))
    }
  }

  /// The error for the request; if the dialog cannot be shown, logs why.
  func refusal(_ failure: PromptFailure) -> UserInteractionError {
    switch failure {
    case .noAnswer(let error): return error
    case .closed: return .declined
    case .unavailable(let words):
      faults.cannotShow(words)
      log(words)
      return .unavailable
    }
  }
}

/// The verdict on a typed passphrase.
package enum PassphraseVerdict<Accepted: Sendable>: Sendable {
  /// It is right, and this is what it yields.
  case accepted(Accepted)
  /// It is wrong; the dialog says so and asks again, unless this was the last try.
  ///
  /// - Parameters:
  ///   - triesLeft: the tries that are left apart from the dialog's own limit.
  ///   - then: the error after the last try.
  case wrong(triesLeft: Int = .max, then: UserInteractionError)
  /// There is no other try.
  case ended(UserInteractionError)
}
