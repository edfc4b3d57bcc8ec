import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import EventLoopTests
import HelperProcess
import Recovery
import StateDirectory
import Synchronization
import Vault

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// A service that the test controls: a passphrase, a vault in memory, and a gate at which CTAP2 requests wait.
final class ScriptedService: ControlService {
  static let passphrase: [UInt8] = Array("correct horse".utf8)

  /// The requests received, in order.
  let calls = Mutex<[String]>([])
  /// The vault; `nil` while it is locked.
  let vault: Mutex<OpenVault?>
  /// The vault's file, whose slots are changed, and how it was opened; `nil` for a service without one.
  let file = Mutex<(file: VaultFile, opened: UnlockedVault)?>(nil)
  /// CTAP2 requests wait here.
  let gate = Gate()
  /// Tries of the passphrase wait here.
  let unlocking = Gate()
  /// Actions on the device wait here.
  let plugging = Gate()
  /// Whether the listener finds a prompt open.
  let isPromptOpen = Mutex(false)
  /// What happens before a turn with the authenticator, such as a request of another client.
  let beforeTurn = Mutex<(@Sendable () throws -> Void)?>(nil)

  let followers = BackupFollowers()
  let dApps = DAppConnections()
  /// The clock of the tickets.
  let clock: ManualClock
  let tickets: TerminalTickets
  /// Whether turns begin without a vault, and find it locked.
  let hasLockedTurns = Mutex(false)
  /// Who answers the prompts; `nil` for a back end that agrees by a button.
  let person = Mutex<(any UserInteraction)?>(nil)

  init(vault: OpenVault? = nil) {
    self.vault = Mutex(vault)
    let clock = ManualClock()
    self.clock = clock
    tickets = TerminalTickets(clock: clock)
  }

  private func note(_ call: String) { calls.withLock { $0.append(call) } }

  /// That of the last request.
  private let withdrawal = Mutex<Withdrawal?>(nil)

  func serving(_ origin: RequestOrigin) -> Self {
    withdrawal.withLock { $0 = origin.withdrawal }
    return self
  }

  func status() async -> AuthenticatorStatus {
    AuthenticatorStatus(
      processID: 7, stateDirectory: "/s", verification: ["none"], vault: .init(.locked),
      device: .init(transport: "pty", attached: true), prompts: PromptReport(.terminal))
  }

  func lock() async { note("lock") }

  func device(_ action: PlugDevice.Action) async throws {
    _ = await plugging.wait()
    note("device \(action)")
    if action == .attach { throw TransportError("cannot open /dev/uhid") }
  }

  func unlock(_ passphrase: SecretBytes) async throws -> Unlocking {
    _ = await unlocking.wait()
    guard passphrase.withUnsafeBytes({ $0.elementsEqual(Self.passphrase) }) else {
      throw ControlFailure(.wrongPassphrase, "the passphrase is wrong")
    }
    note("unlock")
    return vault.withLock { $0?.unlocking } ?? Unlocking()
  }

  func unlockBySlot() async throws -> Bool {
    note("unlockBySlot")
    return vault.withLock { $0 != nil }
  }

  func newStore(_ passphrase: SecretBytes) async throws { note("newStore") }
  func acceptStore(_ passphrase: SecretBytes) async throws -> UInt64 {
    note("acceptStore")
    return 3
  }
  func changeSlots(
    since unlocking: Unlocking, recordedAs kind: HistoryEntry.Kind,
    _ change: @escaping @Sendable (inout VaultFile, UnlockedVault) throws(VaultError) -> Void
  ) async throws {
    try check(unlocking)
    note("changeSlots as \(kind)")
    try file.withLock { held throws(VaultError) in
      guard let (before, opened) = held else { return }
      var changed = before
      try change(&changed, opened)
      held = (changed, opened)
    }
  }

  /// Throws if the vault is open, and was not opened by `unlocking`.
  private func check(_ unlocking: Unlocking) throws {
    guard let vault = vault.withLock({ $0 }), vault.unlocking !== unlocking else { return }
    throw ControlSession.passphraseRequired
  }

