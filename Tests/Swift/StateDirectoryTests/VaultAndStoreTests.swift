import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery
import StateDirectory
import Testing
import Vault

@Suite struct VaultAndStoreTests {
  let temporary: TemporaryDirectory
  let directory: StateDirectory
  static let passphrase = secret(Array("correct horse".utf8))
  static let mainKey = secret([UInt8](repeating: 7, count: 64))
  static let root = secret([UInt8](repeating: 8, count: 96))

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(opening: temporary.path)
  }

  @discardableResult
  private func make(form: CredentialIDForm? = .sealed) throws -> Int? {
    try directory.makeVaultAndStore(
      mainKey: Self.mainKey, ed25519Root: Self.root, passphrase: Self.passphrase, credentialIDForm: form, created: 42,
      cost: PassphraseCost(opsLimit: 1, memLimit: 8192)
    ).passkeys
  }

  private func openStore() throws -> (content: VaultContent, state: StoreState) {
    let content = try directory.unlock(passphrase: Self.passphrase).content
    return (content, try directory.openStore(of: content, keys: CredentialKeys(mainKey: content.mainKey)).state())
  }

  @Test(arguments: CredentialIDForm.allCases)
  func `a vault and its store are created together`(_ form: CredentialIDForm) throws {
    try make(form: form)
    let (content, state) = try openStore()
    #expect(content.mainKey.isEqual(to: Self.mainKey))
    #expect(content.ed25519Root.isEqual(to: Self.root))
    #expect(content.created == 42)
    #expect(state == StoreState(storeID: content.storeID, epoch: 0, floor: 0, credentialIDForm: form))
    #expect(try temporary.mode(of: "vault") == 0o600)
    #expect(try temporary.mode(of: "credentials.sqlite") == 0o600)
  }

  @Test(arguments: ["vault", "credentials.sqlite", "credentials.sqlite-wal", "credentials.sqlite-journal"])
  func `if a file exists, nothing is overwritten or added`(_ name: String) throws {
    try temporary.write([1, 2, 3], to: name)
    let error = #expect(throws: StateDirectoryError.self) { try make() }
    #expect(error?.kind == .exists)
    #expect(error?.description.contains("\(temporary.path)/\(name);") == true)
    #expect(temporary.names == [name])
    #expect(temporary.bytes(of: name) == [1, 2, 3])
  }

  private func makeAgain(mainKey: SecretBytes = mainKey) throws -> Int? {
    try directory.makeVaultAndStore(
      mainKey: mainKey, ed25519Root: Self.root, passphrase: secret(Array("another horse".utf8)),
      credentialIDForm: .hash, created: 43, cost: PassphraseCost(opsLimit: 1, memLimit: 8192)
    ).passkeys
  }

  @Test func `a lost vault is created again for the existing store`() throws {
    #expect(try makeAgain() == nil, "an empty store is made")
    let before = try directory.unlock(passphrase: secret(Array("another horse".utf8))).content
    try FileManager.default.removeItem(atPath: directory.vaultPath)
    let error = #expect(throws: StateDirectoryError.self) { try directory.check() }
    #expect(error?.kind == .noVault)
    #expect(error?.description.hasSuffix("or from the phrase with: liquid-auth init --import") == true)
    #expect(error?.command == ["liquid-auth", "init", "--import"])
    #expect(error?.description.contains("make a new one from shares with liquid-auth recover --shares") == true)

    let refusal = #expect(throws: StateDirectoryError.self) { try make(form: .sealed) }
    #expect(
      refusal?.description == """
        there is a store already, \(temporary.path)/credentials.sqlite, with another form of credential ids, which it keeps; \
        leave out --credential-ids
        """)
    #expect(temporary.names == ["credentials.sqlite"])

    #expect(try make(form: nil) == 0)
    let (content, state) = try openStore()
    #expect(content.storeID == before.storeID && content.mainKey.isEqual(to: before.mainKey))
    #expect(state.credentialIDForm == .hash, "the store stays as it was")
  }

  @Test func `a store of another phrase is refused and kept`() throws {
    try make()
    try FileManager.default.removeItem(atPath: directory.vaultPath)
    let bytes = temporary.bytes(of: "credentials.sqlite")
    let error = #expect(throws: StateDirectoryError.self) {
      try makeAgain(mainKey: secret([UInt8](repeating: 9, count: 64)))
    }
    #expect(error?.kind == .exists)
    #expect(error?.description.contains("the phrase does not open it") == true)
    #expect(temporary.bytes(of: "credentials.sqlite") == bytes)
    #expect(!temporary.names.contains("vault"))
  }

  @Test func `if the vault cannot be written, its new store is removed`() throws {
    // A directory in place of the temporary file: it cannot be unlinked.
    try FileManager.default.createDirectory(atPath: temporary.path + "/vault.new", withIntermediateDirectories: false)
    #expect(throws: StateDirectoryError.self) { try make() }
    #expect(temporary.names == ["vault.new"])
  }

  @Test func `a lost store is replaced by an empty one with a new id`() throws {
    try make(form: .hash)
    let old = try openStore().content
    try FileManager.default.removeItem(atPath: directory.storePath)
    try directory.makeNewStore(passphrase: Self.passphrase)
    let (content, state) = try openStore()
    #expect(content.storeID != old.storeID)
    #expect(content.mainKey.isEqual(to: old.mainKey))
    #expect(content.ed25519Root.isEqual(to: old.ed25519Root))
    #expect(content.created == old.created)
    #expect(state == StoreState(storeID: content.storeID))
  }

  // Holds: FAULT-15
  @Test func `a kill while a store is made leaves one that is completed, or made anew`() throws {
    let unfinished = CredentialDB.unfinishedPath(of: directory.storePath)
    func kill(with vault: [UInt8]) throws {
      #expect(rename(directory.storePath, unfinished) == 0)
      try temporary.write(vault, to: "vault", mode: 0o600)
      try directory.checkAtRest()
      #expect(try directory.isStoreUnfinished)
    }
    try make()
    // The vault is written, and the store has no name yet.
    let (first, made) = (try #require(temporary.bytes(of: "vault")), try openStore().state)
    try kill(with: first)
    #expect(try openStore().state == made && !FileManager.default.fileExists(atPath: unfinished))
    #expect(try !directory.isStoreUnfinished)
    // The same after a new store; the command, repeated, completes it, too.
    try FileManager.default.removeItem(atPath: directory.storePath)
    try directory.makeNewStore(passphrase: Self.passphrase)
    let (second, other) = (try #require(temporary.bytes(of: "vault")), try openStore().state)
    #expect(other != made)
    try kill(with: second)
    try directory.makeNewStore(passphrase: Self.passphrase)
    #expect(try openStore().state == other && temporary.bytes(of: "vault") == second)
    // The vault is not written: it does not know the store.
    try kill(with: first)
    let error = #expect(throws: StateDirectoryError.self) { try openStore() }
    #expect(error?.kind == .missing && error?.command == ["liquid-auth", "recover", "--new-store"])
    #expect(error?.reason.hasSuffix("is missing; a new one was being made when liquid-auth was ended") == true)
    // A log that is left belongs to another store.
    try temporary.write([1], to: "credentials.sqlite-wal")
    #expect(try !directory.isStoreUnfinished)
    #expect(unlink(directory.storePath + "-wal") == 0)
    try directory.makeNewStore(passphrase: Self.passphrase)
    #expect(try ![made, other].contains(openStore().state) && temporary.names == ["credentials.sqlite", "vault"])
  }

  // Holds: FAULT-15
  @Test func `another directory in the place of the one that was opened is not written to`() throws {
    try make()
    let content = try directory.unlock(passphrase: Self.passphrase).content
    let store = try directory.openStore(of: content, keys: CredentialKeys(mainKey: content.mainKey))
    let state = try store.state()
    let moved = temporary.path + ".moved"
    defer { try? FileManager.default.removeItem(atPath: moved) }
    try FileManager.default.copyItem(atPath: temporary.path, toPath: moved)
    #expect(chmod(moved, 0o700) == 0)
    let exchange = {
      rename(moved, moved + "2") == 0 && rename(temporary.path, moved) == 0
        && rename(moved + "2", temporary.path) == 0
    }
    #expect(exchange())
    let before = temporary.bytes(of: "vault")
    for change in [
      { try directory.check() }, { _ = try directory.unlock(passphrase: Self.passphrase) },
      { _ = try directory.changeSlots { _ in } }, { _ = try directory.replaceVault([1]) },
    ] as [() throws -> Void] {
      let error = #expect(throws: StateDirectoryError.self) { try change() }
      #expect(error?.kind == .exchanged && error?.hint?.contains("restart liquid-authenticator") == true)
    }
    let error = #expect(throws: RecoveryError.self) { try store.setState(state) }
    #expect(error?.description.contains("restart liquid-authenticator") == true && store.writeFailure == error)
    #expect(throws: RecoveryError.self) {
      try store.append(HistoryEntry(time: 5, site: nil, kind: .reset, outcome: .done, verification: .none))
    }
    #expect(temporary.bytes(of: "vault") == before)
    // It comes back.
    #expect(exchange())
    try store.setState(state)
    #expect(store.writeFailure == nil)
    try directory.check()
  }

  // Holds: FAULT-15
  @Test(arguments: [ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EACCES, EPERM, EMFILE, ENFILE, ENOMEM, ELOOP, ENOTDIR, EISDIR])
  func `an error of a file says what to do`(number: Int32) {
    #expect(FileRemedy.text(number)?.isEmpty == false)
  }

  @Test func `a wrong passphrase creates no store`() throws {
    try make()
    try FileManager.default.removeItem(atPath: directory.storePath)
    let vault = temporary.bytes(of: "vault")
    let error = #expect(throws: StateDirectoryError.self) {
      try directory.makeNewStore(passphrase: secret(Array("wrong".utf8)))
    }
    #expect(error?.kind == .wrongPassphrase)
    #expect(temporary.bytes(of: "vault") == vault)
    #expect(temporary.names == ["vault"])
  }

  @Test func `an existing store is never replaced, even if damaged`() throws {
    try make()
    #expect(throws: StateDirectoryError.self) { try directory.makeNewStore(passphrase: Self.passphrase) }
    _ = try openStore()
    try temporary.write([0], to: "credentials.sqlite")
    let error = #expect(throws: StateDirectoryError.self) { try directory.makeNewStore(passphrase: Self.passphrase) }
    #expect(error?.kind == .exists)
    #expect(temporary.bytes(of: "credentials.sqlite") == [0])
  }

  @Test func `a new store needs a vault`() throws {
    let error = #expect(throws: StateDirectoryError.self) { try directory.makeNewStore(passphrase: Self.passphrase) }
    #expect(error?.kind == .noVault)
    #expect(temporary.names.isEmpty)
  }

  @Test(arguments: [[], [0xA5], [0xA5, 0x01, 0x02], [UInt8](repeating: 0xFF, count: 300)] as [[UInt8]])
  func `a damaged vault is reported by path and not changed`(_ bytes: [UInt8]) throws {
    try temporary.write(bytes, to: "vault")
    let error = #expect(throws: StateDirectoryError.self) { try directory.makeNewStore(passphrase: Self.passphrase) }
    #expect(error?.kind == .damaged)
    #expect(error?.description.contains(directory.vaultPath) == true)
    #expect(temporary.bytes(of: "vault") == bytes)
    #expect(temporary.names == ["vault"])
  }
}

private func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }

@Suite struct ControlSocketPathTests {
  static let cases: [(stateDirectory: String?, variables: [String: String], path: String)] = [
    (nil, ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/h"], "/run/user/7/liquid-auth/control.sock"),
    ("/s", ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/h"], "/s/control.sock"),
    (nil, ["XDG_RUNTIME_DIR": "run", "HOME": "/h"], "/h/.local/state/liquid-auth/control.sock"),
    (nil, ["XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/liquid-auth/control.sock"),
    (nil, ["XDG_RUNTIME_DIR": "/run/user/7"], "/run/user/7/liquid-auth/control.sock"),
  ]

  @Test(arguments: cases)
  func `the control socket is in the runtime directory or beside the vault`(
    _ stateDirectory: String?, _ variables: [String: String], _ path: String
  ) throws {
    #expect(
      try StateDirectory.controlSocketPath(stateDirectory: stateDirectory) { variables[$0] } == path)
  }

  @Test func `without a home directory there is no socket path`() {
    #expect(throws: StateDirectoryError.self) {
      try StateDirectory.controlSocketPath(stateDirectory: nil) { _ in nil }
    }
  }
}
