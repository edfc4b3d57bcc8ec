import CTAP2
import CryptoPrimitives
import Synchronization
import Testing

@testable import liquid_authenticator

/// One dialog at a time, whoever asks.
struct OneDialogTests {
  /// Dialogs that stay open until the test closes them, counted.
  private final class SlowDialogs: DialogBackEnd {
    private let (closings, closing) = AsyncStream.makeStream(of: Void.self)
    private let openings = Mutex((now: 0, most: 0, all: 0))
    private let headlines = Mutex<[String]>([])

    var most: Int { openings.withLock { $0.most } }
    var all: Int { openings.withLock { $0.all } }
    var shown: [String] { headlines.withLock { $0 } }
    func close() { closing.yield() }

    func confirm(_ text: PromptText) async throws(UserInteractionError) {
      headlines.withLock { $0.append(text.headline) }
      openings.withLock { openings in
        openings.now += 1
        openings.all += 1
        openings.most = max(openings.most, openings.now)
      }
      defer { openings.withLock { $0.now -= 1 } }
      for await _ in closings { return }
      throw .cancelled
    }

    func passphrase<Accepted: Sendable>(
      _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
    ) async throws(UserInteractionError) -> Accepted {
      try await confirm(text)
      guard case .accepted(let accepted) = await check(secret("right")) else { throw .declined }
      return accepted
    }
  }

  private let slow = SlowDialogs()
  private let fault = DialogFault()
  private let text = PromptText(UserPrompt(purpose: .select))

  @Test func `a second dialog waits for the first`() async throws {
    let dialogs = OneDialog(slow, fault: fault)
    let first = Task { try await dialogs.confirm(text) }
    let second = Task {
      try await dialogs.passphrase(text) { $0.count == 5 ? PassphraseVerdict<Int>.accepted(7) : .ended(.declined) }
    }
    while slow.all == 0 { await Task.yield() }
    #expect(dialogs.isOpen)
    slow.close()
    while slow.all == 1 { await Task.yield() }
    #expect(dialogs.isOpen)
    slow.close()
    try await first.value
    #expect(try await second.value == 7)
    #expect(slow.most == 1 && slow.all == 2)
    #expect(!dialogs.isOpen)
  }

  @Test func `who is cancelled while he waits never sees his`() async throws {
    let dialogs = OneDialog(slow, fault: fault)
    let first = Task { try await dialogs.confirm(text) }
    while slow.all == 0 { await Task.yield() }
    let second = Task { try await dialogs.confirm(text) }
    second.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await second.value }
    slow.close()
    try await first.value
    #expect(slow.all == 1)
  }

  @Test(arguments: [false, true])
  func `no other request's dialog comes between the dialogs of one`(verifies: Bool) async throws {
    let beside = DialogsBesideOtherKeys(
      base: OneDialog(slow, fault: fault), others: { [] }, timepiece: ManualTimepiece())
    let verify = { @Sendable (_: SecretBytes) in PassphraseVerifier.Outcome.right }
    let interaction = DialogInteraction(dialogs: beside, verify: verify)
    let payment = UserPrompt.TransactionText(kind: "payment", lines: ["Amount: 1"], isToBeSigned: true)
    let group = UserPrompt.TransactionTexts(
      each: NonEmpty([payment, payment], last: payment), isGroup: true, common: [], inShort: ["You send: 3"])
    let signing = Task {
      _ = try await interaction.confirm(UserPrompt(purpose: .wallet(.signTransactions(group))), verification: verifies)
    }
    while slow.all == 0 { await Task.yield() }
    let other = Task { try await beside.confirm(text) }
    for count in 1...4 {
      while slow.all < count { await Task.yield() }
      slow.close()
    }
    try await signing.value
    try await other.value
    #expect(slow.shown == (1...3).map { "Sign these 3 transactions? (part \($0) of 3)" } + [text.headline])
    #expect(slow.most == 1)
  }

  @Test func `what was wrong with the last dialog is forgotten when the next is shown`() async throws {
    let dialogs = OneDialog(slow, fault: fault)
    fault.note("cannot start pinentry")
    #expect(fault.last == "cannot start pinentry")
    slow.close()
    try await dialogs.confirm(text)
    #expect(fault.last == nil)
  }
}
