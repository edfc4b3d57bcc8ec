import CTAP2
import CryptoPrimitives
import Testing

@testable import liquid_authenticator

struct DialogsBesideOtherKeysTests {
  static let key = OtherKey(node: "/dev/hidraw4", name: "Example Key")
  static let directed: [UserPrompt.Purpose] = [
    .setPIN, .authorize(.credentialManagement), .change(.alwaysUV(true)), .reset(importedPasskeys: 0),
  ]
  static let broadcast: [UserPrompt.Purpose] = [
    .select, .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor,
  ]

  /// A dialog that keeps its words and is refused or agreed to at once.
  private struct Dialogs: DialogBackEnd {
    let refuses: Bool
    let shown = Lines()

    func confirm(_ text: PromptText) async throws(UserInteractionError) {
      shown.add(text.description)
      if refuses { throw .declined }
    }

    func passphrase<Accepted: Sendable>(
      _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
    ) async throws(UserInteractionError) -> Accepted {
      shown.add(text.description)
      guard !refuses, case .accepted(let accepted) = await check(secret("right")) else { throw .declined }
      return accepted
    }
  }

  let timepiece = ManualTimepiece()

  private func dialogs(_ base: Dialogs, _ others: [OtherKey] = [key]) -> DialogsBesideOtherKeys {
    DialogsBesideOtherKeys(base: base, others: { others }, timepiece: timepiece)
  }

  private func outcome(_ dialogs: DialogsBesideOtherKeys, _ text: PromptText) async -> UserInteractionError? {
    do throws(UserInteractionError) { try await dialogs.confirm(text) } catch { return error }
    return nil
  }

  @Test func `a selection says that it is asked which key, and names the other`() async {
    let base = Dialogs(refuses: false)
    #expect(await outcome(dialogs(base), PromptText(UserPrompt(purpose: .select))) == nil)
    #expect(
      base.shown.all == [
        """
        Is this the authenticator you mean?

        A site or a program asks which of your security keys to use. It signs you in nowhere.
        Also plugged in: "Example Key"
        To use another key instead, touch it.
        """
      ])
  }

  @Test func `other keys' names are theirs: escaped, three at most, and the node where there is none`() async {
    let names = ["a\nSite: bank.example", "", "c", "d"]
    let others = names.enumerated().map { OtherKey(node: "/dev/hidraw\($0)", name: $1) }
    let text = PromptText(UserPrompt(purpose: .signIn, rpID: "example.com")).naming(others)
    #expect(
      text.details == [
        "Site: example.com", #"Also plugged in: "a\u{A}Site: bank.example""#, #"Also plugged in: "/dev/hidraw1""#,
        #"Also plugged in: "c""#, "To use another key instead, touch it.",
      ])
  }

  @Test(arguments: broadcast)
  func `a refusal beside another key keeps silent until the client withdraws the request`(
    _ purpose: UserPrompt.Purpose
  ) async {
    let asked = Task { await outcome(dialogs(Dialogs(refuses: true)), PromptText(UserPrompt(purpose: purpose))) }
    await timepiece.sleepers(1)
    asked.cancel()
    #expect(await asked.value == .cancelled)
    #expect(timepiece.sleeperCount == 0)
  }

  @Test func `meanwhile other dialogs have their turn`() async throws {
    let dialogs = DialogsBesideOtherKeys(
      base: OneDialog(Dialogs(refuses: true), fault: DialogFault()), others: { [Self.key] }, timepiece: timepiece)
    let text = PromptText(UserPrompt(purpose: .select))
    let asked = (0..<2).map { _ in
      Task { () -> UserInteractionError? in
        do throws(UserInteractionError) {
          try await dialogs.inOneTurn { dialogs async throws(UserInteractionError) in try await dialogs.confirm(text) }
        } catch {
          return error
        }
        return nil
      }
    }
    await timepiece.sleepers(2)
    timepiece.advance(by: .seconds(30))
    for refusal in asked { #expect(await refusal.value == .timedOut) }
  }

  @Test func `or until its time is over`() async {
    let base = Dialogs(refuses: true)
    let text = PromptText.unlock(for: .prompt(UserPrompt(purpose: .signIn, rpID: "example.com")))
    let asked = Task { () -> UserInteractionError? in
      do throws(UserInteractionError) {
        try await dialogs(base).passphrase(text) { _ in PassphraseVerdict<Void>.accepted(()) }
      } catch {
        return error
      }
      return nil
    }
    await timepiece.sleepers(1)
    timepiece.advance(by: .seconds(30))
    #expect(await asked.value == .timedOut)
    #expect(base.shown.all.first?.contains("Also plugged in: \"Example Key\"") == true)
  }

  @Test func `a vault that stays locked beside another key keeps silent like a refusal`() async {
    let text = PromptText.unlock(for: .prompt(UserPrompt(purpose: .signIn, rpID: "example.com")))
    let asked = Task { () -> UserInteractionError? in
      do throws(UserInteractionError) {
        try await dialogs(Dialogs(refuses: false)).passphrase(text) { _ in
          PassphraseVerdict<Void>.ended(.wrongPassphrase)
        }
      } catch {
        return error
      }
      return nil
    }
    await timepiece.sleepers(1)
    timepiece.advance(by: .seconds(30))
    #expect(await asked.value == .timedOut)
  }

  @Test(arguments: broadcast)
  func `without another key, a refusal is told at once`(_ purpose: UserPrompt.Purpose) async {
    let base = Dialogs(refuses: true)
    let text = PromptText(UserPrompt(purpose: purpose))
    #expect(await outcome(dialogs(base, []), text) == .declined)
    #expect(base.shown.all == [text.description])
  }

  @Test(arguments: directed)
  func `so it is where the request can be meant for this key only`(_ purpose: UserPrompt.Purpose) async {
    let base = Dialogs(refuses: true)
    let text = PromptText(UserPrompt(purpose: purpose))
    #expect(await outcome(dialogs(base), text) == .declined)
    #expect(base.shown.all == [text.description])
  }
}
