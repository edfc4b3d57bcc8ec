import CLinux
import CTAP2
import CTAPHID
import CryptoPrimitives
import Glibc
import Messages
import ProcessIO
import ProtectorProtocol
import Recovery

extension UserPrompter {
  private enum Event: Sendable {
    case said(Result<(AccountConversation, AccountMessage), ProtectorFailure>)
    /// The dialog with this number is shown; `at` is `nil` if the desktop can queue it.
    case opened(dialog: Int, at: Instant?)
    /// The user answered the dialog with this number.
    case answered(Result<PromptAnswer, UserInteractionError>, dialog: Int)
  }

  private struct OpenDialog {
    let number: Int
    let text: PromptText
    /// `nil` until it is shown, and if the desktop can queue it.
    var opened: Instant?
    let task: Task<Void, Never>
  }

  /// Verifies the user by PAM: shows each of its questions with the page, and a remark to which no question follows.
  ///
  /// A verification counts only if the user answered a dialog with the page, or if a remark was shown with the page for
  /// half a second, for example a request to touch a reader, and the screen is not locked. Each try is a conversation of
  /// its own; PAM delays the result of a wrong one. After three wrong tries, or if PAM does not work, the next means
  /// verifies. After five wrong tries of fingers and PAM over several requests, PAM is not asked until the passphrase has
  /// verified.
  ///
  /// A try is counted with its first answer, and given back if PAM verifies: the client can withdraw the request before PAM
  /// says that the answer is wrong.
  func askAccount(for page: PromptText) async throws(UserInteractionError) -> MeansOutcome {
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    var dialog: OpenDialog?
    var listening = listen(to: nil, sender)
    let outcome = await withTaskCancellationHandler { () -> Result<MeansOutcome, UserInteractionError> in
      var page = page
      var conversation: AccountConversation?
      var (triesLeft, count, remarks, hasAnswered) = (Self.triesPerDialog, 0, [String](), false)
      for await event in events {
        switch event {
        case .said(.failure(let failure)):
          failed(.pam, failure.description)
          return .success(.next(remark: nil))
        case .said(.success((let current, let message))):
          conversation = current
          count += 1
          // The user answered, or what PAM said was open for half a second, on a screen that is not locked.
          var isSeen = hasAnswered
          if !isSeen, let dialog, !dialog.text.takesPassphrase, let opened = dialog.opened {
            // The dialog is not open while another back end takes the place of one that failed.
            let isOpen = await backEnd.isOpen
            let isRead = isOpen && clock.now >= opened.advanced(by: Self.shortestReading)
            isSeen = isRead ? await isScreenLocked() == false : false
          }
          switch message {
          case .failed(let failure):
            failed(.pam, failure.description)
            return .success(.next(remark: nil))
          case .accepted where !isSeen, .wrong where !isSeen:
            failed(.pam, dialog == nil ? Self.nobodyAsked : Self.notSeen)
            return .success(.next(remark: nil))
          case .accepted: return .success(.verified)
          case .wrong:
            if !hasAnswered { verifier?.count(.pam, isRight: false) }
            triesLeft = min(triesLeft - 1, triesOfMeans)
            guard triesLeft > 0 else { return .success(.next(remark: PromptText.noAccount)) }
            page.remark = catalogue.text(PromptText.Entry.account.wrong(triesLeft: triesLeft))
            (count, hasAnswered) = (0, false)
            listening = listen(to: nil, sender)
          case .asks, .says:
            guard count <= AccountMessage.maximumCount else {
              failed(.pam, "it sends too many questions and messages")
              return .success(.next(remark: nil))
            }
            guard case .asks(let question) = message else {
              if case .says(let remark) = message { remarks.append(remark) }
              dialog = await replace(dialog, by: page.forAccount(nil, remarks), sender)
              listening = listen(to: current, sender)
              continue
            }
            dialog = await replace(dialog, by: page.forAccount(question, remarks), sender)
            (page.remark, remarks) = (nil, [])
          }
        case .opened(let number, let opened): if number == dialog?.number { dialog?.opened = opened }
        case .answered(let answer, let number):
          guard let open = dialog, number == open.number else { continue }
          var text = open.text
          switch answer {
          case .failure(let error): return .failure(error)
          case .success(.agreed): return .success(.next(remark: nil))
          case .success(.typed(let answer)):
            let fault =
              answer.count == 0
              ? text.entry.nothingTyped
              : answer.count > AccountMessage.maximumAnswerSize ? PromptText.answerTooLong : nil
            text.remark = fault.map(catalogue.text)
            guard fault == nil, let current = conversation else {
              let opened = open.opened ?? clock.now
              do throws(UserInteractionError) { try await pause(since: opened) } catch { return .failure(error) }
              dialog = await replace(dialog, by: text, sender)
              continue
            }
            await withdraw(open.task)
            if !hasAnswered { verifier?.count(.pam, isRight: false) }
            hasAnswered = true
            current.answer(answer)
            listening = listen(to: current, sender)
          }
        }
      }
      return .failure(.cancelled)
    } onCancel: {
      sender.finish()
    }
    listening.cancel()
    if let dialog { await withdraw(dialog.task) }
    await listening.value
    return try outcome.get()
  }

