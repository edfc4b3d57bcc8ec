package import CTAP2
package import HelperProcess
import Messages
import ProcessIO
import Recovery

/// Shows a notification after each successful registration and sign-in, with `--on-success notify`.
///
/// Desktops can show notifications on a locked screen, so they name the site only if the screen is not locked.
package struct SuccessNotices: Sendable {
  /// Whether the screen is locked; `nil` if that is unknown.
  let isScreenLocked: @Sendable () async -> Bool?
  /// The user's language.
  let catalogue: Catalogue
  let executor: any TaskExecutor
  /// Shows a text without buttons, and does not wait for the person.
  let show: @Sendable (PromptText) async -> Void

  /// Shows the text for a command that has ended; its answer does not wait for that.
  ///
  /// - Returns: what shows it; `nil` if there is nothing to tell.
  @discardableResult
  package func ended(_ report: CommandReport) -> Task<Void, Never>? {
    guard report.error == nil, let headline = report.kind.flatMap(Self.headline(of:)) else { return nil }
    let site = report.site.map { UserPrompt.siteLines(of: $0.text) } ?? []
    return Task(executorPreference: executor) {
      let lines = await isScreenLocked() == false ? site : []
      await show(
        PromptText(
          headline: catalogue.text(headline), details: catalogue.texts(lines), agree: "", refuse: "",
          catalogue: catalogue))
    }
  }

  private static func headline(of kind: HistoryEntry.Kind) -> Message? {
    switch kind {
    case .register: Message("Passkey made")
    case .signIn: Message("Passkey used to sign in")
    case .u2fRegister: Message("Second factor made")
    case .u2fSignIn: Message("Second factor used to sign in")
    default: nil
    }
  }
}

extension SuccessNotices {
  /// Shows each notification with a program of its own, independently of prompts.
  ///
  /// - Parameters:
  ///   - prompter: has the language, and knows whether the screen is locked.
  ///   - log: gets a line if a notification could not be shown.
  package init(by helper: HelperProcess, _ prompter: UserPrompter, log: @escaping @Sendable (String) -> Void) {
    self.init(
      isScreenLocked: { await prompter.isScreenLocked() }, catalogue: prompter.catalogue, executor: prompter.executor,
      show: { text in
        let notification = Pinentry(
          .notifications, helper: helper, environment: environmentVariable, terminal: nil, executor: prompter.executor)
        do throws(PromptFailure) { try await notification.tell(text) } catch {
          if case .unavailable(let words) = error { log("cannot show the notification of a success: \(words)") }
        }
      })
  }
}
