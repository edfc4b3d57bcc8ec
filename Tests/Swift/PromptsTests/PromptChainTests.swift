import CTAP2
import ControlProtocol
import Fingerprint
import Recovery
import Synchronization
import TestSupport
import Testing

@testable import Prompts

@Suite struct PromptChainTests {
  /// A back end that works unless the test gives it a fault.
  private final class Way: PromptBackEnd {
    let report: PromptReport
    let isForPresence: Bool
    /// Why `open` fails, and why `ask` fails; `nil` if it works.
    let faults: Mutex<(open: PromptFailure?, ask: PromptFailure?)>
    let steps = Mutex<[String]>([])
    /// Runs while the back end opens a dialog.
    let duringOpen = Mutex<(@Sendable () async -> Void)?>(nil)

    init(_ name: String, isForPresence: Bool = false, open: PromptFailure? = nil, ask: PromptFailure? = nil) {
      (report, self.isForPresence) = (PromptReport(.init(rawValue: name)), isForPresence)
      faults = Mutex((open, ask))
    }

    var problem: Problem? { faults.withLock { $0.open == nil ? nil : Problem("\(name) is broken") } }

    func suits(_ dialog: PromptText) -> Bool { !isForPresence || dialog.isPresence && !dialog.takesPassphrase }

    func selfTest(within limit: Duration) async -> String? {
      guard case .unavailable(let words) = faults.withLock({ $0.open }) else { return nil }
      return words
    }

    func open(_ dialog: PromptText) async throws(PromptFailure) {
      steps.withLock { $0.append("open") }
      await duringOpen.withLock { $0 }?()
      if let fault = faults.withLock({ $0.open }) { throw fault }
    }

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
      steps.withLock { $0.append("ask") }
      if let fault = faults.withLock({ $0.ask }) { throw fault }
      return .agreed
    }

    func close() async { steps.withLock { $0.append("close") } }

