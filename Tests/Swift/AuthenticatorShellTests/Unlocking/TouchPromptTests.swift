import CTAP2
import ControlProtocol
import CryptoPrimitives
import ProcessIO
import ProtectorProtocol
import Recovery
import StateDirectory
import Synchronization
import TestSupport
import Testing
import Vault

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

// Holds: PROTECT-18
@Suite struct TouchPromptTests {
  private let made: MadeVault
  private let lines = Lines()
  private let key = SecurityKey()
  private static let words = "Touch the security key that blinks, or type the passphrase."

  init() throws {
    made = try MadeVault(passphrase: "right")
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    try made.directory.changeSlots { file throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      for (id, hasPIN) in [(UInt8(1), false), (2, true)] {
        let slot = SecurityKeySlot(
          credentialID: [id], salt: [UInt8](repeating: 0, count: 32), hasPIN: hasPIN, autoUnlock: !hasPIN,
          publicKey: [UInt8](repeating: 1, count: 64))
        try file.seal(unlocked, for: .securityKey(slot), key: SecurityKey.output, using: &generator)
      }
    }
  }

  /// A security key that waits for the test's touch; a key with the other slot is absent.
  private final class SecurityKey: Sendable {
    enum End: Sendable { case touched, refused }

    private let state = Mutex<(isBlinking: Bool, end: End?, slot: UInt8, isCancelled: Bool)>((false, nil, 1, false))