  func changeCounter(since unlocking: Unlocking, _ change: ChangeCounter.Change) async throws -> UInt32? {
    try check(unlocking)
    note("changeCounter")
    return 0x0180_0000
  }

  func beginRotation(since unlocking: Unlocking, to phrase: StateDirectory.NewPhrase) async throws {
    try check(unlocking)
    note("beginRotation")
  }

  func endRotation(since unlocking: Unlocking, acceptsHistory: Bool) async throws {
    try check(unlocking)
    note(acceptsHistory ? "endRotation with any history" : "endRotation")
  }

  func check(_ means: VerificationMeans) async throws {
    note("check \(means)")
    throw ControlFailure(.notAllowed, "there is no fingerprint reader")
  }

  func respond(to message: [UInt8], client: UInt64, isHybrid: Bool) async -> [UInt8] {
    note("ctap \(message) of \(client)" + (isHybrid ? " by hybrid" : ""))
    let withdrawal = withdrawal.withLock { $0 }
    if await gate.wait() { return [0x00] + message }
    note(withdrawal?.isOurs == true ? "withdrawn by us" : "withdrawn by \(client)")
    return [0x2D]
  }

  func inTurn<Answer: Sendable>(
    changes: Bool, _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer {
    note(changes ? "in turn" : "in turn, without changes")
    try beforeTurn.withLock { $0 }?()
    if hasLockedTurns.withLock({ $0 }), vault.withLock({ $0 }) == nil {
      var locked = Authenticator.quiet(LockedVaultSource(), UserPrompter(testing: ScriptedBackEnd()))
      return try await work(&locked)
    }
    guard let vault = vault.withLock({ $0 }) else { throw ControlFailure(.operationDenied, "the user refused") }
    var authenticator = Authenticator.quiet(
      vault, person.withLock { $0 } ?? UserPrompter(testing: ScriptedBackEnd()))
    return try await work(&authenticator)
  }
}

extension ControlSession {
  /// The packet that answers a request of a process without a number.
  func answer(to request: ControlRequest) async -> [UInt8] {
    await answer(to: request, from: RequestOrigin(door: .controlSocket(process: nil)))
  }
}

extension Authenticator {
  /// An authenticator with an open vault and no request so far.
  static func quiet(
    _ vault: OpenVault,
    _ interaction: any UserInteraction = UserPrompter(testing: ScriptedBackEnd())
  ) -> Self {
    quiet(OpenVaultSource(vault: vault), interaction)
  }

  /// An authenticator with a key source, whose vault is open or locked.
  static func quiet(_ keySource: any KeySource, _ interaction: any UserInteraction) -> Self {
    Authenticator(
      keySource: keySource, interaction: interaction, extensions: [],
      randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: { 0 }, report: { _ in })
  }
}

private struct LockedVaultSource: KeySource {
  var current: OpenVault? { nil }
  var reported: ReportedSettings { ReportedSettings() }
  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault { throw .unavailable }
}

private struct OpenVaultSource: KeySource {
  let vault: OpenVault
  var current: OpenVault? { vault }
  var reported: ReportedSettings { ReportedSettings() }
  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault { vault }
}

/// Lets requests through, now or later; a cancelled request returns at once.
final class Gate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    var cancelled: Set<Int> = []
    var last = 0
  }

  private let state = Mutex(State())

  /// The number of waiting requests.
  var count: Int { state.withLock { $0.waiting.count } }

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      state.isOpen = true
      return state.waiting.values
    }
    for request in waiting { request.resume(returning: true) }
  }

  /// Ends the waits as if their requests were cancelled; the gate stays closed.
  func end() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for request in waiting { request.resume(returning: false) }
  }

  /// Waits until the gate is open; `false` when the request was cancelled, or its wait was ended.
  func wait() async -> Bool {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = state.withLock { state in
          if state.cancelled.contains(number) { return false }
          if state.isOpen { return true }
          state.waiting[number] = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        state.cancelled.insert(number)
        return state.waiting.removeValue(forKey: number)
      }
      waiting?.resume(returning: false)
    }
  }
}
