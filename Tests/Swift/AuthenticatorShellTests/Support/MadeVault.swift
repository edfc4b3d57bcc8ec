import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Foundation
import Prompts
import Recovery
import StateDirectory
import Vault

@testable import PromptsTests
@testable import liquid_authenticator

/// A state directory with a vault and its store, removed with the value.
final class MadeVault: Sendable {
  let directory: StateDirectory
  let keys: CredentialKeys

  /// - Parameter cost: of one try of the passphrase; `nil` for the lowest cost.
  init(passphrase: String, cost: PassphraseCost? = nil) throws {
    let path = FileManager.default.temporaryDirectory.path + "/vault-" + UUID().uuidString
    directory = try StateDirectory(creating: path)
    let content = try VaultContent(
      mainKey: .random(count: 64), ed25519Root: .random(count: 96), storeID: randomBytes(16), created: 1)
    keys = CredentialKeys(mainKey: content.mainKey)
    var generator = SystemRandomNumberGenerator()
    let vault = try VaultFile(
      sealing: content, passphrase: secret(passphrase), cost: cost ?? PassphraseCost(opsLimit: 1, memLimit: 8192),
      using: &generator)
    try CredentialDB.create(at: directory.storePath, keys: keys, state: StoreState(storeID: content.storeID))
    try directory.createVault(vault.encoded)
  }

  deinit { try? FileManager.default.removeItem(atPath: directory.path) }
}

extension VaultKeySource {
  /// Makes the parts for a vault, as the daemon does.
  convenience init(
    directory: StateDirectory, prompter: UserPrompter, verifier: PassphraseVerifier = PassphraseVerifier(),
    askProtector: SlotKeys.Ask? = nil, counter: CounterCheck? = nil, log: @escaping @Sendable (Problem) -> Void
  ) {
    let files = VaultFiles(
      directory: directory, counter: counter, maximumPasskeys: OpenVault.defaultMaximumDiscoverableCredentials,
      signatures: SignatureCounts(), log: log)
    let slotKeys = askProtector.map { SlotKeys(ask: $0, prompter: prompter, log: log) }
    self.init(
      vault: CurrentVault(files: files, verifier: verifier, slotKeys: slotKeys, log: log), prompter: prompter, log: log)
  }

  /// Opens the vault for a request of no client.
  func open(for reason: UnlockReason?) async throws(UserInteractionError) -> OpenVault {
    try await open(for: reason, from: nil)
  }
}
