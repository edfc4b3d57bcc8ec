import CBOR
import CTAP2
import ControlProtocol
import CryptoPrimitives
import Recovery
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import liquid_authenticator

@Suite struct ControlSessionTests {
  let service = ScriptedService()
  let lines = Lines()
  let session: ControlSession

  init() { session = ControlSession(client: 5, service: service) { [lines] in lines.add($0.textWithSite) } }

  private func ask(_ command: any ServedCommand) async -> ControlStatus? { await ask(.command(command)) }

  private func ask(_ request: ControlRequest) async -> ControlStatus? {
    await session.answer(to: request).first.map(ControlStatus.init(rawValue:))
  }

  private static func passphrase(_ bytes: [UInt8] = ScriptedService.passphrase) -> SecretBytes {
    bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  // Holds: CONTROL-4
  @Test func `before hello a CTAP2 message is refused`() async {
    #expect(await ask(.ctap([0x04])) == .versionMismatch)
    #expect(service.calls.withLock { $0 }.isEmpty)
  }

  // Holds: CONTROL-4
  @Test(arguments: [0, ControlMessage.version - 1, ControlMessage.version + 1, UInt64.max])
  func `hello of another version is refused, and does not count`(_ version: UInt64) async {
    #expect(await ask(Hello(version: version)) == .versionMismatch)
    #expect(await ask(GetStatus()) == .versionMismatch)
  }

  // Holds: CONTROL-4
  @Test(
    arguments: [
      (ControlMessage.version - 1, "update the command: scripts/run --wallet"),
      (ControlMessage.version + 1, "restart the authenticator"),
    ])
  func `who has another version is told both versions, and what to do`(version: UInt64, advice: String) async {
    let answer = await session.answer(to: .command(Hello(version: version)))
    let error = #expect(throws: ControlFailure.self) { try Hello.Answer(decoding: answer) }
    #expect(
      error?.reason
        == "the command uses version \(version) of the control protocol, and the authenticator uses version "
        + "\(ControlMessage.version); \(advice)")
  }

