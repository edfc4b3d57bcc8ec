import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Dispatch
import EventLoop
import EventLoopTests
import Foundation
import Messages
import ProcessIO
import ProtectorProtocol
import Recovery
import StateDirectory
import Synchronization
import TestVectors
import Testing
import Vault

@testable import HelperProcess
@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

@Suite struct VaultKeySourceTests {
  let made: MadeVault
  let lines = Lines()
  let verifier = PassphraseVerifier()

  init() throws { made = try MadeVault(passphrase: "right") }

  final class Lines: Sendable {
    private let all = Mutex<[String]>([])
    var lines: [String] { all.withLock { $0 } }
    func add(_ line: String) { all.withLock { $0.append(line) } }
    func add(_ problem: Problem) { add(problem.text) }
  }

  private func source(_ backEnd: any PromptBackEnd) -> VaultKeySource { source(UserPrompter(testing: backEnd)) }

  private func source(_ prompter: UserPrompter) -> VaultKeySource {
    VaultKeySource(directory: made.directory, prompter: prompter, verifier: verifier, log: lines.add)
  }

  // MARK: Prompts

  @Test func `a locked vault is opened with its passphrase, which is prompted for once`() async throws {
    let dialogs = ScriptedBackEnd(typed: ["right"])
    let source = source(dialogs)
    #expect(source.current == nil)
    #expect(source.vault.status == VaultStatus(isUnlocked: false, fingerprint: nil, fault: nil))
    let vault = try await source.open(for: nil)
    #expect(vault.isOpenedByPerson)
    #expect(vault.keys.fingerprint == made.keys.fingerprint)
    #expect(try vault.store.allCredentials() == [])
    let again = try await source.open(for: nil)
    #expect(!again.isOpenedByPerson)
    #expect(source.current?.isOpenedByPerson == false)
    #expect(again.keys.fingerprint == made.keys.fingerprint)
    #expect(dialogs.seen.withLock { $0 } == ["passphrase Unlock your passkeys?"])
    #expect(source.vault.status == VaultStatus(isUnlocked: true, fingerprint: made.keys.fingerprint, fault: nil))
  }

