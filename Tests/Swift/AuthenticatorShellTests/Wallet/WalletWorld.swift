import CTAP2
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import EventLoop
import EventLoopTests
import Messages
import Recovery
import Synchronization

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// An authenticator with an open vault, dialogs that the test answers, and the account that signs.
struct WalletWorld {
  static let passphrase = "correct horse"

  let dialogs = ReadDialogs()
  let counts = SignatureCounts()
  let authenticator: Authenticator
  let account: AlgorandAddress
  /// The account of the previous phrase, during a move to a new one.
  let previousAccount: AlgorandAddress?
  let keySource: LockedOrOpen
  let other = AlgorandAddress(publicKey: [UInt8](repeating: 7, count: 32))

  /// - Parameter isRotated: whether the vault also has a previous phrase.
  init(
    verifies: Bool = true, isOpen: Bool = true, catalogue: Catalogue = .english, isRotated: Bool = false
  ) throws {
    let previous = try isRotated ? Self.vault(counts) : nil
    let vault = try Self.vault(counts, previous: previous)
    account = try vault.algorandAccount().address
    previousAccount = try previous?.algorandAccount().address
    let verifier = PassphraseVerifier()
    verifier.remember(secret(Self.passphrase))
    keySource = LockedOrOpen(vault, isOpen: isOpen)
    authenticator = .quiet(
      keySource,
      UserPrompter(
        testing: dialogs, verifier: verifies ? verifier : nil, catalogue: catalogue, clock: dialogs.clock))
  }

  /// The open vault of a new phrase.
  private static func vault(_ counts: SignatureCounts, previous: OpenVault? = nil) throws -> OpenVault {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    return OpenVault(
      keys: keys, ed25519Root: try BIP32Ed25519.root(from: .generate()), store: InMemoryCredentialStore(keys: keys),
      signatures: counts, previous: previous)
  }

  /// Handles the command and returns its answer.
  @discardableResult
  func ask<Command: WalletCommand>(_ command: Command) async throws(ControlFailure) -> Command.Answer {
    do { return try await command.handle(authenticator) } catch { throw ControlFailure(error) }
  }
}

/// A vault that opens on request, and keeps the reasons.
final class LockedOrOpen: KeySource {
  private let vault: OpenVault
  private let state: Mutex<(isOpen: Bool, reasons: [UnlockReason?])>

  init(_ vault: OpenVault, isOpen: Bool) {
    self.vault = vault
    state = Mutex((isOpen, []))
  }

  var current: OpenVault? { state.withLock { $0.isOpen } ? vault : nil }
  var reported: ReportedSettings { ReportedSettings() }
  /// The reasons it was opened for.
  var reasons: [UnlockReason?] { state.withLock { $0.reasons } }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    state.withLock { state in
      state.isOpen = true
      state.reasons.append(reason)
    }
    return vault
  }
}

/// A user who reads every dialog, and agrees to all or to the first ones.
final class ReadDialogs: PromptBackEnd {
  private struct State {
    var read: [PromptText] = []
    var verified = 0
    var agreesTo = Int.max
  }

  let report = PromptReport(.terminal)
  let clock = ManualClock()
  private let state = Mutex(State())

  /// The dialogs shown, in order.
  var read: [PromptText] { state.withLock(\.read) }
  /// The number of dialogs that asked for the passphrase.
  var verified: Int { state.withLock(\.verified) }

  /// Agrees to the first `count` dialogs, and refuses the next.
  func agree(to count: Int) { state.withLock { $0.agreesTo = count } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    let agrees = state.withLock { state in
      state.read.append(dialog)
      return state.read.count <= state.agreesTo
    }
    guard agrees else { throw .noAnswer(.declined) }
    clock.advance(by: UserPrompter.shortestReading)
    guard dialog.takesPassphrase else { return .agreed }
    state.withLock { $0.verified += 1 }
    return .typed(secret(WalletWorld.passphrase))
  }
}
