import CBOR
import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

/// A program that follows a folder of backups, without the passphrase.
@Suite struct FollowHandlersTests {
  let service = ScriptedService()
  let session: ControlSession
  let owner: ControlSession
  let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
  let vault: OpenVault

  init() async throws {
    session = ControlSession(client: 5, service: service, log: { _ in })
    owner = ControlSession(client: 6, service: service, log: { _ in })
    vault = try ControlSessionTests.vault(keys, ["a.example", "b.example"])
    service.vault.withLock { [vault] in $0 = vault }
    service.hasLockedTurns.withLock { $0 = true }
    for session in [session, owner] { _ = await session.answer(to: .command(Hello())) }
  }

  private func ask(_ command: any ServedCommand, in other: ControlSession? = nil) async -> ControlStatus? {
    await (other ?? session).answer(to: .command(command)).first.map(ControlStatus.init(rawValue:))
  }

  private func own(_ command: any ServedCommand) async -> ControlStatus? {
    let passphrase = ScriptedService.passphrase.withUnsafeBytes { SecretBytes(copying: $0) }
    _ = await ask(Unlock(passphrase), in: owner)
    return await ask(command, in: owner)
  }

  private func store(_ command: AwaitBackup = AwaitBackup()) async throws -> FollowedStore {
    try FollowedStore(decoding: await session.answer(to: .command(command)))
  }

  private func merge(_ file: [UInt8], onlyCompares: Bool = false) -> MergeBackup {
    MergeBackup(offset: 0, size: UInt64(file.count), fragment: file, onlyCompares: onlyCompares)
  }

  /// Waits until a request waits for a change.
  private func untilWaiting() async {
    while service.followers.waitingCount == 0 { await Task.yield() }
  }

  // Holds: FOLLOW-5
  @Test func `only the owner can follow a folder, and stop following it`() async throws {
    #expect(await ask(FollowBackups("/a")) == .passphraseRequired)
    #expect(await ask(FollowBackups(nil)) == .passphraseRequired)
    #expect(await own(FollowBackups("/a")) == .ok)
    #expect(try vault.store.state().backup == BackupTimes(folder: "/a"))
    #expect(try await store().folder == "/a")
    #expect(await ask(FollowBackups(nil)) == .passphraseRequired, "following is not the passphrase")
    #expect(await own(FollowBackups(nil)) == .ok)
    #expect(try vault.store.state().backup == BackupTimes())
    #expect(try await store().folder == nil)
  }