  @Test func `a wrong passphrase is reported, and can be tried again`() async throws {
    let dialogs = ScriptedBackEnd(typed: ["wrong", " ", "right"])
    _ = try await source(dialogs).open(for: nil)
    #expect(
      dialogs.seen.withLock { $0.dropFirst() } == ["Wrong passphrase, 2 tries left", "Wrong passphrase, 1 try left"])
  }

  @Test func `three wrong passphrases end the command, and the vault stays locked`() async {
    let source = source(ScriptedBackEnd(typed: ["1", "2", "3", "right"]))
    await #expect(throws: UserInteractionError.wrongPassphrase) { try await source.open(for: nil) }
    #expect(source.current == nil)
    // A damaged slot looks like a wrong passphrase, so the log names the file.
    #expect(lines.lines.count == 1)
    #expect(
      lines.lines.first?.hasPrefix("\(made.directory.vaultPath): the passphrase is wrong; if you are sure ") == true)
  }

  @Test func `closing the dialog declines the command`() async {
    await #expect(throws: UserInteractionError.declined) { try await source(ScriptedBackEnd()).open(for: nil) }
  }

  @Test func `with a pinentry it is one dialog`() async throws {
    let scripted = try ScriptedPinentry(["passphrase": "right", "wrong": 1])
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com")
    _ = try await source(scripted.prompter()).open(for: .prompt(prompt))
    let asks = try scripted.events("ask")
    #expect(asks.map(\.description) == Array(repeating: PromptText.unlock(for: .prompt(prompt)).description, count: 2))
    #expect(asks.map(\.error) == [nil, "Wrong passphrase, 2 tries left"])
    #expect(try scripted.events("start").count == 1)
  }

  @Test func `a cancelled task withdraws the dialog, and the vault stays locked`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "never"])
    let source = source(try scripted.prompter())
    let task = Task { try await source.open(for: nil) }
    try await scripted.awaitEvent("ask")
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(source.current == nil)
    #expect(try await scripted.ends())
  }

  // MARK: Files that are missing or damaged

  @Test func `a damaged vault declines without a dialog, and the log names the file`() async throws {
    let bytes = try made.directory.readVault()
    try made.directory.replaceVault(Array(bytes.dropLast()))
    let dialogs = ScriptedBackEnd(typed: ["right"])
    let source = source(dialogs)
    await #expect(throws: UserInteractionError.unavailable) { try await source.open(for: nil) }
    #expect(dialogs.seen.withLock { $0 } == [])
    #expect(lines.lines.count == 1)
    #expect(lines.lines.first?.hasPrefix("\(made.directory.vaultPath): damaged vault: ") == true)
    #expect(source.vault.status.fault?.kind == .damaged)
    #expect(try made.directory.readVault() == Array(bytes.dropLast()))
  }

  @Test(arguments: ["vault", "credentials.sqlite"])
  func `a missing file declines without a dialog, and the log names a remedy`(name: String) async throws {
    try FileManager.default.removeItem(atPath: "\(made.directory.path)/\(name)")
    let dialogs = ScriptedBackEnd(typed: ["right"])
    let source = source(dialogs)
    await #expect(throws: UserInteractionError.unavailable) { try await source.open(for: nil) }
    #expect(dialogs.seen.withLock { $0 } == [])
    #expect(lines.lines.count == 1)
    #expect(lines.lines.first?.contains("\(made.directory.path)/\(name)") == true)
    #expect(lines.lines.first?.contains("liquid-auth ") == true)
    #expect(!FileManager.default.fileExists(atPath: "\(made.directory.path)/\(name)"))
  }

  @Test func `a damaged store declines after one dialog, and the log names the file`() async throws {
    let path = made.directory.storePath
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    // The last byte of the state row. The empty page of the large blobs and the page of the row sum follow it.
    bytes[bytes.count - 2 * 4096 - 1] ^= 1
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let dialogs = ScriptedBackEnd(typed: ["right", "right"])
    await #expect(throws: UserInteractionError.unavailable) { try await source(dialogs).open(for: nil) }
    #expect(dialogs.seen.withLock { $0 } == ["passphrase Unlock your passkeys?"])
    #expect(lines.lines.count == 1)
    #expect(lines.lines.first?.contains(path) == true)
    #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
  }

  // MARK: Protectors

  /// Adds slots with these keys; the one with the key 3 unlocks at the start.
  private func addSlots(_ keys: UInt8...) throws {
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    try made.directory.changeSlots { file throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      for key in keys {
        try file.seal(
          unlocked, for: .secretService(id: [UInt8](repeating: key, count: 16), autoUnlock: key == 3),
          key: Keyring.key(key), using: &generator)
      }
    }
  }

  /// A protector that has the keys of some slots.
  private final class Keyring: Sendable {
    let asked = Mutex<[UInt8]>([])
    let keys: [UInt8]
    static let slotWithPIN: UInt8 = 5
    /// Whether it waits until it is cancelled.
    let waits: Bool

    static func key(_ byte: UInt8) -> SecretBytes {
      SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: byte, count: 32)) }
    }

    init(_ keys: UInt8..., waits: Bool = false) { (self.keys, self.waits) = (keys, waits) }

    @Sendable func ask(
      _ request: ProtectorRequest, _ cancellation: Cancellation, _: @Sendable () -> Void
    ) -> Result<ProtectorAnswer, ProtectorFailure> {
      let slot = request.data[0]
      asked.withLock { $0.append(slot) }
      if waits { _ = cancellation.wait(for: cancellation.descriptor, 0, until: .now + .patience) }
      guard keys.contains(slot), !waits else { return .failure(ProtectorFailure(.absent, "there is no key")) }
      if slot == Self.slotWithPIN {
        guard let pin = request.pin else { return .failure(ProtectorFailure(.pinNeeded, "the slot needs its PIN")) }
        guard pin.isEqual(to: secret("1234")) else { return .failure(ProtectorFailure(.wrongPIN, "the PIN is wrong")) }
      }
      return .success(ProtectorAnswer(key: Self.key(slot)))
    }
  }

  private func source(_ backEnd: any PromptBackEnd, _ keyring: Keyring) -> VaultKeySource {
    VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: backEnd), verifier: verifier,
      askProtector: keyring.ask, log: lines.add)
  }

  // Holds: PROTECT-5, PROTECT-7
  @Test func `another slot unlocks without a dialog, and verifies nobody`() async throws {
    try addSlots(1)
    let dialogs = ScriptedBackEnd(typed: ["right"])
    let source = source(dialogs, Keyring(1))
    let vault = try await source.open(for: nil)
    #expect(!vault.isOpenedByPerson)
    #expect(vault.keys.fingerprint == made.keys.fingerprint)
    #expect(source.vault.status.unlockedBy == "keyring")
    #expect(dialogs.seen.withLock { $0 } == [] && lines.lines == [])
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
    #expect(await verifier.verify(secret("right")) == .right)
    #expect(verifier.triesLeft == 8)
    source.vault.lock()
    #expect(await verifier.verify(secret("right")) == .locked)
  }

  // Holds: PROTECT-5
  @Test func `slots are tried in their order, and a slot that fails says why`() async throws {
    try addSlots(1, 2, 4)
    let keyring = Keyring(2, 4)
    #expect(try await !source(ScriptedBackEnd(), keyring).open(for: nil).isOpenedByPerson)
    #expect(keyring.asked.withLock { $0 } == [1, 2])
    #expect(lines.lines == ["slot 2 (keyring) did not unlock the vault: there is no key"])
  }

  // Holds: PROTECT-5
  @Test func `when every other slot fails, the passphrase's dialog comes`() async throws {
    try addSlots(1)
    let dialogs = ScriptedBackEnd(typed: ["right"])
    #expect(try await source(dialogs, Keyring()).open(for: nil).isOpenedByPerson)
    #expect(dialogs.seen.withLock { $0 } == ["passphrase Unlock your passkeys?"])
    #expect(lines.lines == ["slot 2 (keyring) did not unlock the vault: there is no key"])
  }

  // Holds: PROTECT-5
  @Test func `a key that does not open its slot is a slot that fails`() async throws {
    try addSlots(1)
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    try made.directory.changeSlots { file throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      try file.seal(
        unlocked, for: .secretService(id: [UInt8](repeating: 2, count: 16), autoUnlock: false),
        key: Keyring.key(9), using: &generator)
    }
    #expect(try await source(ScriptedBackEnd(typed: ["right"]), Keyring(2)).open(for: nil).isOpenedByPerson)
    #expect(lines.lines.count == 2)
    #expect(lines.lines.last?.contains("the key does not open this slot; remove the slot") == true)
  }

  // Holds: PROTECT-10
  @Test func `the PIN of a slot is asked for, and again after a wrong one`() async throws {
    try addSlots(Keyring.slotWithPIN)
    let (dialogs, keyring) = (ScriptedBackEnd(typed: ["12345", "1234"]), Keyring(Keyring.slotWithPIN))
    let source = source(dialogs, keyring)
    #expect(try await !source.open(for: nil).isOpenedByPerson, "a PIN of a slot verifies nobody")
    #expect(keyring.asked.withLock { $0.count } == 3 && lines.lines == [])
    #expect(dialogs.seen.withLock { $0.count } == 2)
  }

  // Holds: PROTECT-10
  @Test func `after three wrong PINs the next slot is tried`() async throws {
    try addSlots(Keyring.slotWithPIN, 1)
    let (dialogs, keyring) = (ScriptedBackEnd(typed: ["a", "b", "c"]), Keyring(Keyring.slotWithPIN, 1))
    #expect(try await !source(dialogs, keyring).open(for: nil).isOpenedByPerson)
    #expect(keyring.asked.withLock { $0 } == [5, 5, 5, 5, 1])
    #expect(lines.lines == ["slot 2 (keyring) did not unlock the vault: the PIN is wrong"])
  }

  // Holds: PROTECT-10
  @Test func `after a refusal of the PIN, the dialog for the passphrase comes`() async throws {
    try addSlots(Keyring.slotWithPIN)
    let asked = Mutex<[String]>([])
    let dialogs = AnsweringBackEnd { (dialog) throws(PromptFailure) in
      asked.withLock { $0.append(dialog.label) }
      guard dialog.entry == .passphrase else { throw .noAnswer(.declined) }
      return .typed(secret("right"))
    }
    #expect(try await source(dialogs, Keyring(Keyring.slotWithPIN)).open(for: nil).isOpenedByPerson)
    #expect(asked.withLock { $0 } == ["PIN of the slot:", "Vault passphrase:"] && lines.lines == [])
  }

  // Holds: PROTECT-10
  @Test func `a PIN that nobody types ends the request`() async throws {
    try addSlots(Keyring.slotWithPIN)
    let dialogs = AnsweringBackEnd { (_) throws(PromptFailure) in throw .noAnswer(.timedOut) }
    await #expect(throws: UserInteractionError.timedOut) {
      try await source(dialogs, Keyring(Keyring.slotWithPIN)).open(for: nil)
    }
  }

  private struct AnsweringBackEnd: PromptBackEnd {
    let report = PromptReport(.terminal)
    let answer: @Sendable (PromptText) throws(PromptFailure) -> PromptAnswer

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer { try answer(dialog) }
  }

  // Holds: PROTECT-6
  @Test func `only a slot that was added for it unlocks at the start`() async throws {
    try addSlots(1)
    let keyring = Keyring(1, 3)
    let source = source(ScriptedBackEnd(), keyring)
    await source.openAtStart()
    #expect(source.current == nil && keyring.asked.withLock { $0 } == [])
    try addSlots(3)
    await source.openAtStart()
    #expect(source.current?.isOpenedByPerson == false && keyring.asked.withLock { $0 } == [3])
    await source.openAtStart()
    #expect(keyring.asked.withLock { $0 } == [3])
  }

  // Holds: PROTECT-8
  @Test func `a lock ends the wait for another slot, and the request is withdrawn`() async throws {
    try addSlots(1, 2)
    let (dialogs, keyring) = (ScriptedBackEnd(typed: ["right"]), Keyring(1, waits: true))
    let source = source(dialogs, keyring)
    let task = Task { try await source.open(for: nil) }
    await eventually { !keyring.asked.withLock { $0.isEmpty } }
    source.vault.lock()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(source.current == nil && keyring.asked.withLock { $0 } == [1])
    #expect(dialogs.seen.withLock { $0 } == [])
  }

  // Holds: PROTECT-8
  @Test func `a cancelled request ends the wait for another slot`() async throws {
    try addSlots(1)
    let keyring = Keyring(1, waits: true)
    let source = source(ScriptedBackEnd(typed: ["right"]), keyring)
    let task = Task { try await source.open(for: nil) }
    await eventually { !keyring.asked.withLock { $0.isEmpty } }
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
  }

  // Holds: PROTECT-7
  @Test func `after too many wrong passphrases only the passphrase unlocks`() async throws {
    try addSlots(1, 3)
    let keyring = Keyring(1, 3)
    let source = source(ScriptedBackEnd(typed: ["right"]), keyring)
    _ = try await source.open(for: nil)
    for _ in 0..<8 { _ = await verifier.verify(secret("wrong")) }
    #expect(source.current == nil)
    await source.openAtStart()
    #expect(source.current == nil)
    #expect(try await source.open(for: nil).isOpenedByPerson)
    #expect(keyring.asked.withLock { $0 } == [1])
    source.vault.lock()
    #expect(try await !source.open(for: nil).isOpenedByPerson)
  }

  // Holds: PROTECT-24
  @Test func `after a lock, a slot that opens without the person needs a dialog, and is not used for a silent request`()
    async throws
  {
    try addSlots(1)
    let shown = Mutex<[PromptText]>([])
    let agrees = Mutex(false)
    let dialogs = AnsweringBackEnd { (dialog) throws(PromptFailure) in
      shown.withLock { $0.append(dialog) }
      guard agrees.withLock({ $0 }) else { throw .noAnswer(.declined) }
      return dialog.takesPassphrase ? .typed(secret("right")) : .agreed
    }
    let keyring = Keyring(1)
    let source = source(dialogs, keyring)
    let silent = UnlockReason.silent(UserPrompt(purpose: .signIn, rpID: "example.com"))
    // Before the first lock, the slot opens for any request.
    #expect(try await !source.open(for: silent).isOpenedByPerson)
    source.vault.lock()
    #expect(shown.withLock { $0.isEmpty } && keyring.asked.withLock { $0 } == [1])
    await #expect(throws: UserInteractionError.declined) { try await source.open(for: silent) }
    #expect(shown.withLock { $0.map(\.takesPassphrase) } == [true], "the passphrase's dialog")
    await #expect(throws: UserInteractionError.declined) { try await source.open(for: nil) }
    #expect(shown.withLock { $0.map(\.takesPassphrase) } == [true, false, true], "then the passphrase's dialog")
    #expect(
      shown.withLock { $0[1].details.last }
        == "You do not need to type the passphrase: slot 2 (keyring) unlocks the vault.")
    #expect(shown.withLock { $0.map(\.refuse) } == ["Deny", "Use passphrase", "Deny"])
    #expect(source.current == nil && keyring.asked.withLock { $0 } == [1], "the keyring was not asked")
    agrees.withLock { $0 = true }
    #expect(try await !source.open(for: nil).isOpenedByPerson)
    #expect(shown.withLock { $0.count } == 4 && keyring.asked.withLock { $0 } == [1, 1] && lines.lines == [])
  }

  /// Opens the vault with the slot of `keyring`, locks it, and checks that the slot opens it only after a dialog.
  private func checkSlot(after lock: (VaultKeySource) async throws -> Void) async throws {
    try addSlots(1)
    let (dialogs, keyring) = (ScriptedBackEnd(typed: ["right"]), Keyring(1))
    let source = source(dialogs, keyring)
    let takesPassphrase = { dialogs.texts.withLock { $0.map(\.takesPassphrase) } }
    let silent = UnlockReason.silent(UserPrompt(purpose: .signIn, rpID: "example.com"))
    #expect(try await !source.open(for: silent).isOpenedByPerson)
    #expect(takesPassphrase() == [] && keyring.asked.withLock { $0 } == [1])
    try await lock(source)
    #expect(source.current == nil)
    #expect(try await source.open(for: silent).isOpenedByPerson, "the passphrase was typed")
    #expect(takesPassphrase() == [true] && keyring.asked.withLock { $0 } == [1], "the keyring was not asked")
    source.vault.lock()
    #expect(try await !source.open(for: nil).isOpenedByPerson)
    #expect(takesPassphrase() == [true, false] && keyring.asked.withLock { $0 } == [1, 1])
  }

  // Holds: PROTECT-24
  @Test(
    arguments: [
      .command, .event(.suspend), .event(.screenLock), .event(.userSwitch), .disconnected, .slotChanged, .phraseChanged,
    ] as [LockReason])
  func `after a lock for any reason, a slot that opens without the person needs a dialog`(reason: LockReason)
    async throws
  {
    try await checkSlot { source in #expect(source.vault.lock(reason)) }
  }

  // Holds: PROTECT-24
  @Test func `after the time without use, a slot that opens without the person needs a dialog`() async throws {
    let clock = ManualClock()
    let idle = IdleLock(limit: .seconds(3600), clock: clock, executor: globalConcurrentExecutor)
    try await checkSlot { source in
      idle.observe { source.vault.lock(.idle(.seconds(3600))) }
      idle.wasOpened()
      await clock.sleepers(1)
      clock.advance(by: .seconds(3600))
      await eventually { source.current == nil }
    }
  }

  // Holds: PROTECT-24
  @Test func `who refuses a slot after a lock can type the passphrase, and is not asked about the next slot`()
    async throws
  {
    try addSlots(1, 2)
    let shown = Mutex<[Bool]>([])
    let dialogs = AnsweringBackEnd { (dialog) throws(PromptFailure) in
      shown.withLock { $0.append(dialog.takesPassphrase) }
      guard dialog.takesPassphrase else { throw .noAnswer(.declined) }
      return .typed(secret("right"))
    }
    let keyring = Keyring(1, 2)
    let source = source(dialogs, keyring)
    source.vault.lock()
    #expect(try await source.open(for: nil).isOpenedByPerson)
    #expect(shown.withLock { $0 } == [false, true] && keyring.asked.withLock { $0 } == [] && lines.lines == [])
  }

  // Holds: CONTROL-19, PROTECT-24
  @Test func `an unlocking with a slot that the person refuses is a refusal of its program`() async throws {
    try addSlots(1)
    let shown = Mutex(0)
    let dialogs = AnsweringBackEnd { (_) throws(PromptFailure) in
      shown.withLock { $0 += 1 }
      throw .noAnswer(.declined)
    }
    let source = source(dialogs, Keyring(1))
    let (clock, queue, program) = (ManualClock(), RequestQueue<Int>(0), RequestOrigin(door: .controlSocket(process: 7)))
    let refused = RefusedPrograms(clock: clock)
    source.vault.lock()
    for _ in 0..<2 {
      #expect(try await !source.openBySlot(from: program, countedBy: refused))
    }
    #expect(shown.withLock { $0 } == 2)
    let next = Task { try await refused.submit(to: queue, from: program) { $0 } }
    await clock.sleepers(1)
    next.cancel()
    await #expect(throws: CancellationError.self) { try await next.value }
  }

  // Holds: PROTECT-22
  @Test func `a slot that another program has changed does not unlock at the start`() async throws {
    try addSlots(1)
    // The id of the slot, then member 3: false, and true.
    let choice = [UInt8](repeating: 1, count: 16) + [0x03]
    let vault = try made.directory.readVault()
    let changed = vault.replacing(choice + [0xf4], with: choice + [0xf5])
    try #require(changed != vault)
    try made.directory.replaceVault(changed)
    let keyring = Keyring(1)
    let source = source(ScriptedBackEnd(), keyring)
    await source.openAtStart()
    #expect(source.current == nil && keyring.asked.withLock { $0 } == [1])
    #expect(lines.lines.count == 1)
    #expect(lines.lines.first?.contains("this slot was modified outside liquid-auth") == true)
  }

  // MARK: The control socket

  @Test func `while a lock waits for a change of the store, the state can be read`() async throws {
    let source = source(ScriptedBackEnd())
    try await source.unlock(passphrase: secret("right"))
    let store = try #require(source.vault.openStore)
    let state = try store.state()
    let isLocked = DispatchSemaphore(value: 0)
    // The store is in use until the observer returns.
    store.observe {
      Thread.detachNewThread {
        source.vault.lock()
        isLocked.signal()
      }
      let isRead = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        while source.current != nil { usleep(1000) }
        isRead.signal()
      }
      #expect(isRead.wait(timeout: .now() + .seconds(60 * patience)) == .success)
    }
    try store.setState(state)
    await OwnThread.run { isLocked.wait() }
    #expect(source.current == nil && source.vault.lockings == 1)
  }

  @Test func `the vault can be unlocked and locked by command`() async throws {
    let source = source(ScriptedBackEnd())
    try await source.unlock(passphrase: secret("right"))
    #expect(source.current?.keys.fingerprint == made.keys.fingerprint)
    #expect(await verifier.verify(secret("right")) == .right)
    let unlocking = try #require(source.current?.unlocking)
    try await source.unlock(passphrase: secret("right"))
    #expect(source.current?.unlocking === unlocking && !unlocking.hasEnded, "the vault stayed open")
    source.vault.lock()
    #expect(unlocking.hasEnded)
    #expect(source.current == nil)
    #expect(await verifier.verify(secret("right")) == .locked)
    #expect(source.vault.status == VaultStatus(isUnlocked: false, fingerprint: nil, fault: nil))
  }

  @Test func `a wrong passphrase by command is an error, also while the vault is open`() async throws {
    let source = source(ScriptedBackEnd())
    for _ in 0..<2 {
      let error = await #expect(throws: StateDirectoryError.self) {
        try await source.unlock(passphrase: secret("wrong"))
      }
      #expect(error?.kind == .wrongPassphrase)
      try await source.unlock(passphrase: secret("right"))
    }
    #expect(source.current != nil)
  }

  @Test func `a ceremony keeps its store while the vault is locked, and unlocking finds the same store`() async throws {
    let source = source(ScriptedBackEnd())
    try await source.unlock(passphrase: secret("right"))
    let inCeremony = try #require(source.current)
    source.vault.lock()
    try await source.unlock(passphrase: secret("right"))
    #expect(try inCeremony.store.state() == source.current?.store.state())
  }

  @Test func `another vault in the file of the open one is refused`() async throws {
    let source = source(ScriptedBackEnd())
    try await source.unlock(passphrase: secret("right"))
    let unlocking = try #require(source.current).unlocking
    let other = try MadeVault(passphrase: "other")
    try made.directory.replaceVault(other.directory.readVault())
    let error = await #expect(throws: StateDirectoryError.self) {
      try await source.unlock(passphrase: secret("other"))
    }
    #expect(error?.kind == .wrongPassphrase)
    #expect(error?.description.hasPrefix("\(made.directory.vaultPath) is not the vault that is open; ") == true)
    #expect(source.current?.unlocking === unlocking)
    #expect(await verifier.verify(secret("right")) == .right)
    #expect(await verifier.verify(secret("other")) == .wrong(triesLeft: 7))
  }

  @Test func `an unlock that began before a lock has no effect`() async throws {
    // The passphrase is typed and checked; the vault is locked before the keys are stored.
    let source = source(ScriptedBackEnd())
    let unlocking = try await source.unlock(passphrase: secret("right"))
    source.vault.lock()
    let again = try await source.unlock(passphrase: secret("right"))
    #expect(unlocking !== again)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask { _ = try? await source.unlock(passphrase: secret("right")) }
        group.addTask { source.vault.lock() }
      }
    }
    source.vault.lock()
    #expect(source.current == nil)
    #expect(await verifier.verify(secret("right")) == .locked)
  }

  @Test func `a cancelled unlock opens nothing`() async throws {
    let source = source(ScriptedBackEnd())
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await source.unlock(passphrase: secret("right"))
    }
    #expect(try await task.value == nil)
    #expect(source.current == nil)
  }

  @Test func `concurrent unlocks open one store`() async throws {
    let source = source(ScriptedBackEnd(typed: ["right"]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          if number % 2 == 0 {
            try await source.unlock(passphrase: secret("right"))
          } else {
            _ = try await source.open(for: nil)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(lines.lines.isEmpty)
    #expect(try source.current?.store.allCredentials() == [])
  }

  // MARK: Slots

  /// Seals a passphrase with the lowest cost, as `liquid-auth vault passphrase` does.
  private func sealing(_ passphrase: String) throws -> (inout VaultFile, UnlockedVault) throws(VaultError) -> Void {
    let (salt, cost) = (randomBytes(16), try PassphraseCost(opsLimit: 1, memLimit: 8192))
    let key = try cost.key(passphrase: secret(passphrase), salt: salt)
    return { (file, vault) throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      try file.seal(vault, for: .passphrase(salt: salt, cost: cost), key: key, using: &generator)
    }
  }

  @Test func `a new passphrase locks the vault, and only it unlocks again`() async throws {
    let source = source(ScriptedBackEnd())
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    try source.vault.changeSlots(since: unlocking, sealing("new"))
    #expect(source.current == nil && source.vault.status.lockReason == .slotChanged)
    #expect(await verifier.verify(secret("new")) == .locked)
    let error = await #expect(throws: StateDirectoryError.self) {
      try await source.unlock(passphrase: secret("right"))
    }
    #expect(error?.kind == .wrongPassphrase)
    try await source.unlock(passphrase: secret("new"))
    #expect(source.current?.keys.fingerprint == made.keys.fingerprint)
    #expect(await verifier.verify(secret("new")) == .right)
  }

  @Test(arguments: [false, true])
  func `a vault that another slot opened is locked by a new passphrase, and by the removal of that slot`(
    isRemoved: Bool
  ) async throws {
    try addSlots(1)
    let source = source(ScriptedBackEnd(), Keyring(1))
    let unlocking = try await source.open(for: nil).unlocking
    let slot = try made.directory.slots()[1].id
    if isRemoved {
      try source.vault.changeSlots(since: unlocking) { (file, _) throws(VaultError) in try file.removeSlot(slot) }
    } else {
      try source.vault.changeSlots(since: unlocking, sealing("new"))
    }
    #expect(source.current == nil && source.vault.status.lockReason == .slotChanged)
  }

  @Test func `an unlocking that a lock ended changes no slot`() async throws {
    let source = source(ScriptedBackEnd())
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    source.vault.lock()
    let before = try made.directory.readVault()
    for _ in 0..<2 {
      let failure = #expect(throws: ControlFailure.self) {
        try source.vault.changeSlots(since: unlocking, sealing("new"))
      }
      #expect(failure == ControlSession.passphraseRequired)
      try await source.unlock(passphrase: secret("right"))
    }
    #expect(try made.directory.readVault() == before)
  }

  // Holds: COUNTER-5
  @Test func `an unlocking that a lock ended changes no counter`() async throws {
    let absent: SlotKeys.Ask = { _, _, _ in .failure(ProtectorFailure(.absent, "there is no TPM")) }
    let source = VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: ScriptedBackEnd()), verifier: verifier,
      counter: CounterCheck(ask: absent, time: { 1 }), log: lines.add)
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    source.vault.lock()
    let change = ChangeCounter.Change.on(index: 0x0180_0000, auth: Keyring.key(1), value: 1)
    for _ in 0..<2 {
      let failure = #expect(throws: ControlFailure.self) { try source.vault.changeCounter(since: unlocking, change) }
      #expect(failure == ControlSession.passphraseRequired)
      try await source.unlock(passphrase: secret("right"))
    }
    let store = try #require(source.vault.openStore)
    #expect(try store.state().counter == nil)
  }

  @Test func `a change of slots that is refused leaves the vault open`() async throws {
    let source = source(ScriptedBackEnd())
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    let (before, slot) = (try made.directory.readVault(), try made.directory.slots()[0].id)
    let error = #expect(throws: StateDirectoryError.self) {
      try source.vault.changeSlots(since: unlocking) { (file, _) throws(VaultError) in try file.removeSlot(slot) }
    }
    #expect(error?.kind == .unchanged && source.current != nil)
    #expect(try made.directory.readVault() == before)
  }

  // MARK: Verification

  // Holds: PERSON-10
  @Test func `eight wrong passphrases in a row lock the vault, and unlocking restores the tries`() async throws {
    let source = source(ScriptedBackEnd(typed: ["right"]))
    _ = try await source.open(for: nil)
    for left in (1...7).reversed() { #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: left)) }
    #expect(await verifier.verify(secret("wrong")) == .blocked)
    #expect(source.current == nil)
    #expect(lines.lines == ["the passphrase was wrong 8 times in a row: the vault is locked"])
    #expect(await verifier.verify(secret("right")) == .locked)
    _ = try await source.open(for: nil)
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
  }

  // MARK: Cost

  /// A user whose passphrase is tried while another task waits for the only thread.
  private struct TriedBesideAnother: PromptBackEnd {
    let report = PromptReport(.terminal)
    let workers: EventLoop
    let lines: Lines

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
      if dialog.remark != nil {
        lines.add("the try has ended")
        throw .noAnswer(.declined)
      }
      // Its turns outlast the way to the try, and end long before the try does.
      Task(executorPreference: workers) {
        for _ in 0..<200 { await Task.yield() }
        lines.add("another task")
      }
      return .typed(secret("wrong"))
    }
  }

  @Test func `a passphrase try does not occupy its thread`() async throws {
    // The thread runs its tasks in order of arrival.
    let workers = try EventLoop()
    let made = try MadeVault(passphrase: "right", cost: .standard)
    let prompter = UserPrompter(
      TriedBesideAnother(workers: workers, lines: lines), verifier: nil, otherKeys: { [] },
      programs: { _ in Door.Programs() }, catalogue: .english, clock: workers, executor: workers, log: lines.add)
    let source = VaultKeySource(directory: made.directory, prompter: prompter, log: lines.add)
    await Task(executorPreference: workers) { _ = try? await source.open(for: nil) }.value
    #expect(lines.lines == ["another task", "the try has ended"])
  }

  @Test func `unlocking at the standard cost keeps no memory`() async throws {
    let made = try MadeVault(passphrase: "right", cost: .standard)
    let prompter = UserPrompter(testing: ScriptedBackEnd(typed: ["right"]))
    let source = VaultKeySource(directory: made.directory, prompter: prompter, log: lines.add)
    let before = try Self.residentMebibytes()
    _ = try await source.open(for: nil)
    // Other tests of this process may be running Argon2.
    try await eventually { try Self.residentMebibytes() - before < 64 }
  }

  private static func residentMebibytes() throws -> Int {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (Int(pages[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_048_576
  }
}