  private static let nobodyAsked = """
    its stack decided without a question or a message, so the request was not shown; see: /etc/pam.d/liquid-auth
    """

  private static let notSeen =
    "its stack decided without a question, and the request may not have been seen; see: man liquid-auth-pam"

  /// Closes a dialog, and shows the next one.
  private func replace(
    _ dialog: OpenDialog?, by text: PromptText, _ sender: AsyncStream<Event>.Continuation
  ) async -> OpenDialog {
    if let dialog { await withdraw(dialog.task) }
    let number = (dialog?.number ?? 0) + 1
    let task = present(
      text,
      opened: { [clock] canBeQueued in
        sender.yield(.opened(dialog: number, at: canBeQueued ? nil : clock.now))
        return true
      },
      answered: { sender.yield(.answered($0, dialog: number)) })
    return OpenDialog(number: number, text: text, task: task)
  }

  /// Waits for the next message of a conversation, or of a new one.
  private func listen(
    to conversation: AccountConversation?, _ sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { [converse] in
      guard let converse else { return }
      let result = await OwnThread.run(cancellable: { cancellation in
        Result { () throws(ProtectorFailure) -> (AccountConversation, AccountMessage) in
          let current: AccountConversation
          if let conversation { current = conversation } else { current = try converse(.verify).get() }
          return (current, try current.next(until: .now + Self.answer, cancellation))
        }
      })
      sender.yield(.said(result ?? .failure(ProtectorFailure(.failed, PromptFailure.nothingLeft))))
    }
  }
}

extension HelperProcess {
  /// Begins a conversation with `liquid-auth-pam`, which systemd starts for each connection.
  @Sendable func converse(_ request: AccountRequest) -> Result<AccountConversation, ProtectorFailure> {
    Result { () throws(ProtectorFailure) in
      let connection: Int32
      do throws(SystemNumber) {
        connection = try connect(to: CLINUX_ACCOUNT)
      } catch {
        guard error.number != ENOENT, error.number != ECONNREFUSED else {
          throw ProtectorFailure(
            .noService, "nothing listens at its socket; start it with: systemctl --user start liquid-auth-pam.socket")
        }
        throw ProtectorFailure(.failed, "liquid-auth-pam cannot be reached: \(error)")
      }
      // The user's systemd must listen there.
      var peer = uid_t.max
      guard clinux_peer_user(connection, &peer) == 0, peer == getuid() else {
        close(connection)
        throw ProtectorFailure(.failed, "another user listens at the socket of liquid-auth-pam")
      }
      return AccountConversation(request, over: connection)
    }
  }
}