  // Holds: FOLLOW-5
  @Test func `a follower reads and merges backups, and nothing else`() async throws {
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired)
    #expect(try await store().folder == nil)
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired, "no folder is followed")
    #expect(await own(FollowBackups("/a")) == .ok)
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired, "it has not asked since")
    #expect(try await store().folder == "/a")
    let made = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 0))))
    let again = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 0))))
    #expect(made.passkeys == 2 && again.fragment == made.fragment, "an equal store has an equal file")
    let digest = BackupFile.digest(of: made.fragment)
    for wrong in [nil, [UInt8](repeating: 9, count: 16)] {
      #expect(await ask(RecordBackup(.written, file: wrong, at: 7)) == .invalidParameter)
    }
    #expect(try vault.store.state().backup == BackupTimes(folder: "/a"))
    #expect(await ask(RecordBackup(.written, file: digest, at: .max)) == .ok)
    #expect(await ask(RecordBackup(.checked, at: 8)) == .passphraseRequired)
    #expect(
      try vault.store.state().backup == BackupTimes(folder: "/a", ownFile: digest, ownWritten: 0),
      "the time is that of the authenticator")
    #expect(await own(RecordBackup(.written, file: [UInt8](repeating: 1, count: 16), at: 9)) == .ok)
    #expect(
      try vault.store.state().backup
        == BackupTimes(
          written: 9, file: [UInt8](repeating: 1, count: 16), folder: "/a", ownFile: digest, ownWritten: 0))
    let other = try ControlSessionTests.vault(keys, ["c.example"])
    let file = try BackupWriter.file(of: other.store, keys: keys, nonce: randomBytes(24)).file
    let result = try MergeBackup.Answer(decoding: await session.answer(to: .command(merge(file)))).result
    #expect(result?.added == 1)
    #expect(try vault.store.credentialCount() == 3)
    #expect(await ask(ListCredentials()) == .passphraseRequired)
    #expect(await ask(DigestAccounts(challenge: [UInt8](repeating: 3, count: 32))) == .passphraseRequired)
    #expect(await ask(merge([1])) == .invalidParameter, "this is not a backup")
  }

  // Holds: FOLLOW-5
  @Test func `a follower gets no names`() async throws {
    _ = await own(FollowBackups("/a"))
    _ = try await store()
    let other = try ControlSessionTests.vault(keys, ["a.example"])
    try other.store.remove(#require(other.store.allCredentials().first), changed: .max)
    let file = try BackupWriter.file(of: other.store, keys: keys, nonce: randomBytes(24)).file
    let result = try MergeBackup.Answer(decoding: await session.answer(to: .command(merge(file, onlyCompares: true))))
    #expect(result.result?.removed == MergeResult.NamedPasskeys(names: [], count: 1))
    let full = await own(merge(file, onlyCompares: true))
    #expect(full == .ok)
  }

  // Holds: FOLLOW-3
  @Test func `after a reset a follower can neither merge nor make a backup`() async throws {
    _ = await own(FollowBackups("/a"))
    _ = try await store()
    let made = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 0))))
    var state = try vault.store.state()
    try state.reset()
    try vault.store.removeAll(state: state)
    #expect(await ask(merge(made.fragment)) == .notAllowed)
    let digest = BackupFile.digest(of: made.fragment)
    #expect(await ask(RecordBackup(.written, file: digest, at: 7)) == .notAllowed)
    #expect(await own(FollowBackups("/a")) == .ok)
    #expect(await ask(RecordBackup(.written, file: digest, at: 7)) == .notAllowed, "it was made before the reset")
    #expect(try vault.store.state().backup == BackupTimes(folder: "/a"))
    #expect(await own(FollowBackups(nil)) == .ok)
    #expect(await ask(ReadBackup(offset: 0)) == .notAllowed)
    #expect(try vault.store.credentialCount() == 0)
    #expect(try await store().folder == nil)
    #expect(await ask(merge(made.fragment)) == .passphraseRequired)
  }

  // Holds: FOLLOW-6
  @Test func `a locked vault refuses a follower, which waits for the next unlocking`() async throws {
    _ = await own(FollowBackups("/a"))
    let before = try await store()
    service.vault.withLock { $0 = nil }
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired)
    let (session, service) = (session, service)
    let waiting = Task { await session.answer(to: .command(AwaitBackup())) }
    await untilWaiting()
    service.followers.changed()
    await untilWaiting()
    let again = OpenVault(keys: keys, ed25519Root: SecretBytes.random(count: 96), store: vault.store)
    service.vault.withLock { $0 = again }
    service.followers.changed()
    let after = try FollowedStore(decoding: await waiting.value)
    #expect(after.folder == "/a" && after.fingerprint == before.fingerprint && after.store == before.store)
    #expect(after.unlocking != before.unlocking && after.state != before.state)
    #expect(await ask(ReadBackup(offset: 0)) == .ok)
  }

  // Holds: FOLLOW-6
  @Test func `a wait ends with a change of the content of a backup, and with no other`() async throws {
    _ = await own(FollowBackups("/a"))
    var seen = try await store()
    let changes: [(String, @Sendable (any CredentialStore) throws -> Void)] = [
      ("a passkey", { try $0.remove(#require($0.allCredentials().first), changed: 9) }),
      ("large blobs", { try $0.setLargeBlobArray(SerializedLargeBlobs.initial) }),
      (
        "the epoch",
        { store in
          var state = try store.state()
          state.see(epoch: 3)
          try store.setState(state)
        }
      ),
      (
        "the folder",
        { store in
          var state = try store.state()
          state.backup.folder = nil
          try store.setState(state)
        }
      ),
    ]
    for (name, change) in changes {
      let (session, state) = (session, seen.state)
      let waiting = Task { await session.answer(to: .command(AwaitBackup(seen: state))) }
      await untilWaiting()
      try vault.store.record(.written, at: 1)
      var settings = try vault.store.state()
      settings.settings.alwaysUV.toggle()
      try vault.store.setState(settings)
      service.followers.changed()
      await untilWaiting()
      try change(vault.store)
      service.followers.changed()
      let store = try FollowedStore(decoding: await waiting.value)
      #expect(store.state != seen.state && store.unlocking == seen.unlocking, "\(name)")
      seen = store
    }
    #expect(seen.folder == nil)
  }

  // Holds: FOLLOW-6
  @Test func `a wait that is cancelled ends, and at most four wait`() async throws {
    let state = try await store().state
    var waiting: [Task<[UInt8], Never>] = []
    for client in 0..<4 {
      let session = ControlSession(client: 10 + UInt64(client), service: service, log: { _ in })
      _ = await session.answer(to: .command(Hello()))
      waiting.append(Task { await session.answer(to: .command(AwaitBackup(seen: state))) })
    }
    while service.followers.waitingCount < 4 { await Task.yield() }
    #expect(await ask(AwaitBackup(seen: state)) == .busy)
    waiting[0].cancel()
    #expect(await waiting[0].value.first == ControlStatus.keepaliveCancel.rawValue)
    #expect(service.followers.waitingCount == 3)
    for task in waiting { task.cancel() }
    for task in waiting { _ = await task.value }
    #expect(service.followers.waitingCount == 0)
  }

  // Holds: FOLLOW-1
  @Test func `the newest report is kept until its connection ends`() async throws {
    let report = { FollowReport(files: [], problem: $0) }
    _ = try await store(AwaitBackup(report: report("none")))
    #expect(service.followers.report == nil, "no folder is followed")
    _ = await own(FollowBackups("/a"))
    _ = try await store(AwaitBackup(report: report("first")))
    #expect(service.followers.report == report("first"))
    do {
      let other = ControlSession(client: 7, service: service, log: { _ in })
      _ = await other.answer(to: .command(Hello()))
      _ = await other.answer(to: .command(AwaitBackup(report: report("second"))))
      #expect(service.followers.report == report("second"))
    }
    #expect(service.followers.report == report("first"))
    _ = try await store()
    #expect(service.followers.report == report("first"))
    service.vault.withLock { $0 = nil }
    let (session, command) = (session, AwaitBackup(report: report("locked")))
    let waiting = Task { await session.answer(to: .command(command)) }
    await untilWaiting()
    #expect(service.followers.report == report("locked"))
    waiting.cancel()
    _ = await waiting.value
  }
}
