import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery
import StateDirectory
import Synchronization
import Testing
import Vault

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// The daemon's vault during the move to a new phrase: Recovery §14.
@Suite struct VaultRotationTests {
  let made: MadeVault

  init() throws { made = try MadeVault(passphrase: "right") }

  static let passphrase = secret("right")
  static let mainKey = SecretBytes.random(count: 64)

  private func source() -> VaultKeySource {
    VaultKeySource(
      directory: made.directory, prompter: UserPrompter(testing: ScriptedBackEnd()), log: { _ in })
  }

  private func phrase() -> StateDirectory.NewPhrase {
    StateDirectory.NewPhrase(mainKey: Self.mainKey, ed25519Root: .random(count: 96))
  }

  private func open(_ source: VaultKeySource) async throws -> OpenVault {
    let unlocking = try #require(try await source.unlock(passphrase: Self.passphrase))
    let vault = try #require(source.current)
    #expect(vault.unlocking === unlocking)
    return vault
  }

  private static func passkey(_ rpID: String) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: rpID, userID: [1], name: "alice", id: [1], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .registered))
  }

  // Holds: ROTATE-2, ROTATE-8
  @Test func `a new phrase locks the vault, and the next unlocking has both phrases`() async throws {
    let source = source()
    var vault = try await open(source)
    try vault.store.save(Self.passkey("a.example"), state: nil)
    // A task of the daemon can keep the store longer than the vault is open.
    let kept = vault.store
    try source.vault.beginRotation(since: vault.unlocking, to: phrase(), now: 5)
    #expect(source.current == nil && source.vault.lockReason == .phraseChanged)
    #expect(throws: RecoveryError.self) { try kept.state() }

    vault = try await open(source)
    let previous = try #require(vault.previous)
    #expect(vault.keys.fingerprint == CredentialKeys(mainKey: Self.mainKey).fingerprint)
    #expect(previous.keys.fingerprint == made.keys.fingerprint)
    #expect(source.vault.status.fingerprint == vault.keys.fingerprint)
    #expect(source.vault.status.previousFingerprint == made.keys.fingerprint)
    #expect(try previous.store.allCredentials().map(\.rpID) == ["a.example"])
    #expect(try vault.store.allCredentials().isEmpty)
    // A lock and another unlocking change nothing.
    source.vault.lock()
    #expect(source.vault.status.previousFingerprint == nil)
    #expect(try await open(source).previous != nil)
  }

  // Holds: ROTATE-3, ROTATE-8
  @Test func `the pages of the list are of one list, until the vault is locked`() async throws {
    let source = source()
    let old = try await open(source)
    let sites = (1000..<1800).map { String(repeating: "a", count: 220) + "\($0)" }
    let kept = try #require(source.vault.openStore)
    for site in sites {
      try kept.append(HistoryEntry(time: 1, site: site, kind: .register, outcome: .done, verification: .none))
    }
    try source.vault.beginRotation(since: old.unlocking, to: phrase(), now: 5)
    let vault = try await open(source)
    let session = ControlSession(client: 1, service: ScriptedService(vault: vault), log: { _ in })
    func page(_ start: UInt64) async throws -> ListRotation.Answer {
      try ListRotation.Answer(decoding: await session.answer(to: .command(ListRotation(start: start))))
    }
    _ = await session.answer(to: .command(Hello()))
    await #expect(throws: ControlFailure(.passphraseRequired, "")) { try await page(0) }
    _ = await session.answer(to: .command(Unlock(secret("correct horse"))))
    await #expect(throws: ControlFailure(.invalidParameter, "")) { try await page(1) }
    let first = try await page(0)
    let next = try #require(first.next)
    await #expect(throws: ControlFailure(.invalidParameter, "")) { try await page(UInt64(sites.count)) }
    // The list of the next page is the same, although there is one key more.
    try #require(source.vault.openStore).append(
      HistoryEntry(time: 9, site: sites[799], kind: .giveUpSite, outcome: .done, verification: .passphrase))
    let second = try await page(next)
    #expect(second.next == nil && first.fingerprint == made.keys.fingerprint)
    #expect((first.entries + second.entries).map(\.site) == sites)
    #expect((first.entries + second.entries).allSatisfy { $0.state == .left })
    await #expect(throws: ControlFailure(.invalidParameter, "")) { try await page(next) }
    _ = try await page(0)
    #expect(try await page(next).entries.last?.state == .givenUp)
    _ = try await page(0)
    #expect(await session.answer(to: .command(PlugDevice(.powerCycle))).first == ControlStatus.ok.rawValue)
    await #expect(throws: ControlFailure(.passphraseRequired, "")) { try await page(next) }
    _ = await session.answer(to: .command(Unlock(secret("correct horse"))))
    _ = try await page(0)
    source.vault.lock()
    await #expect(throws: ControlFailure(.passphraseRequired, "")) { try await page(next) }
  }

  // Holds: ROTATE-4, ROTATE-8
  @Test func `the end removes the old phrase, and locks the vault`() async throws {
    let source = source()
    try await source.vault.beginRotation(since: open(source).unlocking, to: phrase(), now: 5)
    let vault = try await open(source)
    let isDone = Mutex(false)
    try source.vault.endRotation(since: vault.unlocking) { isDone.withLock { $0 = source.vault.openStore != nil } }
    #expect(isDone.withLock { $0 }, "the store is still open for the entry of the history")
    #expect(source.current == nil && source.vault.lockReason == .phraseChanged)
    #expect(throws: RecoveryError.self) { try vault[.previous].store.state() }
    let after = try await open(source)
    #expect(after.previous == nil && after.keys.fingerprint == vault.keys.fingerprint)
    let error = #expect(throws: StateDirectoryError.self) { try source.vault.endRotation(since: after.unlocking) {} }
    #expect(error?.kind == .unchanged)
    #expect(source.current != nil, "nothing was closed")
  }

  // Holds: ROTATE-8
  @Test func `an unlocking that is over begins and ends nothing`() async throws {
    let source = source()
    let vault = try await open(source)
    source.vault.lock()
    #expect(throws: ControlFailure(.passphraseRequired, "")) {
      try source.vault.beginRotation(since: vault.unlocking, to: phrase(), now: 5)
    }
    #expect(throws: ControlFailure(.passphraseRequired, "")) { try source.vault.endRotation(since: vault.unlocking) {} }
    let again = try await open(source)
    #expect(again.previous == nil)
    // Nor while another unlocking has opened the vault.
    #expect(throws: ControlFailure(.passphraseRequired, "")) {
      try source.vault.beginRotation(since: vault.unlocking, to: phrase(), now: 5)
    }
    #expect(throws: ControlFailure(.passphraseRequired, "")) { try source.vault.endRotation(since: vault.unlocking) {} }
    #expect(source.current?.unlocking === again.unlocking)
    // A refusal leaves the vault open.
    try Data([1]).write(to: URL(fileURLWithPath: made.directory.previousStorePath))
    let error = #expect(throws: StateDirectoryError.self) {
      try source.vault.beginRotation(since: again.unlocking, to: phrase(), now: 5)
    }
    #expect(error?.kind == .exists)
    #expect(source.current?.unlocking === again.unlocking)
    #expect(try again.store.allCredentials().isEmpty)
  }

  // Holds: ROTATE-5
  @Test func `a rename that failed is repeated by the next unlocking`() async throws {
    let source = source()
    try await source.vault.beginRotation(since: open(source).unlocking, to: phrase(), now: 5)
    let (store, previous) = (made.directory.storePath, made.directory.previousStorePath)
    try FileManager.default.moveItem(atPath: store, toPath: made.directory.path + "/next.sqlite")
    try FileManager.default.moveItem(atPath: previous, toPath: store)
    #expect(source.files.fault == nil)
    #expect(try await open(source).previous != nil)
    #expect(source.files.fault == nil && FileManager.default.fileExists(atPath: previous))
  }

  // Holds: ROTATE-8
  @Test func `if the store of the old phrase is missing, the vault does not open, and the error names the file`()
    async throws
  {
    let source = source()
    try await source.vault.beginRotation(since: open(source).unlocking, to: phrase(), now: 5)
    try FileManager.default.removeItem(atPath: made.directory.previousStorePath)
    let error = await #expect(throws: StateDirectoryError.self) { try await source.unlock(passphrase: Self.passphrase) }
    #expect(error?.kind == .missing)
    #expect(error?.description.contains(made.directory.previousStorePath) == true)
    #expect(source.current == nil && source.files.fault?.kind == .missing)
    try made.directory.makeNewStore(passphrase: Self.passphrase)
    source.vault.storeWasReplaced(isNew: true)
    #expect(try await open(source).previous?.store.allCredentials().isEmpty == true)
  }
}
