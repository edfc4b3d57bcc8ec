import Messages
import Recovery
import TestSupport
import Testing

@testable import CTAP2
@testable import Prompts

// Holds: PROMPT-19
struct SuccessNoticesTests {
  private let lines = Lines()

  private func end(_ kind: HistoryEntry.Kind?, error: CTAPError? = nil, isLocked: Bool? = false) async {
    let notices = SuccessNotices(
      isScreenLocked: { isLocked }, catalogue: .english, executor: globalConcurrentExecutor,
      show: { [lines] in lines.add($0.description) })
    let report = CommandReport(command: nil, rpID: "example.com", error: error, elapsed: .zero, kind: kind)
    await notices.ended(report)?.value
  }

  @Test func `a registration and a sign-in that succeeded are told with the site`() async {
    for kind in [HistoryEntry.Kind.register, .signIn, .u2fRegister, .u2fSignIn] { await end(kind) }
    let words = [
      "Passkey made", "Passkey used to sign in", "Second factor made", "Second factor used to sign in",
    ]
    #expect(lines.all == words.map { "\($0)\n\nSite: example.com" })
  }

  @Test(arguments: [true, nil])
  func `no site is told on a screen that is locked, or may be`(isLocked: Bool?) async {
    await end(.signIn, isLocked: isLocked)
    #expect(lines.all == ["Passkey used to sign in\n"])
  }

  @Test func `a failure and other commands are not told`() async {
    await end(.signIn, error: CTAPError(.operationDenied, "no"))
    for kind in [HistoryEntry.Kind.verify, .changePIN, .reset, .signMessage, nil] { await end(kind) }
    #expect(lines.all.isEmpty)
  }
}