    static var output: SecretBytes {
      SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 7, count: 32)) }
    }

    /// The slot whose security key is plugged in.
    func plug(_ slot: UInt8) { state.withLock { $0.slot = slot } }
    func end(_ end: End) { state.withLock { $0.end = end } }
    var isBlinking: Bool { state.withLock { $0.isBlinking } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    @Sendable func ask(
      _ request: ProtectorRequest, _ cancellation: Cancellation, _ touchNeeded: @Sendable () -> Void
    ) -> Result<ProtectorAnswer, ProtectorFailure> {
      guard request.data.last == state.withLock({ $0.slot }) else {
        return .failure(ProtectorFailure(.absent, "it is not plugged in"))
      }
      if request.data[0] & 1 == 1 {
        guard let pin = request.pin else { return .failure(ProtectorFailure(.pinNeeded, "the slot needs its PIN")) }
        if pin.isEqual(to: secret("slow")) {
          while cancellation.wait(for: -1, 0, until: .now + .milliseconds(5)) != .cancelled {}
          return .failure(ProtectorFailure(.failed, "it was cancelled"))
        }
        guard pin.isEqual(to: secret("1234")) else { return .failure(ProtectorFailure(.wrongPIN, "the PIN is wrong")) }
      }
      state.withLock { $0.isBlinking = true }
      defer { state.withLock { $0.isBlinking = false } }
      touchNeeded()
      touchNeeded()
      while true {
        switch state.withLock({ $0.end }) {
        case .touched: return .success(ProtectorAnswer(key: Self.output))
        case .refused: return .failure(ProtectorFailure(.dismissed, "it was not touched"))
        case nil: break
        }
        if cancellation.wait(for: -1, 0, until: .now + .milliseconds(5)) == .cancelled {
          state.withLock { $0.isCancelled = true }
          return .failure(ProtectorFailure(.failed, "it was cancelled"))
        }
      }
    }
  }

  /// Each dialog waits until the test answers it, or until it is withdrawn.
  private final class Dialogs: PromptBackEnd {
    let report = PromptReport(.terminal)
    private let state = Mutex<(shown: [PromptText], answers: [String?], isOpen: Bool)>(([], [], false))
    let isBroken: Bool
    let canBeQueued: Bool

    init(isBroken: Bool = false, canBeQueued: Bool = false) {
      (self.isBroken, self.canBeQueued) = (isBroken, canBeQueued)
    }

    var shown: [PromptText] { state.withLock { $0.shown } }
    var isShown: Bool { state.withLock { $0.isOpen } }
    /// Types a passphrase, or presses the button of a dialog without a field; or refuses.
    func answer(_ text: String?) { state.withLock { $0.answers.append(text) } }
    private let isPreparing = Mutex(false)
    /// Sets whether a dialog is being prepared until this is called again.
    func prepare(_ isPreparing: Bool) { self.isPreparing.withLock { $0 = isPreparing } }

    func open(_ dialog: PromptText) async throws(PromptFailure) {
      if isBroken { throw .unavailable("no dialog can be shown") }
      while isPreparing.withLock({ $0 }) {
        guard !Task.isCancelled else { throw .noAnswer(.cancelled) }
        await Task.yield()
      }
    }

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
      state.withLock { ($0.isOpen, $0.shown) = (true, $0.shown + [dialog]) }
      defer { state.withLock { $0.isOpen = false } }
      while !Task.isCancelled {
        if let answer = state.withLock({ $0.answers.isEmpty ? nil : Optional($0.answers.removeFirst()) }) {
          guard let answer else { throw .noAnswer(.declined) }
          return dialog.takesPassphrase ? .typed(secret(answer)) : .agreed
        }
        await Task.yield()
      }
      throw .noAnswer(.cancelled)
    }
  }

  private func source(_ dialogs: Dialogs) -> VaultKeySource {
    VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: dialogs), askProtector: key.ask, log: lines.addProblem)
  }

  /// Begins to open the vault, and waits until the security key blinks and the dialog is shown.
  private func opening(_ source: VaultKeySource, _ dialogs: Dialogs) async -> Task<OpenVault, any Error> {
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com")
    let task = Task { try await source.open(for: .prompt(prompt)) }
    await wait { key.isBlinking && dialogs.isShown }
    return task
  }

  private func wait(until condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test func `the dialog says that the key blinks, and names the request`() async throws {
    let dialogs = Dialogs()
    let task = await opening(source(dialogs), dialogs)
    let text = try #require(dialogs.shown.first)
    #expect(text.headline == "Unlock your passkeys?" && text.takesPassphrase && text.entry == .passphrase)
    #expect(text.details.contains("Site: example.com") && text.details.contains(Self.words))
    #expect(!text.mayConcernAnotherKey, "the line about other keys would contradict it")
    key.end(.touched)
    _ = try await task.value
  }

  @Test func `a touch unlocks, closes the dialog, and verifies nobody`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    key.end(.touched)
    #expect(try await !task.value.isOpenedByPerson)
    #expect(!dialogs.isShown && dialogs.shown.count == 1 && !key.isBlinking && lines.all == [])
    #expect(source.vault.status.unlockedBy == "security key")
  }

  @Test func `the passphrase unlocks, and the key stops blinking`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    dialogs.answer("right")
    #expect(try await task.value.isOpenedByPerson)
    #expect(!dialogs.isShown && dialogs.shown.count == 1 && key.isCancelled && !key.isBlinking && lines.all == [])
    #expect(source.vault.status.unlockedBy == nil)
  }

  @Test func `after a wrong passphrase the dialog asks again, and the key goes on blinking`() async throws {
    let dialogs = Dialogs()
    let task = await opening(source(dialogs), dialogs)
    dialogs.answer("wrong")
    await wait { dialogs.shown.count == 2 && dialogs.isShown }
    #expect(dialogs.shown.map(\.remark) == [nil, "Wrong passphrase, 2 tries left"])
    #expect(key.isBlinking)
    key.end(.touched)
    #expect(try await !task.value.isOpenedByPerson)
  }

  @Test(arguments: [([nil], UserInteractionError.declined), (["a", "b", "c"], .wrongPassphrase)])
  func `a refusal or three wrong passphrases deny the request, and the key stops blinking`(
    answers: [String?], error: UserInteractionError
  ) async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    for answer in answers { dialogs.answer(answer) }
    await #expect(throws: error) { try await task.value }
    #expect(source.current == nil && key.isCancelled && !key.isBlinking && dialogs.shown.count == answers.count)
  }

  @Test func `a cancellation ends both waits`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(source.current == nil && !dialogs.isShown && key.isCancelled && lines.all == [])
  }

  @Test func `a lock ends both waits, and withdraws the request`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    source.vault.lock()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(source.current == nil && !dialogs.isShown && key.isCancelled)
  }

  @Test func `a passphrase from the control socket ends both waits`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = await opening(source, dialogs)
    try await source.unlock(passphrase: secret("right"))
    #expect(try await !task.value.isOpenedByPerson)
    #expect(!dialogs.isShown && key.isCancelled && lines.all == [])
  }

  @Test func `without a touch, the next slot is tried, and then the passphrase's own dialog comes`() async throws {
    let dialogs = Dialogs()
    let task = await opening(source(dialogs), dialogs)
    key.end(.refused)
    await wait { dialogs.shown.count == 2 && dialogs.isShown }
    #expect(dialogs.shown.last?.details.contains(Self.words) == false)
    dialogs.answer("right")
    #expect(try await task.value.isOpenedByPerson)
    #expect(
      lines.all == [
        "slot 2 (security key) did not unlock the vault: it was not touched",
        "slot 3 (security key) did not unlock the vault: it is not plugged in",
      ])
  }

  @Test func `if the dialog cannot be shown, a touch still unlocks`() async throws {
    let source = source(Dialogs(isBroken: true))
    let task = Task { try await source.open(for: nil) }
    await wait { key.isBlinking }
    key.end(.touched)
    #expect(try await !task.value.isOpenedByPerson)
  }

  // Holds: PROTECT-24
  @Test func `after a lock, a touch counts only once its dialog is shown`() async throws {
    let dialogs = Dialogs()
    let opened = source(dialogs)
    opened.vault.lock()
    dialogs.prepare(true)
    let task = Task { try await opened.open(for: nil) }
    await wait { key.isBlinking }
    key.end(.touched)
    await wait { !key.isBlinking }
    for _ in 0..<1000 { await Task.yield() }
    #expect(opened.current == nil && dialogs.shown == [])
    dialogs.prepare(false)
    #expect(try await !task.value.isOpenedByPerson)
    // A touch that counted before would have ended the dialog while it was prepared.
    #expect(dialogs.shown.count == 1)
    opened.vault.lock()
    // The key has its touch, and the dialog cannot be shown.
    let broken = source(Dialogs(isBroken: true))
    broken.vault.lock()
    await #expect(throws: UserInteractionError.unavailable) { try await broken.open(for: nil) }
    #expect(broken.current == nil)
  }

  // Holds: PROTECT-24
  @Test func `after a lock, a touch counts only after a button where the desktop can hide a dialog`() async throws {
    let dialogs = Dialogs(canBeQueued: true)
    let source = source(dialogs)
    source.vault.lock()
    let task = await opening(source, dialogs)
    key.end(.touched)
    await wait { !key.isBlinking }
    for _ in 0..<1000 { await Task.yield() }
    #expect(source.current == nil && dialogs.shown.map(\.takesPassphrase) == [false])
    dialogs.answer("")
    #expect(try await !task.value.isOpenedByPerson)
    #expect(dialogs.shown.map(\.takesPassphrase).last == true)
  }

  @Test func `no dialog is shown at the start, or for a key that is absent`() async throws {
    let dialogs = Dialogs()
    let source = source(dialogs)
    let task = Task { await source.openAtStart() }
    await wait { key.isBlinking }
    key.end(.touched)
    await task.value
    #expect(source.current != nil && dialogs.shown == [])
    source.vault.lock()
    // A lock before the start has unlocked it: no touch without a dialog.
    await source.openAtStart()
    #expect(source.current == nil && dialogs.shown == [])
    key.plug(9)
    dialogs.answer("right")
    _ = try await source.open(for: nil)
    #expect(dialogs.shown.count == 1 && dialogs.shown.first?.details.contains(Self.words) == false)
  }

  @Test func `the dialog comes after the one for the PIN`() async throws {
    let dialogs = Dialogs()
    key.plug(2)
    for answer in ["123", "1234"] { dialogs.answer(answer) }
    let task = Task { try await source(dialogs).open(for: nil) }
    await wait { key.isBlinking && dialogs.shown.count == 3 && dialogs.isShown }
    #expect(dialogs.shown.map(\.entry) == [.pin, .pin, .passphrase])
    #expect(dialogs.shown.last?.details.contains(Self.words) == true)
    key.end(.touched)
    #expect(try await !task.value.isOpenedByPerson)
    #expect(!dialogs.isShown && lines.all == ["slot 2 (security key) did not unlock the vault: it is not plugged in"])
  }

  @Test func `a cancellation while the PIN is checked is no fault of the slot`() async throws {
    let dialogs = Dialogs()
    key.plug(2)
    dialogs.answer("slow")
    let task = Task { try await source(dialogs).open(for: nil) }
    await wait { dialogs.shown.count == 1 && !dialogs.isShown }
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(lines.all == ["slot 2 (security key) did not unlock the vault: it is not plugged in"])
  }

  @Test func `a refusal after the PIN denies the request`() async throws {
    let dialogs = Dialogs()
    key.plug(2)
    for answer in ["1234", nil] { dialogs.answer(answer) }
    await #expect(throws: UserInteractionError.declined) { try await source(dialogs).open(for: nil) }
    #expect(dialogs.shown.map(\.entry) == [.pin, .passphrase] && key.isCancelled && !key.isBlinking)
  }
}