  @Test func `a refusal, and a prompt that could not be shown, have one status and different reasons`() {
    let declined = ControlFailure(CTAPError(UserInteractionError.declined))
    let unavailable = ControlFailure(CTAPError(UserInteractionError.unavailable))
    #expect((declined.status, declined.reason) == (.operationDenied, "the user refused"))
    #expect(unavailable.status == .operationDenied)
    #expect(
      unavailable.reason
        == "no prompt could be shown, or the vault is not open; see the authenticator's log, and run: "
        + "liquid-auth status")
    #expect(unavailable.problem.remedy == Remedy(["liquid-auth", "status"]))
  }

  @Test func `an error of the store keeps its command on the way through CTAP2`() {
    let words = ["liquid-auth", "log", "verify"]
    let failure = ControlFailure(CTAPError(RecoveryError(.store, "r", hint: "look at it", with: words)))
    #expect(failure.problem == Problem("r; look at it with: liquid-auth log verify", remedy: Remedy(words)))
  }

  @Test func `hello returns version and process id`() async throws {
    let hello = try Hello.Answer(decoding: await session.answer(to: .command(Hello())))
    #expect(hello.version == ControlMessage.version)
    #expect(hello.processID > 1)
  }

  @Test func `requests that need no passphrase reach the service`() async throws {
    _ = await ask(Hello())
    #expect(await session.answer(to: .ctap([0x04])) == [0x00, 0x04])
    #expect(try AuthenticatorStatus(decoding: await session.answer(to: .command(GetStatus()))).processID == 7)
    #expect(await ask(Lock()) == .ok)
    #expect(await ask(PlugDevice(.replug)) == .ok)
    #expect(await ask(PlugDevice(.askAgain)) == .ok)
    #expect(await ask(NewStore(Self.passphrase())) == .ok)
    #expect(await ask(AcceptStore(Self.passphrase())) == .ok)
    let calls = ["ctap [4] of 5", "lock", "device replug", "device askAgain", "newStore", "acceptStore"]
    #expect(service.calls.withLock { $0 } == calls)
  }

  @Test func `a request of another computer is marked as such, and its answer is passed on as it is`() async throws {
    _ = await ask(Hello())
    let answer = try PerformHybrid.Answer(decoding: await session.answer(to: .command(PerformHybrid([0x01, 0xA0]))))
    #expect(answer.bytes == [0x00, 0x01, 0xA0])
    #expect(service.calls.withLock { $0 } == ["ctap [1, 160] of 5 by hybrid"])
  }

  // Holds: CONTROL-5, PIN-18
  @Test func `a power cycle needs the passphrase on this connection`() async {
    _ = await ask(Hello())
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired)
    let other = ControlSession(client: 6, service: service, log: { _ in })
    _ = await other.answer(to: .command(Hello()))
    _ = await other.answer(to: .command(Unlock(Self.passphrase())))
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired, "that was another connection")
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(PlugDevice(.powerCycle)) == .ok)
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired, "the passphrase was for one")
    #expect(service.calls.withLock { $0 } == ["unlock", "unlock", "device powerCycle"])
  }

  // Holds: CONTROL-6
  @Test func `the slots of the vault, its counter and its phrase change only for the owner`() async {
    // The service has no vault, so that only the session refuses.
    let key = Self.passphrase([UInt8](repeating: 1, count: 32))
    let (mainKey, root) = ([UInt8](repeating: 1, count: 64), [UInt8](repeating: 0x40, count: 96))
    let protector: CBORMap = [1: 1, 2: .bytes([UInt8](repeating: 2, count: 16)), 3: 1, 4: 8192]
    let changes: [any ServedCommand] = [
      SealSlot(key: key, protector: protector), RemoveSlot(id: [1]), ChangeCounter(.accept),
      BeginRotation(mainKey: Self.passphrase(mainKey), ed25519Root: Self.passphrase(root)), EndRotation(),
    ]
    _ = await ask(Hello())
    for change in changes { #expect(await ask(change) == .passphraseRequired) }
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    for change in changes { #expect(await ask(change) == .passphraseRequired) }
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(SealSlot(key: key, protector: [1: 1])) == .invalidParameter)
    for change in changes { #expect(await ask(change) == .ok) }
    #expect(
      service.calls.withLock { $0 } == [
        "unlock", "changeSlots as changePassphrase", "changeSlots as removeSlot", "changeCounter", "beginRotation",
        "endRotation",
      ])
  }

  @Test func `a way to verify that cannot work is refused, before any setting changes`() async throws {
    let vault = try Self.vault(CredentialKeys(mainKey: SecretBytes.random(count: 64)), [])
    service.vault.withLock { $0 = vault }
    let change = ChangeSettings(alwaysUV: true, means: ["fingerprint"])
    _ = await ask(Hello())
    #expect(await ask(change) == .passphraseRequired)
    #expect(service.calls.withLock { $0 }.isEmpty, "other programs do not learn which ways work")
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(change) == .notAllowed)
    #expect(service.calls.withLock { $0 } == ["unlock", "check fingerprint"])
    #expect(try vault.settings() == AuthenticatorSettings())
  }

  @Test func `what a wallet tells of its dApp is forgotten with its connection`() async {
    for isOpen in [true, false] {
      var wallet: ControlSession? = ControlSession(client: 7, service: service, log: { _ in })
      _ = await wallet?.answer(to: .command(Hello()))
      _ = await wallet?.answer(to: .command(ReportDApp(isOpen: isOpen)))
      #expect((service.dApps.openCount, service.dApps.awayCount) == (isOpen ? 1 : 0, isOpen ? 0 : 1))
      wallet = nil
      #expect((service.dApps.openCount, service.dApps.awayCount) == (0, 0))
    }
  }

  @Test func `a failure is answered with its reason`() async {
    _ = await ask(Hello())
    let answer = await session.answer(to: .command(PlugDevice(.attach)))
    #expect(answer == ControlFailure(.unavailable, "cannot open /dev/uhid").encoded)
  }

  // Holds: WALLET-13
  @Test func `a wallet request refused before any prompt is one line in the log`() async {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    service.vault.withLock {
      $0 = OpenVault(
        keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    }
    _ = await ask(Hello())
    #expect(await ask(SignMessage([0xFF], origin: "https://d.example")) == .cannotBeShown)
    #expect(lines.all == ["sign for a wallet https://d.example refused before a prompt: it cannot be shown"])
  }

  /// An open vault of a phrase, with passkeys of these sites.
  static func vault(_ keys: CredentialKeys, _ sites: [String]) throws -> OpenVault {
    let vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    for site in sites {
      _ = try vault.recover(
        rpID: site, userID: [7], counter: 0, algorithm: .es256, credProtect: .userVerificationOptional, now: 5)
    }
    return vault
  }

  // Holds: BACKUP-1
  @Test func `a backup is read and merged in fragments, by the owner only`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let (first, second) = (try Self.vault(keys, ["a.example", "b.example"]), try Self.vault(keys, ["b.example"]))
    service.vault.withLock { $0 = first }
    _ = await ask(Hello())
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired)
    #expect(await ask(RecordBackup(.written, at: 7)) == .passphraseRequired)
    #expect(await ask(MergeBackup(offset: 0, size: 2, fragment: [1], onlyCompares: false)) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(ReadBackup(offset: 1)) == .invalidParameter, "nothing was made yet")
    let made = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 0))))
    let file = made.fragment
    #expect((made.size, made.passkeys, made.removals) == (UInt64(file.count), 2, 0))
    #expect(try first.store.state().backup == BackupTimes(), "nobody has written it yet")
    #expect(await ask(RecordBackup(.written, at: 7)) == .ok)
    #expect(try first.store.state().backup.written == 7 && first.store.state().backup.checked == nil)
    #expect(await ask(ReadBackup(offset: 0)) == .ok)
    #expect(await ask(ReadBackup(offset: made.size)) == .invalidParameter)

    service.vault.withLock { $0 = second }
    #expect(await ask(ReadBackup(offset: 0)) == .passphraseRequired, "the vault was opened again")
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    let merge = { (fragments: [[UInt8]], onlyCompares: Bool) async throws -> [MergeResult?] in
      var (results, offset): ([MergeResult?], UInt64) = ([], 0)
      for fragment in fragments {
        let request = MergeBackup(
          offset: offset, size: UInt64(file.count), fragment: fragment, onlyCompares: onlyCompares)
        results.append(try MergeBackup.Answer(decoding: await session.answer(to: .command(request))).result)
        offset += UInt64(fragment.count)
      }
      return results
    }
    let fragments = [Array(file[..<10]), Array(file[10..<11]), Array(file[11...])]
    let compared = try await merge(fragments, true)
    #expect(compared.map { $0 == nil } == [true, true, false])
    #expect(try second.store.credentialCount() == 1, "only compared")
    #expect(compared.last??.added == 1 && compared.last??.same == 1 && compared.last??.backupHasMore == true)
    #expect(try await merge(fragments, false).last??.added == 1)
    #expect(try second.store.credentialCount() == 2)
    let again = try await merge([file], false)
    #expect(again.last??.same == 2 && again.last??.backupHasMore == false)
  }

  // Holds: BACKUP-1
  @Test func `a backup of two fragments is read to its end, and not beyond`() async throws {
    let vault = try Self.vault(CredentialKeys(mainKey: SecretBytes.random(count: 64)), [])
    try vault.store.setLargeBlobArray([UInt8](repeating: 0, count: 140_000))
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    let first = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 0))))
    #expect(first.fragment.count == 131_072 && first.size > 140_000)
    #expect(await ask(ReadBackup(offset: first.size)) == .invalidParameter)
    let last = try ReadBackup.Answer(decoding: await session.answer(to: .command(ReadBackup(offset: 131_072))))
    #expect(last.fragment.count == Int(first.size) - 131_072)
  }

  // Holds: BACKUP-1
  @Test func `a fragment that does not follow the one before ends the transfer`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = try Self.vault(keys, [])
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    let fragment = { (offset: UInt64, size: UInt64, bytes: Int, compares: Bool) in
      MergeBackup(offset: offset, size: size, fragment: [UInt8](repeating: 0, count: bytes), onlyCompares: compares)
    }
    for wrong in [
      fragment(3, 4, 1, false), fragment(2, 5, 1, false), fragment(2, 4, 3, false),
      fragment(2, 4, 0, false), fragment(2, 4, 1, true),
    ] {
      #expect(await ask(fragment(0, 4, 2, false)) == .ok)
      #expect(await ask(wrong) == .invalidParameter)
      #expect(await ask(fragment(2, 4, 2, false)) == .invalidParameter, "it was forgotten")
    }
    for size in [0, 67_108_865, UInt64.max] {
      #expect(await ask(fragment(0, size, 1, false)) == .invalidLength)
    }
    #expect(await ask(fragment(0, 1, 1, false)) == .invalidParameter, "this is not a backup")
  }

  private func passkeys(_ ids: [UInt8]...) throws -> [UInt8] {
    let list = PasskeyList()
    for id in ids {
      list.append(
        try .imported(
          rpID: "a.example", userID: [7], name: nil, displayName: nil,
          id: id + [UInt8](repeating: 0, count: 15), algorithm: .edDSA, created: 1,
          key: SecretBytes.random(count: 32)))
    }
    return list.encoded
  }

  // Holds: IMPORT-6
  @Test func `passkeys are imported in fragments, by the owner only`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = try Self.vault(keys, ["a.example"])
    service.vault.withLock { $0 = vault }
    let list = try passkeys([1], [2], [1])
    let request = { (range: Range<Int>) in
      ImportPasskeys(
        offset: UInt64(range.lowerBound), size: UInt64(list.count), fragment: Self.passphrase(Array(list[range])))
    }
    let answer = { (range: Range<Int>) async throws in
      try ImportPasskeys.Answer(decoding: await session.answer(to: .command(request(range)))).outcomes
    }
    _ = await ask(Hello())
    #expect(await ask(request(list.indices)) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(try await answer(0..<10) == nil)
    #expect(try await answer(10..<list.count) == [.added, .added, .repeated])
    #expect(try vault.store.allCredentials().map(\.id.count).sorted() == [16, 16, 32])
    #expect(try await answer(0..<list.count) == [.present, .present, .repeated])
    #expect(try vault.store.account(rpIDHash: RPIDHash(rpID: "a.example"), userID: [7])?.record?.isDerivable == true)
  }

  // Holds: IMPORT-6
  @Test func `a list of passkeys that is cut, too long, or another file changes nothing`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = try Self.vault(keys, [])
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    let list = try passkeys([1])
    let fragment = { (offset: Int, size: Int, bytes: [UInt8]) in
      ImportPasskeys(offset: UInt64(offset), size: UInt64(size), fragment: Self.passphrase(bytes))
    }
    for wrong in [fragment(3, 4, [1]), fragment(2, 5, [1]), fragment(2, 4, [1, 1, 1])] {
      #expect(await ask(fragment(0, 4, [1, 1])) == .ok)
      #expect(await ask(wrong) == .invalidParameter)
    }
    #expect(await ask(fragment(0, 2, [1])) == .ok)
    #expect(
      await ask(MergeBackup(offset: 1, size: 2, fragment: [1], onlyCompares: false)) == .invalidParameter,
      "a part of a list is no part of a backup")
    for size in [0, 16_777_217] { #expect(await ask(fragment(0, size, [1])) == .invalidLength) }
    #expect(await ask(fragment(0, list.count, list.dropLast() + [list[list.count - 1] ^ 1])) == .ok, "another seed")
    #expect(await ask(fragment(0, list.count - 1, Array(list.dropLast()))) == .invalidParameter)
    #expect(try vault.store.credentialCount() == 1)
  }

  // Holds: IMPORT-6
  @Test func `a lock and a passphrase wipe the part of a list that was received`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = try Self.vault(keys, [])
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    let list = try passkeys([1])
    let fragment = { (offset: Int, bytes: ArraySlice<UInt8>) in
      ImportPasskeys(offset: UInt64(offset), size: UInt64(list.count), fragment: Self.passphrase(Array(bytes)))
    }
    for end in [Lock(), Unlock(Self.passphrase())] as [any ServedCommand] {
      #expect(await ask(fragment(0, list.prefix(9))) == .ok)
      #expect(await ask(end) == .ok)
      #expect(await ask(Unlock(Self.passphrase())) == .ok)
      #expect(await ask(fragment(9, list.dropFirst(9))) == .invalidParameter)
    }
    #expect(try vault.store.credentialCount() == 0)
    // A lock by another connection, while idle or before a sleep.
    #expect(await ask(fragment(0, list.prefix(9))) == .ok)
    vault.unlocking.end()
    #expect(await ask(fragment(9, list.dropFirst(9))) == .passphraseRequired)
    #expect(await ask(fragment(0, list.prefix(9))) == .passphraseRequired)
    #expect(try vault.store.credentialCount() == 0)
  }

  // Holds: IMPORT-6
  @Test func `what was received is kept until its end`() {
    let unlocking = Unlocking()
    let file = ReceivedBytes()
    unlocking.atEnd { [weak file] in file?.end() }
    file.add(ofSize: 3) { $0 += [1, 2] }
    #expect(file.count == 2 && !unlocking.hasEnded)
    unlocking.end()
    #expect(file.count == 0 && unlocking.hasEnded)
    file.add(ofSize: 3) { $0 += [3] }
    #expect(file.count == 0 && file.take() == [])
    let late = ReceivedBytes()
    unlocking.atEnd { late.end() }
    late.add(ofSize: 1) { $0 += [1] }
    #expect(late.count == 0, "the vault was locked before")
    let whole = ReceivedBytes()
    whole.add(ofSize: 2) { $0 += [1] }
    whole.add(ofSize: 2) { $0 += [2] }
    #expect(whole.take() == [1, 2] && whole.take() == [])
    let transfer = BackupTransfer.writing(file: ReceivedBytes(), size: 1, purpose: .importing)
    transfer.wipeContent()
    guard case .writing(let content, _, _) = transfer else { Issue.record("it is another transfer"); return }
    content.add(ofSize: 1) { $0 += [1] }
    #expect(content.count == 0)
  }

  /// Who agrees to each prompt, or refuses it.
  private final class Person: UserInteraction {
    let canVerify = true
    let verificationTriesLeft = 8
    let shown = Mutex<[UserPrompt]>([])
    let refusal = Mutex<UserInteractionError?>(nil)

    func confirm(
      _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> CTAP2.Confirmation {
      shown.withLock { $0.append(prompt) }
      if let refusal = refusal.withLock({ $0 }) { throw refusal }
      return CTAP2.Confirmation(userVerified: verification)
    }
  }

  /// Opens a vault for the owner.
  private func owner(of sites: [String]) async throws -> (OpenVault, Person) {
    let (vault, person) = (try Self.vault(CredentialKeys(mainKey: SecretBytes.random(count: 64)), sites), Person())
    service.vault.withLock { $0 = vault }
    service.person.withLock { $0 = person }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    return (vault, person)
  }

  private func export(_ sites: [String]?, _ start: UInt64 = 0) async throws -> ExportPasskeys.Answer {
    try ExportPasskeys.Answer(
      decoding: await session.answer(to: .command(ExportPasskeys(sites: sites, start: start))))
  }

  // Holds: EXPORT-4
  @Test func `passkeys are exported in pages, each once, after one agreement`() async throws {
    let (vault, person) = try await owner(of: (0..<33).map { "\($0).example" })
    let first = try await export(nil)
    #expect((first.passkeys.count, first.total, first.next) == (32, 33, 32))
    let last = try await export(nil, 32)
    #expect((last.passkeys.count, last.total, last.next) == (1, 33, nil))
    #expect(first.passkeys.map(\.rpID) + last.passkeys.map(\.rpID) == (0..<33).reversed().map { "\($0).example" })
    #expect(person.shown.withLock { $0 } == [UserPrompt(purpose: .export(passkeys: 33, sites: nil))])
    for (page, place) in [(first, 0), (first, 31), (last, 0)] {
      let record = try #require(
        try vault.store.account(rpIDHash: RPIDHash(rpID: page.passkeys[place].rpID), userID: [7])?.record)
      let key = try P256.PrivateKey(scalar: page.privateKey(at: place))
      let expected = try vault.keys.privateKey(of: record).publicKey.bytes
      #expect(key.publicKey.raw == expected)
      let secrets = page.credRandoms(at: place)
      #expect(secrets.withUV.isEqual(to: vault.keys.credRandom(record.rpIDHash, id: record.id, userVerified: true)))
      #expect(secrets.withoutUV.isEqual(to: vault.keys.credRandom(record.rpIDHash, id: record.id, userVerified: false)))
    }
    for start: UInt64 in [32, 33, 1] {
      #expect(await ask(ExportPasskeys(sites: nil, start: start)) == .invalidParameter)
    }
    let some = try await export(["7.example", "3.example"])
    #expect((some.passkeys.map(\.rpID), some.next) == (["7.example", "3.example"], nil))
  }

  // Holds: EXPORT-4
  @Test func `without the passphrase, the agreement or the passkey nothing is exported`() async throws {
    _ = await ask(Hello())
    for start: UInt64 in [0, 1] {
      #expect(await ask(ExportPasskeys(sites: nil, start: start)) == .passphraseRequired)
    }
    let (_, person) = try await owner(of: ["a.example"])
    #expect(await ask(ExportPasskeys(sites: ["b.example"])) == .noCredentials)
    #expect(person.shown.withLock { $0 } == [])
    for (refusal, status) in [
      (.declined, .operationDenied), (.timedOut, .userActionTimeout), (.verificationFailed, .wrongPassphrase),
    ] as [(UserInteractionError, ControlStatus)] {
      person.refusal.withLock { $0 = refusal }
      let answer = await session.answer(to: .command(ExportPasskeys(sites: nil)))
      #expect(answer.first == status.rawValue)
      #expect(await ask(ExportPasskeys(sites: nil, start: 1)) == .invalidParameter)
    }
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(ExportPasskeys(sites: nil)) == .passphraseRequired)
    #expect(person.shown.withLock { $0.count } == 3)
  }

  // Holds: EXPORT-4
  @Test func `a lock, another request, a wrong place or a removal ends an export`() async throws {
    let (vault, _) = try await owner(of: (0..<65).map { "\($0).example" })
    let ends: [any ServedCommand] = [
      Lock(), Unlock(Self.passphrase()), ReadBackup(offset: 0), ExportPasskeys(sites: nil, start: 31),
      ExportPasskeys(sites: ["b.example"]),
    ]
    for end in ends {
      #expect(try await export(nil).next == 32)
      _ = await ask(end)
      #expect(await ask(ExportPasskeys(sites: nil, start: 32)) == .invalidParameter, "\(end)")
    }
    #expect(try await export(nil).next == 32)
    let oldest = try #require(try vault.store.account(rpIDHash: RPIDHash(rpID: "0.example"), userID: [7])?.record)
    #expect(try await export(nil, 32).next == 64)
    try vault.store.remove(oldest, changed: 9)
    #expect(await ask(ExportPasskeys(sites: nil, start: 64)) == .notAllowed)
    #expect(await ask(ExportPasskeys(sites: nil, start: 64)) == .invalidParameter)
    #expect(try await export(nil).next == 32)
    service.vault.withLock {
      $0 = OpenVault(keys: vault.keys, ed25519Root: SecretBytes.random(count: 96), store: vault.store)
    }
    #expect(await ask(ExportPasskeys(sites: nil, start: 32)) == .passphraseRequired, "the vault was opened again")
  }

  // Holds: CONTROL-5
  @Test func `a power cycle takes back the passphrase, also for what was begun with it`() async throws {
    _ = try await owner(of: (0..<33).map { "\($0).example" })
    let list = try passkeys([1])
    let fragment = { (offset: Int, bytes: ArraySlice<UInt8>) in
      ImportPasskeys(offset: UInt64(offset), size: UInt64(list.count), fragment: Self.passphrase(Array(bytes)))
    }
    let begun: [(first: any ServedCommand, next: any ServedCommand)] = [
      (ReadBackup(offset: 0), ReadBackup(offset: 1)),
      (ExportPasskeys(sites: nil), ExportPasskeys(sites: nil, start: 32)),
      (
        MergeBackup(offset: 0, size: 3, fragment: [1], onlyCompares: false),
        MergeBackup(offset: 1, size: 3, fragment: [1], onlyCompares: false)
      ),
      (fragment(0, list.prefix(9)), fragment(9, list.dropFirst(9))),
    ]
    for (first, next) in begun {
      #expect(await ask(Unlock(Self.passphrase())) == .ok)
      #expect(await ask(first) == .ok)
      #expect(await ask(PlugDevice(.powerCycle)) == .ok)
      #expect(await ask(next) == .passphraseRequired, "\(next)")
    }
  }

  /// What can happen between two turns of a merge.
  enum Interruption: CaseIterable { case lock, reset }

  /// A merge of 501 entries has six turns: one for the floor, one for the keys, two to compare, and two to write.
  // Holds: BACKUP-4
  @Test(arguments: Interruption.allCases, isWhole ? Array(0..<6) : [0, 3, 5])
  func `a lock or a reset between two turns of a merge ends it, and a repetition completes it`(
    _ interruption: Interruption, _ turns: Int
  ) async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let there = try Self.vault(keys, (0..<501).map { "\($0).example" })
    let made = try BackupWriter.file(of: there.store, keys: keys, nonce: [UInt8](repeating: 1, count: 24))
    let vault = try Self.vault(keys, [])
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    _ = await ask(Unlock(Self.passphrase()))
    let merge = MergeBackup(offset: 0, size: UInt64(made.file.count), fragment: made.file, onlyCompares: false)
    let remaining = Mutex(turns)
    let service = service
    service.beforeTurn.withLock {
      $0 = {
        let isNow = remaining.withLock { remaining in
          defer { remaining -= 1 }
          return remaining == 0
        }
        guard isNow else { return }
        switch interruption {
        case .lock:
          let again = OpenVault(keys: keys, ed25519Root: SecretBytes.random(count: 96), store: vault.store)
          service.vault.withLock { $0 = again }
        case .reset:
          var state = try vault.store.state()
          (state.epoch, state.floor) = (state.epoch + 1, state.epoch + 1)
          try vault.store.removeAll(state: state)
        }
      }
    }
    let answer = await session.answer(to: .command(merge))
    service.beforeTurn.withLock { $0 = nil }
    let isPartial = String(decoding: answer, as: UTF8.self).contains(BackupMerge.isPartial)
    #expect(isPartial == (turns == 5))
    switch interruption {
    case .lock:
      #expect(answer.first == ControlStatus.passphraseRequired.rawValue)
      #expect(try vault.store.credentialCount() == (turns == 5 ? 500 : 0))
    case .reset where turns == 0:
      #expect(answer.first == ControlStatus.ok.rawValue, "the merge began after it")
    case .reset:
      #expect(answer.first == ControlStatus.notAllowed.rawValue)
      #expect(try vault.store.credentialCount() == 0)
    }
    _ = await ask(Unlock(Self.passphrase()))
    #expect(await ask(merge) == .ok)
    #expect(try vault.store.credentialCount() == 501)
  }

  // Holds: BACKUP-8
  @Test func `the digests of a store come in pages, for the owner only`() async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = try Self.vault(keys, (0..<51).map { "\($0).example" })
    let blobs: [UInt8] = [0x81, 0x01]
    try vault.store.setLargeBlobArray(blobs + SHA256.hash(blobs).prefix(16))
    service.vault.withLock { $0 = vault }
    let request = DigestAccounts(challenge: [UInt8](repeating: 3, count: 32))
    _ = await ask(Hello())
    #expect(await ask(request) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    let digests = StoreDigests(keys: keys, challenge: request.challenge)
    let expected = try digests.digests(of: vault.store)
    let first = try DigestAccounts.Answer(decoding: await session.answer(to: .command(request)))
    #expect(first.accounts == Array(expected.prefix(50)) && first.next == expected[49].accountTag)
    #expect(first.phrase == digests.ofPhrase && first.largeBlobs.count == 1)
    let next = DigestAccounts(challenge: request.challenge, after: first.next)
    let second = try DigestAccounts.Answer(decoding: await session.answer(to: .command(next)))
    #expect(second.accounts == Array(expected.suffix(1)) && second.next == nil && second.largeBlobs.isEmpty)
    #expect(second.phrase == digests.ofPhrase)
    let turns = service.calls.withLock { $0.filter { $0.contains("in turn") } }
    #expect(turns == ["in turn, without changes", "in turn, without changes"])

    let again = try Self.vault(keys, [])
    service.vault.withLock { $0 = again }
    #expect(await ask(request) == .passphraseRequired, "the vault was opened again")
  }

  @Test func `every command has its own code and its kind of wait`() {
    let codes = ControlRequest.commands.map { $0.code }
    #expect(codes.sorted() == Array(0x50...0x7E) + [0x80] + Array(0x90...0x94))
    #expect(ControlRequest.commands.filter { $0.wait == .none }.map { $0.code }.sorted() == [0x50, 0x51, 0x52, 0x94])
    #expect(ControlRequest.commands.filter { $0.wait == .work }.map { $0.code }.sorted() == [0x53, 0x5B, 0x76])
  }

  static let passedOn: [[UInt8]] = [
    [0x04], [0x02, 0xA0], [0x41], [0x4F], [0xA0], [0x01] + [UInt8](repeating: 0, count: 7_608),
  ]

  @Test(arguments: passedOn)
  func `a CTAP2 message or an unknown vendor command is passed on unchanged`(_ message: [UInt8]) throws {
    let request = try message.withUnsafeBytes { bytes throws(ControlFailure) in
      try ControlRequest(decoding: bytes, isGreeted: true)
    }
    guard case .ctap(message) = request else {
      Issue.record("\(message) is read as \(request)")
      return
    }
    #expect(request.wait == .queue)
  }

  @Test func `each command byte from 50 to 9F is ours, also one without a command`() {
    for code in 0x50...0x9F as ClosedRange<UInt8> where !ControlRequest.commands.contains(where: { $0.code == code }) {
      #expect(throws: ControlFailure(.invalidCommand, "")) {
        try [code].withUnsafeBytes { bytes throws(ControlFailure) in
          try ControlRequest(decoding: bytes, isGreeted: true)
        }
      }
    }
  }
}
