import CBOR
import CTAP2
import ControlProtocol
import CryptoPrimitives
import Recovery
import Synchronization
import Testing

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// Each command of the table, and who may give it.
@Suite struct EveryCommandTests {
  private let service = ScriptedService()
  private let session: ControlSession

  /// A person who refuses: after an answer at once, a prompt that must be read would wait for the test's clock.
  init() {
    session = Self.session(5, service)
    service.person.withLock { $0 = UserPrompter(testing: ScriptedBackEnd(refuses: true)) }
  }

  private static func session(
    _ client: UInt64, _ service: ScriptedService, in terminal: TerminalSession? = nil
  ) -> ControlSession {
    ControlSession(client: client, service: service, terminal: terminal, log: { _ in })
  }

  private static func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }
  private static func secret(_ count: Int) -> SecretBytes { secret([UInt8](repeating: 1, count: count)) }

  private static let reference = CredentialReference(rpID: "a", credentialID: [1])

  /// A valid request of each command.
  static let requests: [any ServedCommand] = [
    Hello(), GetStatus(), Lock(), Unlock(secret(ScriptedService.passphrase)), UnlockBySlot(),
    NewStore(secret(ScriptedService.passphrase)), AcceptStore(secret(ScriptedService.passphrase)), PlugDevice(.replug),
    SealSlot(key: secret(32), protector: [1: 1, 2: .bytes([UInt8](repeating: 2, count: 16)), 3: 1, 4: 8192]),
    RemoveSlot(id: [1]), ChangeCounter(.accept), ReportDApp(isOpen: true),
    ListCredentials(), ShowCredential(reference), RenameCredential(reference, name: "x"), RemoveCredential(reference),
    RecoverCredential(rpID: "a", userHandle: [1]), AcceptBeforeReset(), SetPIN(secret([0x31, 0x32, 0x33, 0x34])),
    RemovePIN(), GetSettings(), ChangeSettings(alwaysUV: true), ForgetReaders(),
    SetLargeBlobArray([], changedFrom: nil), ListHistory(), CheckHistory(), ChangePolicy(.site("a.example", 2)),
    ChangePolicy(), KeepTrezorKeys(secret(192)), ForgetTrezorKeys(),
    ReadBackup(offset: 0), MergeBackup(offset: 0, size: 1, fragment: [1], onlyCompares: false),
    DigestAccounts(challenge: [UInt8](repeating: 3, count: 32)), RecordBackup(.written, at: 7),
    ImportPasskeys(offset: 0, size: 1, fragment: secret([1])),
    ExportPasskeys(sites: nil), FollowBackups("/a"), AwaitBackup(),
    BeginRotation(mainKey: secret(64), ed25519Root: secret(96)), ListRotation(start: 0), GiveUpSites(["a"]),
    EndRotation(),
    GetAccount(), GetAddresses(account: 0, first: 0, count: 1), GetAccountPasskey(rpID: "a"),
    SignTransactions([.init([], isToBeSigned: true)], origin: "o"), SignMessage([0x61], origin: "o"),
    GetAssociationKey(publicUserID: "al"), SignAssociation(publicUserID: "al", data: [0x61], service: "s"),
    GetRekeying(), SignRekeying([0x80]), PerformHybrid([0x04]),
    KeepPairing(origin: "https://a", rpID: "a", pairingID: "p", credential: secret([1])), GetPairing(site: "a"),
  ]

  /// The commands that need no passphrase on their connection; all others of the table are for the owner.
  ///
  /// NewStore and AcceptStore contain the passphrase. UnlockBySlot verifies nobody. Each replug but a power cycle is
  /// free. In the requests of wallets, the person decides.
  static let forEveryone: [any ServedCommand.Type] = [
    Hello.self, GetStatus.self, Lock.self, Unlock.self, UnlockBySlot.self, NewStore.self, AcceptStore.self,
    PlugDevice.self, AwaitBackup.self, ReportDApp.self,
    GetAccount.self, GetAddresses.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self,
    GetAssociationKey.self, SignAssociation.self, GetRekeying.self, SignRekeying.self, PerformHybrid.self,
    KeepPairing.self, GetPairing.self,
  ]

  private static func isForEveryone(_ request: any ServedCommand) -> Bool {
    forEveryone.contains { $0.code == type(of: request).code }
  }

  private func ask(_ request: any ServedCommand, in session: ControlSession? = nil) async -> ControlStatus? {
    await (session ?? self.session).answer(to: .command(request)).first.map(ControlStatus.init(rawValue:))
  }

  /// The root of the accounts, with the bits that a root must have.
  private static let root = secret([UInt8](repeating: 0x40, count: 96))

  /// Opens the vault, or opens it again.
  private func openVault() {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    service.vault.withLock { vault in
      vault = OpenVault(
        keys: keys, ed25519Root: Self.root, store: InMemoryCredentialStore(keys: keys))
    }
  }

  // Holds: CONTROL-6
  @Test func `the tests have a request of each command in the table`() {
    let codes = Set(ControlRequest.commands.map { $0.code })
    #expect(codes.count == ControlRequest.commands.count)
    #expect(Set(Self.requests.map { type(of: $0).code }) == codes)
    #expect(Set(Self.forEveryone.map { $0.code }).isSubset(of: codes))
  }

  // Holds: CONTROL-4
  @Test(arguments: requests.indices)
  func `before hello every command is refused`(_ index: Int) async {
    let request = Self.requests[index]
    openVault()
    #expect(await ask(request) == (request is Hello ? .ok : .versionMismatch))
    #expect(service.calls.withLock { $0 }.isEmpty)
  }

  // Holds: CONTROL-6
  @Test(arguments: requests.indices.filter { !isForEveryone(requests[$0]) })
  func `a command of the owner needs the passphrase on its connection, even with an open vault`(
    _ index: Int
  ) async {
    let request = Self.requests[index]
    let (right, wrong) = (Unlock(Self.secret(ScriptedService.passphrase)), Unlock(Self.secret([1, 2, 3])))
    openVault()
    #expect(await ask(Hello()) == .ok)
    #expect(await ask(request) == .passphraseRequired)
    // On another connection, it does not count.
    let other = Self.session(6, service)
    #expect(await ask(Hello(), in: other) == .ok)
    #expect(await ask(right, in: other) == .ok)
    #expect(await ask(request) == .passphraseRequired)
    #expect(await ask(wrong) == .wrongPassphrase)
    #expect(await ask(request) == .passphraseRequired)
    #expect(service.calls.withLock { $0 } == ["unlock"], "nothing else was done")
    #expect(await ask(right) == .ok)
    let answer = await ask(request)
    #expect(answer != .passphraseRequired && answer != .versionMismatch)
    // A wrong passphrase revokes what the right one granted.
    #expect(await ask(wrong) == .wrongPassphrase)
    #expect(await ask(request) == .passphraseRequired)
    // A vault that was locked and unlocked again needs the passphrase again.
    #expect(await ask(right) == .ok)
    openVault()
    #expect(await ask(request) == .passphraseRequired)
  }

  // Holds: CONTROL-20
  @Test func `only the list of passkeys is marked as going by ticket`() {
    #expect(ControlRequest.commands.filter { $0.goesByTicket }.map { $0.code } == [ListCredentials.code])
  }

  // Holds: CONTROL-20
  @Test(arguments: requests.indices.filter { !isForEveryone(requests[$0]) })
  func `with the ticket of a terminal, only the list of passkeys needs no passphrase`(_ index: Int) async {
    let request = Self.requests[index]
    let terminal = TerminalSession(device: 0x8801, leader: 100, start: 5000)
    openVault()
    // An earlier command in the terminal gave the passphrase.
    let earlier = Self.session(6, service, in: terminal)
    #expect(await ask(Hello(), in: earlier) == .ok)
    #expect(await ask(Unlock(Self.secret(ScriptedService.passphrase)), in: earlier) == .ok)
    let later = Self.session(7, service, in: terminal)
    #expect(await ask(Hello(), in: later) == .ok)
    let isList = request is ListCredentials
    #expect(await ask(request, in: later) == (isList ? .ok : .passphraseRequired))
    #expect(service.calls.withLock { $0 } == (isList ? ["unlock", "in turn"] : ["unlock"]), "nothing else was done")
    // The ticket does not make its connection the owner's.
    #expect(await later.standing.isVerified == false)
  }

  @Test(arguments: requests.indices.filter { isForEveryone(requests[$0]) })
  func `a command for everyone needs no passphrase on its connection`(_ index: Int) async {
    openVault()
    #expect(await ask(Hello()) == .ok)
    #expect(await ask(Self.requests[index]) != .passphraseRequired)
  }

  @Test(arguments: requests.indices.filter { requests[$0] is any WalletCommand })
  func `a wallet request waits for its turn`(_ index: Int) async {
    _ = await ask(Hello())
    #expect(await ask(Self.requests[index]) == .operationDenied)
    #expect(service.calls.withLock { $0 } == ["in turn"])
  }

  /// The kinds of the entries in the history.
  ///
  /// Lists have none; GiveUpSites has one for each site, from the store.
  static let kinds: [UInt8: HistoryEntry.Kind] = [
    RenameCredential.code: .renamePasskey, RemoveCredential.code: .removePasskey,
    RecoverCredential.code: .recoverPasskey, AcceptBeforeReset.code: .acceptBeforeReset, SetPIN.code: .changePIN,
    RemovePIN.code: .changePIN, ChangeSettings.code: .changeSettings, ForgetReaders.code: .forgetReaders,
    SetLargeBlobArray.code: .replaceLargeBlobs, ChangePolicy.code: .changePolicy, FollowBackups.code: .followFolder,
    KeepTrezorKeys.code: .changeSettings, ForgetTrezorKeys.code: .changeSettings,
  ]

  // Holds: RECORD-1
  @Test func `each change by the owner has its kind in the history`() {
    for case let request as any OwnerCommand in Self.requests {
      let isList = request as? ChangePolicy == ChangePolicy()
      #expect(
        request.recorded?.kind == (isList ? nil : Self.kinds[type(of: request).code]), "\(type(of: request))")
    }
    let sites: [(any OwnerCommand, String?)] = [
      (RenameCredential(Self.reference, name: "x"), "a"), (RemoveCredential(Self.reference), "a"),
      (RecoverCredential(rpID: "a", userHandle: [1]), "a"), (ChangePolicy(.site("a", nil)), "a"),
      (ChangePolicy(.others(2)), nil),
    ]
    for (request, site) in sites { #expect(request.recorded?.site == site) }
    #expect(FollowBackups(nil).recorded?.kind == .leaveFolder)
  }
}
