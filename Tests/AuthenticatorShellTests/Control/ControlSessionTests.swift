import ControlDoor
import CryptoPrimitives
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

@Suite struct ControlSessionTests {
  let desk = ScriptedDesk()
  let lines = Lines()
  let session: ControlSession

  init() { session = ControlSession(client: 5, desk: desk, wallClock: { 1_000 }, log: lines.add) }

  private func ask(_ request: ControlRequest) async -> ControlStatus? {
    await session.answer(to: request).first.map(ControlStatus.init(rawValue:))
  }

  private static func passphrase(_ bytes: [UInt8] = ScriptedDesk.passphrase) -> SecretBytes {
    bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  static let others: [ControlRequest] = [
    .ctap([0x04]), .status, .lock, .unlock(passphrase: passphrase()), .newStore(passphrase: passphrase()),
    .acceptStore(passphrase: passphrase()), .listCredentials(start: 0), .acceptBeforeReset, .device(.detach),
  ]

  @Test(arguments: others.indices)
  func `before hello nothing is done`(_ index: Int) async {
    #expect(await ask(Self.others[index]) == .versionMismatch)
    #expect(desk.calls.withLock { $0 }.isEmpty)
  }

  @Test(arguments: [0, ControlMessage.version - 1, ControlMessage.version + 1, UInt64.max])
  func `hello of another version is refused, and does not count`(_ version: UInt64) async {
    #expect(await ask(.hello(version: version)) == .versionMismatch)
    #expect(await ask(.status) == .versionMismatch)
  }

  @Test func `hello tells version and process`() async throws {
    let hello = try Hello(decoding: await session.answer(to: .hello(version: ControlMessage.version)))
    #expect(hello.version == ControlMessage.version)
    #expect(hello.processID > 1)
  }

  @Test func `what needs no passphrase is passed on`() async throws {
    _ = await ask(.hello(version: ControlMessage.version))
    #expect(await session.answer(to: .ctap([0x04])) == [0x00, 0x04])
    #expect(try AuthenticatorStatus(decoding: await session.answer(to: .status)).processID == 7)
    #expect(await ask(.lock) == .ok)
    #expect(await ask(.device(.replug)) == .ok)
    #expect(await ask(.newStore(passphrase: Self.passphrase())) == .ok)
    #expect(await ask(.acceptStore(passphrase: Self.passphrase())) == .ok)
    #expect(desk.calls.withLock { $0 } == ["ctap [4] of 5", "lock", "device replug", "newStore", "acceptStore"])
  }

  @Test func `a power cycle needs the passphrase on this connection`() async {
    _ = await ask(.hello(version: ControlMessage.version))
    #expect(await ask(.device(.powerCycle)) == .passphraseRequired)
    #expect(await ask(.unlock(passphrase: Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(.device(.powerCycle)) == .passphraseRequired)
    let other = ControlSession(client: 6, desk: desk, wallClock: { 1_000 }, log: lines.add)
    _ = await other.answer(to: .hello(version: ControlMessage.version))
    _ = await other.answer(to: .unlock(passphrase: Self.passphrase()))
    #expect(await ask(.device(.powerCycle)) == .passphraseRequired, "that was another connection")
    #expect(await ask(.unlock(passphrase: Self.passphrase())) == .ok)
    #expect(await ask(.device(.powerCycle)) == .ok)
    #expect(await ask(.device(.powerCycle)) == .passphraseRequired, "the passphrase was for one")
    #expect(desk.calls.withLock { $0 } == ["unlock", "unlock", "device powerCycle"])
  }

  @Test func `a failure is answered with its reason`() async {
    _ = await ask(.hello(version: ControlMessage.version))
    let answer = await session.answer(to: .device(.attach))
    #expect(answer == ControlFailure(.unavailable, "cannot open /dev/uhid").encoded)
  }

  static let wallet: [ControlRequest] = [
    .account, .accounts(AccountRange(account: 0, first: 0, count: 1)), .walletPasskey(rpID: "a"),
    .signTransactions(TransactionsToSign([.init([], isToBeSigned: true)], origin: "o")),
    .signMessage(MessageToSign([0x61], origin: "o")), .associationKey(publicUserID: "al"),
    .signAssociation(AssociationToSign(publicUserID: "al", data: [0x61], service: "s")),
  ]

  @Test(arguments: wallet.indices)
  func `a wallet needs no passphrase on its connection, and waits for its turn`(_ index: Int) async throws {
    #expect(await ask(Self.wallet[index]) == .versionMismatch)
    _ = await ask(.hello(version: ControlMessage.version))
    #expect(await ask(Self.wallet[index]) == .operationDenied)
    #expect(desk.calls.withLock { $0 } == ["in turn"])
  }

  @Test func `what a wallet is refused before anybody is asked is one line in the log`() async {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    desk.vault.withLock {
      $0 = OpenVault(
        keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    }
    _ = await ask(.hello(version: ControlMessage.version))
    #expect(await ask(.signMessage(MessageToSign([0xFF], origin: "https://d.example"))) == .cannotBeShown)
    #expect(lines.all == ["sign for a wallet https://d.example refused before the question: it cannot be shown"])
  }

  static let managing: [ControlRequest] = [
    .listCredentials(start: 0), .showCredential(reference), .removeCredential(reference),
    .renameCredential(reference, names: CredentialNames(name: "x")),
    .recoverCredential(CredentialRecovery(rpID: "a", userHandle: [1])), .acceptBeforeReset,
    .setPIN(passphrase()), .removePIN, .forgetReaders, .settings, .changeSettings(SettingsChange(alwaysUV: true)),
    .setLargeBlobArray([], changedFrom: nil),
  ]
  static let reference = CredentialReference(rpID: "a", credentialID: [1])

  @Test(arguments: managing.indices)
  func `credentials need the passphrase on this connection, also while the vault is open`(_ index: Int) async throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    desk.vault.withLock { $0 = vault }
    _ = await ask(.hello(version: ControlMessage.version))
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    #expect(await ask(.unlock(passphrase: Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    #expect(await ask(.unlock(passphrase: Self.passphrase())) == .ok)
    #expect(await ask(Self.managing[index]) != .passphraseRequired)
    // A vault that was locked and opened by somebody else is another matter.
    desk.vault.withLock { vault in
      vault = OpenVault(
        keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    }
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
    // A wrong passphrase takes back what the right one gave.
    #expect(await ask(.unlock(passphrase: Self.passphrase([1, 2, 3]))) == .wrongPassphrase)
    #expect(await ask(Self.managing[index]) == .passphraseRequired)
  }
}