    func took() -> [String] {
      steps.withLock { steps in
        defer { steps = [] }
        return steps
      }
    }
  }

  private static let presence = UserPrompt(purpose: .signIn, rpID: "a.example")
  private static let reading = UserPrompt(purpose: .reset(importedPasskeys: 0))
  private let lines = Lines()

  private static func backEnd(_ name: String, _ fault: String? = nil) -> PromptReport.BackEnd {
    .init(.init(rawValue: name), fault: fault)
  }

  private func outcome(_ ways: [Way], _ prompt: UserPrompt = presence) async -> (String, PromptChain) {
    let chain = PromptChain(ways) { [lines] in lines.add($0) }
    return (await UserPrompter(testing: chain).outcome(of: prompt), chain)
  }

  @Test func `the first way that suits a dialog shows it`() async {
    let (notification, window) = (Way("n", isForPresence: true), Way("w"))
    #expect(await outcome([notification, window]).0 == "present")
    #expect(notification.took() == ["open", "ask", "close"] && window.took() == [])
    let chain = PromptChain([notification, window]) { _ in }
    #expect(!notification.suits(PromptText(Self.reading)) && chain.suits(PromptText(Self.reading)))
    var dialog = PromptText(Self.presence)
    dialog.takesPassphrase = true
    #expect(!notification.suits(dialog))
    #expect(lines.all.isEmpty)
  }

  // Holds: PROMPT-5
  @Test(arguments: [true, false])
  func `a way that fails is followed by the next in the same dialog`(opens: Bool) async {
    let fault = PromptFailure.unavailable("no buttons")
    let notification = Way("n", isForPresence: true, open: opens ? nil : fault, ask: fault)
    let (window, last) = (Way("w"), Way("t"))
    let (result, chain) = await outcome([notification, window, last])
    #expect(result == "present")
    #expect(notification.took() == (opens ? ["open", "ask", "close"] : ["open", "close"]))
    #expect(window.took() == ["open", "ask", "close"] && last.took() == [])
    #expect(lines.all == ["n cannot show prompts: no buttons; w shows them instead"])
    #expect(chain.name == "auto: w, t")
    #expect(
      chain.report
        == PromptReport(choice: "auto", [Self.backEnd("n", "no buttons"), Self.backEnd("w"), Self.backEnd("t")]))
    #expect(PromptChain([window], choice: "notifications") { _ in }.name == "notifications: w")
    // The back end is used again if its test passes. The same reason is not logged twice.
    #expect(await UserPrompter(testing: chain).outcome(of: Self.presence) == "present")
    #expect(notification.took().first == (opens ? "open" : nil) && lines.all.count == 1)
    notification.faults.withLock { $0 = (nil, nil) }
    #expect(await UserPrompter(testing: chain).outcome(of: Self.presence) == "present")
    #expect(chain.name == "auto: n, w, t" && window.took().count == 3)
  }

  // Holds: PROMPT-14
  @Test func `a way that failed is left out while its test fails, and is used again after it passes`() async {
    let (notification, window) = (Way("n", isForPresence: true, open: .unavailable("not there")), Way("w"))
    let chain = PromptChain([notification, window]) { [lines] in lines.add($0) }
    #expect(await chain.selfTest(within: .seconds(1)) == nil)
    for _ in 0..<2 {
      #expect(await UserPrompter(testing: chain).outcome(of: Self.presence) == "present")
      #expect(notification.took() == [] && window.took() == ["open", "ask", "close"])
    }
    #expect(lines.all == ["n cannot show prompts: not there; w shows them instead"])
    notification.faults.withLock { $0 = (nil, nil) }
    #expect(chain.name == "auto: w")
    #expect(await UserPrompter(testing: chain).outcome(of: Self.presence) == "present")
    #expect(notification.took() == ["open", "ask", "close"] && window.took() == [])
    #expect(chain.name == "auto: n, w")
  }

  // Holds: PROMPT-6
  @Test func `if the tests of all ways fail, all are tried`() async {
    let fault = PromptFailure.unavailable("not there")
    let (notification, window) = (Way("n", isForPresence: true, open: fault), Way("w", open: fault))
    let chain = PromptChain([notification, window]) { _ in }
    #expect(await chain.selfTest(within: .seconds(1)) == nil)
    #expect(chain.name == "auto: n, w" && chain.report.backEnds.map(\.fault) == ["not there", "not there"])
    #expect(await UserPrompter(testing: chain).outcome(of: Self.presence) == "unavailable")
    #expect(notification.took() == ["open", "close"] && window.took() == ["open", "close"])
  }

  @Test(arguments: [UserInteractionError.declined, .timedOut, .cancelled])
  func `after an answer of the person or a cancellation, no other way is tried`(error: UserInteractionError) async {
    let (notification, window) = (Way("n", isForPresence: true, ask: .noAnswer(error)), Way("w"))
    let (result, chain) = await outcome([notification, window])
    #expect(result == "\(error)" && window.took() == [] && lines.all.isEmpty)
    #expect(chain.name == "auto: n, w")
  }

  // Holds: FINGER-10
  @Test func `a dialog for a finger goes to no notification`() async {
    let (notification, window) = (Way("n", isForPresence: true), Way("w"))
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    var prompt = Self.presence
    prompt.means = [.fingerprint]
    let prompter = UserPrompter(
      testing: PromptChain([notification, window]) { _ in }, verifier: verifier, readFingers: { _ in .success(.match) })
    _ = await prompter.outcome(of: prompt, verification: true)
    #expect(notification.took() == [] && window.took().first == "open")
  }

  // Holds: FINGER-9
  @Test func `no dialog is open while the next way takes over`() async throws {
    let (first, second) = (Way("w"), Way("t"))
    let chain = PromptChain([first, second]) { _ in }
    #expect(await !chain.isOpen)
    try await chain.open(PromptText(Self.reading))
    #expect(await chain.isOpen)
    first.faults.withLock { $0.ask = .unavailable("gone") }
    second.duringOpen.withLock { $0 = { #expect(await !chain.isOpen) } }
    _ = try await chain.ask(PromptText(Self.reading))
    #expect(await chain.isOpen && second.took() == ["open", "ask"])
    await chain.close()
    #expect(await !chain.isOpen)
  }

  // Holds: PROMPT-6
  @Test func `if all ways fail, the request fails for the last reason`() async {
    let fault = PromptFailure.unavailable("broken")
    let (result, chain) = await outcome([Way("n", isForPresence: true, open: fault), Way("w", open: fault)])
    #expect(result == "unavailable")
    #expect(chain.problem?.text == "w is broken")
    #expect(PromptChain([Way("w", open: fault), Way("t")]) { _ in }.problem == nil)
  }

  // Holds: PROMPT-4
  @Test func `the self-test tells which ways are in use, and logs why others are not`() async {
    let fault = PromptFailure.unavailable("not there")
    let chain = PromptChain([Way("n", isForPresence: true, open: fault), Way("w"), Way("t", open: fault)]) { [lines] in
      lines.add($0)
    }
    #expect(await chain.selfTest(within: .seconds(1)) == nil)
    #expect(chain.name == "auto: w")
    #expect(
      lines.all == ["n cannot show prompts: not there; w shows them instead", "t cannot show prompts: not there"])
  }

  @Test func `only a page for presence, without extras, suits a notification`() {
    #expect(PromptText(Self.presence).isPresence && PromptText(UserPrompt(purpose: .select)).isPresence)
    var extras = Self.presence
    extras.extras = .secret
    for prompt in [extras, Self.reading, UserPrompt(purpose: .setPIN), UserPrompt(purpose: .wallet(.showPasskey))] {
      #expect(!PromptText(prompt).isPresence)
    }
  }
}
