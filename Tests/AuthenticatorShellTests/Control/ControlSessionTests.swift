import CBOR
import CTAP2
import ControlProtocol
import CryptoPrimitives
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

@Suite struct ControlSessionTests {
  let service = ScriptedService()
  let lines = Lines()
  let session: ControlSession

  init() { session = ControlSession(client: 5, service: service, log: lines.add) }

  private func ask(_ command: any ServedCommand) async -> ControlStatus? { await ask(.command(command)) }

  private func ask(_ request: ControlRequest) async -> ControlStatus? {
    await session.answer(to: request).first.map(ControlStatus.init(rawValue:))
  }

  private static func passphrase(_ bytes: [UInt8] = ScriptedService.passphrase) -> SecretBytes {
    bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  static let others: [ControlRequest] = [
    .ctap([0x04]), .command(GetStatus()), .command(Lock()), .command(Unlock(passphrase())),
    .command(NewStore(passphrase())), .command(AcceptStore(passphrase())), .command(ListCredentials()),
    .command(AcceptBeforeReset()), .command(PlugDevice(.detach)),
  ]

  // Holds: CONTROL-4
  @Test(arguments: others.indices)
  func `before hello every request is refused`(_ index: Int) async {
    #expect(await ask(Self.others[index]) == .versionMismatch)
    #expect(service.calls.withLock { $0 }.isEmpty)
  }

  // Holds: CONTROL-4
  @Test(arguments: [0, ControlMessage.version - 1, ControlMessage.version + 1, UInt64.max])
  func `hello of another version is refused, and does not count`(_ version: UInt64) async {
    #expect(await ask(Hello(version: version)) == .versionMismatch)
    #expect(await ask(GetStatus()) == .versionMismatch)
  }

  @Test func `a refusal, and a prompt that could not be shown, have one status and different reasons`() {
    let declined = ControlFailure(CTAPError(UserInteractionError.declined))
    let unavailable = ControlFailure(CTAPError(UserInteractionError.unavailable))
    #expect((declined.status, declined.reason) == (.operationDenied, "the user refused"))
    #expect(unavailable.status == .operationDenied)
    #expect(
      unavailable.reason
        == "no prompt could be shown, or the vault is not open; to see why, look at the authenticator's log, and run: "
        + "liquid-auth status")
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
    #expect(await ask(NewStore(Self.passphrase())) == .ok)
    #expect(await ask(AcceptStore(Self.passphrase())) == .ok)
    #expect(service.calls.withLock { $0 } == ["ctap [4] of 5", "lock", "device replug", "newStore", "acceptStore"])
  }

  // Holds: CONTROL-5, PIN-18
  @Test func `a power cycle needs the passphrase on this connection`() async {
    _ = await ask(Hello())
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired)
    let other = ControlSession(client: 6, service: service, log: lines.add)
    _ = await other.answer(to: .command(Hello()))
    _ = await other.answer(to: .command(Unlock(Self.passphrase())))
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired, "that was another connection")
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(PlugDevice(.powerCycle)) == .ok)
    #expect(await ask(PlugDevice(.powerCycle)) == .passphraseRequired, "the passphrase was for one")
    #expect(service.calls.withLock { $0 } == ["unlock", "unlock", "device powerCycle"])
  }

  // Holds: CONTROL-6
  @Test func `the slots of the vault and its counter change only for the owner`() async {
    let key = Self.passphrase([UInt8](repeating: 1, count: 32))
    let protector: CBORMap = [1: 1, 2: .bytes([UInt8](repeating: 2, count: 16)), 3: 1, 4: 8192]
    let changes: [any ServedCommand] = [
      SealSlot(key: key, protector: protector), RemoveSlot(id: [1]), ChangeCounter(.accept),
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
        "unlock", "changeSlots as changePassphrase", "changeSlots as removeSlot", "changeCounter",
      ])
  }

  @Test func `a failure is answered with its reason`() async {
    _ = await ask(Hello())
    let answer = await session.answer(to: .command(PlugDevice(.attach)))
    #expect(answer == ControlFailure(.unavailable, "cannot open /dev/uhid").encoded)
  }

  static let wallet: [any WalletCommand] = [
    GetAccount(), GetAddresses(account: 0, first: 0, count: 1), GetAccountPasskey(rpID: "a"),
    SignTransactions([.init([], isToBeSigned: true)], origin: "o"), SignMessage([0x61], origin: "o"),
    GetAssociationKey(publicUserID: "al"), SignAssociation(publicUserID: "al", data: [0x61], service: "s"),
  ]

  @Test(arguments: wallet.indices)
  func `a wallet request needs no passphrase on its connection, and waits for its turn`(_ index: Int) async throws {
    #expect(await ask(Self.wallet[index]) == .versionMismatch)
    _ = await ask(Hello())
    #expect(await ask(Self.wallet[index]) == .operationDenied)
    #expect(service.calls.withLock { $0 } == ["in turn"])
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

  static let managing: [any OwnerCommand] = [
    ListCredentials(), ShowCredential(reference), RemoveCredential(reference), RenameCredential(reference, name: "x"),
    RecoverCredential(rpID: "a", userHandle: [1]), AcceptBeforeReset(), SetPIN(passphrase()), RemovePIN(),
    ForgetReaders(), GetSettings(), ChangeSettings(alwaysUV: true), SetLargeBlobArray([], changedFrom: nil),
  ]
  static let reference = CredentialReference(rpID: "a", credentialID: [1])

  // Holds: CONTROL-6
  @Test(arguments: managing.indices)
  func `managing credentials needs the passphrase on this connection, even with an open vault`(_ index: Int)
    async throws
  {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    service.vault.withLock { $0 = vault }
    _ = await ask(Hello())
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    #expect(await ask(Unlock(Self.passphrase())) == .ok)
    #expect(await ask(Self.managing[index]) != .passphraseRequired)
    // A vault that was locked and unlocked again needs the passphrase again.
    service.vault.withLock { vault in
      vault = OpenVault(
        keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    }
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    // A wrong passphrase revokes what the right one granted.
    #expect(await ask(Unlock(Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
  }

  @Test func `every command has its own code and its kind of wait`() {
    let codes = ControlRequest.commands.map { $0.code }
    #expect(codes.sorted() == Array(0x50...0x6F))
    #expect(ControlRequest.commands.filter { $0.wait == .none }.map { $0.code }.sorted() == [0x50, 0x51, 0x52])
    #expect(ControlRequest.commands.filter { $0.wait == .work }.map { $0.code }.sorted() == [0x53, 0x5B])
  }

  @Test(arguments: [[0x04], [0x02, 0xA0], [0x41]] as [[UInt8]])
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
}
