import CBOR
import ControlProtocol
import CryptoPrimitives
import Foundation
import StateDirectory
import Synchronization
import TestSupport
import Testing

@testable import Prompts
@testable import PromptsTests
@testable import Vault
@testable import liquid_authenticator

/// A vault that an earlier version made, whose slots a change authenticates.
@Suite struct SealedSlotsTests {
  /// The vault's file in version 1, whose slots have no seal.
  private static func earlier(_ bytes: [UInt8], _ vault: UnlockedVault) throws -> [UInt8] {
    let file = try VaultFile(decoding: bytes)
    let nonce = [UInt8](repeating: 7, count: XChaCha20Poly1305.nonceSize)
    let content = try XChaCha20Poly1305.sealSecret(
      vault.content.payload, key: vault.key, nonce: nonce, ad: Array("liquid-auth vault v1".utf8) + file.vaultID)
    let slots = file.slots.map { slot -> CBORValue in
      var members = slot.members
      members[9] = nil
      return .map(members)
    }
    return CBOREncoder.encode([
      1: .unsigned(1), 2: .bytes(file.vaultID), 3: .array(slots), 4: .bytes(nonce), 5: .bytes(content),
    ])
  }

  // Holds: PROTECT-22
  @Test func `the log names the slots that a change keeps from unlocking at the start`() async throws {
    let made = try MadeVault(passphrase: "right")
    let lines = Lines()
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    try made.directory.changeSlots { file throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      for (id, autoUnlock) in [(UInt8(1), false), (2, true)] {
        try file.seal(
          unlocked, for: .secretService(id: [UInt8](repeating: id, count: 16), autoUnlock: autoUnlock),
          key: SecretBytes.random(count: 32), using: &generator)
      }
    }
    let earlier = try Self.earlier(made.directory.readVault(), unlocked)
    let source = VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: ScriptedBackEnd()), log: lines.addProblem)
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    // The vault's file of an earlier version was put back, or could not be written at the unlocking.
    try made.directory.replaceVault(earlier)
    try source.vault.changeSlots(since: unlocking) { (file, vault) throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      _ = try file.sealSlots(of: vault, using: &generator)
    }
    let slot = try made.directory.slots()[2]
    #expect(!slot.unlocksAtStart && lines.all == [StateDirectory.noLongerAtStart(3, slot)])
    #expect(source.current != nil)
  }

  // Holds: PROTECT-22
  @Test func `a slot that is added opens the vault, and those of an earlier version are authenticated`() async throws {
    let made = try MadeVault(passphrase: "right")
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    let service = ScriptedService()
    let earlier = try VaultFile(decoding: Self.earlier(made.directory.readVault(), unlocked))
    service.file.withLock { $0 = (earlier, unlocked) }
    let session = ControlSession(client: 5, service: service, log: { _ in })
    let (key, id) = (SecretBytes.random(count: 32), [UInt8](repeating: 2, count: 16))
    let passphrase = ScriptedService.passphrase.withUnsafeBytes { SecretBytes(copying: $0) }
    let requests: [any ServedCommand] = [
      Hello(), Unlock(passphrase), SealSlot(key: key, protector: [1: 4, 2: .bytes(id), 3: true]),
    ]
    for request in requests { #expect(await session.answer(to: .command(request)).first == ControlStatus.ok.rawValue) }
    #expect(service.calls.withLock { $0 } == ["unlock", "changeSlots as addSlot"])
    let file = try #require(service.file.withLock { $0?.file })
    #expect(file.sealsSlots)
    let slot = try #require(file.slots.last)
    #expect(file.slots.count == 2 && slot.protector == .secretService(id: id, autoUnlock: true))
    #expect(try file.open(slot: slot.id, key: key).content.payload == unlocked.content.payload)
  }

  @Test func `a public key that is stored is in the vault's file`() throws {
    let made = try MadeVault(passphrase: "right")
    let source = VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: ScriptedBackEnd()), log: { _ in })
    let unlocked = try made.directory.unlock(passphrase: secret("right"))
    let key = SecretBytes.random(count: 32)
    try made.directory.changeSlots { file throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      let slot = SecurityKeySlot(
        credentialID: [1], salt: [UInt8](repeating: 2, count: 32), hasPIN: false, autoUnlock: false, publicKey: nil)
      try file.seal(unlocked, for: .securityKey(slot), key: key, using: &generator)
    }
    let opened = try made.directory.unlock(slot: made.directory.slots()[1].id, key: key)
    #expect(try !source.files.store(publicKey: [], of: opened))
    let publicKey = [UInt8](repeating: 3, count: 64)
    #expect(try source.files.store(publicKey: publicKey, of: opened))
    guard case .securityKey(let stored) = try made.directory.slots()[1].protector else {
      Issue.record("it is another slot")
      return
    }
    #expect(stored.publicKey == publicKey)
  }

  @Test func `while the store is replaced, no unlocking writes the vault's file`() throws {
    let made = try MadeVault(passphrase: "right")
    let source = VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: ScriptedBackEnd()), log: { _ in })
    let couldSeal = try source.vault.repairStore(isNew: false) { _ throws(StateDirectoryError) in
      let isFree = Mutex(true)
      let ended = DispatchSemaphore(value: 0)
      // An unlocking seals the slots on a thread of its own, within `alone`.
      Thread.detachNewThread {
        isFree.withLock { $0 = source.files.opening.withLockIfAvailable { _ in true } ?? false }
        ended.signal()
      }
      ended.wait()
      return isFree.withLock { $0 }
    }
    #expect(!couldSeal)
  }
}
