import CLinux
import CTAP2
import CTAPHID
import CryptoPrimitives
import EventLoop
import Glibc
import HelperProcess
import Messages
import ProcessIO
import ProtectorProtocol
import Recovery

extension UserPrompter {
  private enum Event: Sendable {
    /// PAM sent a message at `time`; `isUnlocked` if the screen was found unlocked then.
    case said(
      Result<(AccountConversation, AccountMessage), ProtectorFailure>, at: Instant, isUnlocked: Bool)
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
  /// half a second, for example a request to touch a reader, and the screen is not locked. PAM delays the result of a
  /// conversation with a wrong answer; the next try is a new conversation. After three wrong tries, or if PAM does not
  /// work, the next means verifies. After five wrong tries of fingers and PAM over several requests, PAM is not asked until
  /// the passphrase has verified.
  ///
  /// A try is counted with the first answer of a conversation, because the client can withdraw the request before PAM says
  /// that the answer is wrong. Each error before it counts as a try too: a module that reads fingers sends one for a finger
  /// that is wrong or could not be read, and goes on. All are given back if PAM verifies.
  func askAccount(for page: PromptText) async throws(UserInteractionError) -> MeansOutcome {
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    var dialog: OpenDialog?
    var listening = listen(to: nil, checksScreen: false, sender)
    let outcome = await withTaskCancellationHandler { () -> Result<MeansOutcome, UserInteractionError> in
      var page = page
      var conversation: AccountConversation?
      var (triesLeft, remarks) = (Self.triesPerDialog, [String]())
      // Of this conversation: the messages, the tries that were counted, and whether the user answered or saw the page.
      var (count, tries, hasAnswered, wasSeen) = (0, 0, false, false)
      for await event in events {
        switch event {
        case .said(.failure(let failure), _, _):
          failed(.pam, failure.description, remedy: HelperProcess.startingAccountService(after: failure))
          return .success(.next(remark: nil))
        case .said(.success((let current, let message)), let time, let isUnlocked):
          conversation = current
          count += 1
          // An earlier message of PAM was shown for half a second, on a screen that is not locked.
          if !wasSeen, count > 1, isUnlocked, let dialog, !dialog.text.takesPassphrase, let opened = dialog.opened,
            time >= opened.advanced(by: Self.shortestReading)
          {
            // The dialog is not open while another back end takes the place of one that failed.
            wasSeen = await backEnd.isOpen
          }
          let isSeen = hasAnswered || wasSeen && isUnlocked
          switch message {
          case .failed(let failure):
            failed(.pam, failure.description)
            return .success(.next(remark: nil))
          case .accepted where isSeen: return .success(.verified)
          case .accepted, .wrong:
            if message == .wrong, tries == 0, count > 1 {
              tries = 1
              verifier?.count(.pam, isRight: false)
            }
            guard isSeen else {
              failed(.pam, dialog == nil ? Self.nobodyAsked : Self.notSeen)
              return .success(.next(remark: nil))
            }
            triesLeft = min(triesLeft - tries, triesOfMeans)
            guard triesLeft > 0 else { return .success(.next(remark: PromptText.noAccount)) }
            page.remark = catalogue.text(PromptText.Entry.account.wrong(triesLeft: triesLeft))
            (count, tries, hasAnswered, wasSeen) = (0, 0, false, false)
            listening = listen(to: nil, checksScreen: false, sender)
          case .asks, .says, .reports:
            guard count <= AccountMessage.maximumCount else {
              failed(.pam, "it sends too many questions and messages")
              return .success(.next(remark: nil))
            }
            switch message {
            case .asks(let question):
              dialog = await replace(dialog, by: page.forAccount(question, remarks), sender)
              (page.remark, remarks) = (nil, [])
              continue
            case .reports(let error):
              remarks.append(error)
              guard !hasAnswered else { break }
              tries += 1
              verifier?.count(.pam, isRight: false)
              guard triesOfMeans > 0 else { return .success(.next(remark: PromptText.noAccount)) }
            case .says(let remark): remarks.append(remark)
            case .accepted, .wrong, .failed: break
            }
            dialog = await replace(dialog, by: page.forAccount(nil, remarks), sender)
            listening = listen(to: current, checksScreen: !hasAnswered, sender)
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
            // The dialog stays open until PAM goes on: a terminal shows nothing that is typed meanwhile.
            if !hasAnswered {
              tries += 1
              verifier?.count(.pam, isRight: false)
            }
            hasAnswered = true
            current.answer(answer)
            listening = listen(to: current, checksScreen: false, sender)
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
      text, evenIfQueued: true,
      opened: { [clock] in sender.yield(.opened(dialog: number, at: $0 ? nil : clock.now)) },
      answered: { sender.yield(.answered($0, dialog: number)) })
    return OpenDialog(number: number, text: text, task: task)
  }

  /// Waits for the next message of a conversation, or of a new one.
  ///
  /// - Parameter checksScreen: whether to check then that the screen is not locked. This can take seconds; a refusal in this
  ///   time is handled before the message.
  private func listen(
    to conversation: AccountConversation?, checksScreen: Bool, _ sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { [clock, converse, screen] in
      guard let converse else { return }
      let result = await OwnThread.run(cancellable: { cancellation in
        Result { () throws(ProtectorFailure) -> (AccountConversation, AccountMessage) in
          let current: AccountConversation
          if let conversation { current = conversation } else { current = try converse(.verify).get() }
          return (current, try current.next(until: .now + Self.answer, cancellation))
        }
      })
      let time = clock.now
      let isUnlocked = checksScreen && screen != nil ? await self.isScreenLocked() == false : false
      sender.yield(
        .said(
          result ?? .failure(ProtectorFailure(.failed, OwnThread.nothingLeft)), at: time, isUnlocked: isUnlocked))
    }
  }
}

extension HelperProcess {
  /// Why PAM cannot verify if nothing listens at its socket.
  static func noAccountService(hasSystemd: Bool) -> ProtectorFailure {
    hasSystemd
      ? ProtectorFailure(
        .noService, "nothing listens at the socket of liquid-auth-pam",
        hint: "start it with: \(starting.joined(separator: " "))")
      : ProtectorFailure(
        .noService, "verification by PAM needs a user service of systemd, and this machine does not run systemd",
        hint: "use fingerprint or passphrase")
  }

  /// The command that starts the service, if nothing listens at its socket.
  static func startingAccountService(
    after failure: ProtectorFailure, hasSystemd: Bool = HelperProcess.hasSystemd
  ) -> [String]? {
    failure.kind == .noService && hasSystemd ? starting : nil
  }

  private static let starting = ["systemctl", "--user", "start", "liquid-auth-pam.socket"]

  /// Begins a conversation with `liquid-auth-pam`, which systemd starts for each connection.
  @Sendable func converse(_ request: AccountRequest) -> Result<AccountConversation, ProtectorFailure> {
    Result { () throws(ProtectorFailure) in
      let connection: Int32
      do throws(SystemNumber) {
        connection = try connectToAccountService()
      } catch {
        guard error.number != ENOENT, error.number != ECONNREFUSED else {
          throw Self.noAccountService(hasSystemd: Self.hasSystemd)
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
