import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery
import StateDirectory
import Testing
import Vault

/// The files of a move to a new phrase: Recovery §14.
@Suite struct RotationTests {
  let temporary: TemporaryDirectory
  let directory: StateDirectory
  static let passphrase = secret("correct horse")
  static let old = StateDirectory.NewPhrase(
    mainKey: secret([UInt8](repeating: 7, count: 64)), ed25519Root: secret([UInt8](repeating: 8, count: 96)))
  static let new = StateDirectory.NewPhrase(
    mainKey: secret([UInt8](repeating: 17, count: 64)), ed25519Root: secret([UInt8](repeating: 18, count: 96)))
  static let blobs: [UInt8] = [0x81, 0xA0] + SHA256.hash([0x81, 0xA0]).prefix(16)

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(opening: temporary.path)
    try directory.makeVaultAndStore(
      mainKey: secret([UInt8](repeating: 7, count: 64)), ed25519Root: secret([UInt8](repeating: 8, count: 96)),
      passphrase: Self.passphrase, credentialIDForm: .hash, created: 42,
      cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    let store = try present().store
    var state = try store.state()
    (state.settings.alwaysUV, state.epoch) = (true, 3)
    try store.setState(state)
    try store.append(HistoryEntry(time: 5, site: "ssh:", kind: .register, outcome: .done, verification: .none))
    try store.setLargeBlobArray(Self.blobs)
    try store.save(Self.passkey("old.example"), state: nil)
  }

  static func passkey(_ rpID: String) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: rpID, userID: [1], name: "alice", id: [1, 2], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .registered))
  }

  private func present() throws -> (vault: UnlockedVault, store: CredentialDB) {
    let vault = try directory.unlock(passphrase: Self.passphrase)
    return (vault, try directory.openStore(of: vault.content, keys: CredentialKeys(mainKey: vault.content.mainKey)))
  }

  private func previous() throws -> CredentialDB {
    let content = try #require(try directory.unlock(passphrase: Self.passphrase).content.previous)
    return try directory.openPreviousStore(of: content, keys: CredentialKeys(mainKey: content.mainKey))
  }

  private func begin() throws {
    let lock = try directory.lock()
    let (vault, store) = try present()
    try directory.beginRotation(of: vault, closing: store, to: Self.new, now: 77)
    withExtendedLifetime(lock) {}
  }

  private func end() throws {
    let lock = try directory.lock()
    let vault = try directory.unlock(passphrase: Self.passphrase)
    try directory.endRotation(of: vault, closing: previous())
    withExtendedLifetime(lock) {}
  }

  /// The files without the lock.
  private var files: [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: names.map { ($0, temporary.bytes(of: $0) ?? []) })
  }

  private var names: [String] { temporary.names.filter { $0 != "daemon.lock" } }

  /// Puts exactly these files into the directory, as an interruption or a failure leaves them.
  private func put(_ files: [String: [UInt8]?]) throws {
    for name in names { try FileManager.default.removeItem(atPath: "\(temporary.path)/\(name)") }
    for case (let name, let bytes?) in files { try temporary.write(bytes, to: name) }
  }

  /// Puts these files into the directory, and lets the next process lock it.
  private func interrupted(_ files: [String: [UInt8]?]) throws {
    try put(files)
    withExtendedLifetime(try directory.lock()) {}
  }

  private func expectBothPhrases() throws {
    #expect(names == ["credentials.sqlite", "previous.sqlite", "vault"])
    try directory.check()
    #expect(try present().store.allCredentials().map(\.rpID) == [])
    #expect(try previous().allCredentials().map(\.rpID) == ["old.example"])
  }

  private func expectOldPhrase() throws {
    #expect(names == ["credentials.sqlite", "vault"])
    let (vault, store) = try present()
    #expect(vault.content.previous == nil && vault.content.created == 42)
    #expect(try store.allCredentials().map(\.rpID) == ["old.example"])
  }

  private func expectNewPhrase() throws {
    #expect(names == ["credentials.sqlite", "vault"])
    let (vault, store) = try present()
    #expect(vault.content.previous == nil && vault.content.created == 77)
    #expect(try store.allCredentials().map(\.rpID) == [])
  }

  // MARK: Begin and end

  // Holds: ROTATE-2
  @Test func `a new phrase gets a store of its own, with the settings, the history and the large blobs`() throws {
    let before = try present().store.state()
    try begin()
    try expectBothPhrases()
    let (vault, store) = try present()
    #expect(vault.content.created == 77 && vault.content.previous?.created == 42)
    #expect(vault.content.previous?.storeID == before.storeID)
    #expect(try store.state() == before.ofNewPhrase(storeID: vault.content.storeID))
    #expect(try store.state().epoch == 0 && store.state().settings.alwaysUV)
    #expect(try store.largeBlobArray() == Self.blobs)
    #expect(try store.historyEntries().map(\.kind) == [.register, .beginRotation])
    #expect(try store.historyEntries().map(\.time) == [5, 77])
    #expect(try store.checkHistory().faults == [])
    #expect(try previous().historyEntries().map(\.kind) == [.register])
    for name in names { #expect(try temporary.mode(of: name) == 0o600) }
  }

  private static func imported(_ number: UInt8) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: "imported.example", userID: [number], name: "bob", id: [UInt8](repeating: number, count: 16),
        algorithm: .es256, counter: 0, created: 3, changed: 4, origin: .imported, credBlob: [number],
        importedKey: secret([UInt8](repeating: number, count: 32))))
  }

  // Holds: ROTATE-10
  @Test func `imported passkeys move to the new store with their secrets, and again if that store is lost`() throws {
    let passkeys = try (1...101 as ClosedRange<UInt8>).map { try Self.imported($0) }
    do {
      let store = try present().store
      for passkey in passkeys { try store.save(passkey, state: nil) }
      store.close()
    }
    try begin()
    let oldKeys = CredentialKeys(mainKey: secret([UInt8](repeating: 7, count: 64)))
    let kept = passkeys.map { $0.keepingCredRandoms(of: oldKeys) }
    #expect(kept[0].credRandoms?.count == 64)
    #expect(try present().store.allCredentials() == kept.reversed(), "the newest is the first, as before")
    #expect(try previous().allCredentials().count == 102, "the old store is as it was")
    #expect(try present().store.rotationEntries(previous: previous()).map(\.site) == ["old.example", "ssh:"])

    try FileManager.default.removeItem(atPath: directory.storePath)
    try directory.makeNewStore(passphrase: Self.passphrase)
    do {
      let store = try present().store
      #expect(try store.allCredentials() == kept.reversed())
      try store.remove(kept[0], changed: 9)
    }
    try end()
    #expect(try present().store.allCredentials() == kept.dropFirst().reversed())
    // A second move does not change them.
    let lock = try directory.lock()
    let (vault, store) = try present()
    try directory.beginRotation(of: vault, closing: store, to: Self.old, now: 99)
    withExtendedLifetime(lock) {}
    #expect(try present().store.allCredentials() == kept.dropFirst().reversed())
  }

  // Holds: ROTATE-4
  @Test func `the end leaves the new phrase alone`() throws {
    try begin()
    try end()
    try expectNewPhrase()
    #expect(try present().store.historyEntries().map(\.kind) == [.register, .beginRotation])
    // A second move begins like the first.
    let lock = try directory.lock()
    let (vault, store) = try present()
    try directory.beginRotation(of: vault, closing: store, to: Self.old, now: 99)
    withExtendedLifetime(lock) {}
    #expect(try present().vault.content.previous?.created == 77)
  }

  // Holds: ROTATE-2
  @Test func `a second phrase, the same phrase, and an end without a beginning are refused`() throws {
    var error = #expect(throws: StateDirectoryError.self) {
      let (vault, store) = try present()
      try directory.beginRotation(of: vault, closing: store, to: Self.old, now: 1)
    }
    #expect(error?.description == "the vault already has this phrase; give another phrase")
    error = #expect(throws: StateDirectoryError.self) {
      let (vault, store) = try present()
      try directory.endRotation(of: vault, closing: store)
    }
    #expect(error?.kind == .unchanged)
    #expect(error?.description.hasPrefix("no move to a new phrase has begun; ") == true)
    try expectOldPhrase()
    try begin()
    let before = files
    error = #expect(throws: StateDirectoryError.self) { try begin() }
    #expect(
      error?.description == "a move to a new phrase has already begun; see what is left with: liquid-auth rotate list")
    #expect(files == before)
  }

  // Holds: ROTATE-2
  @Test(arguments: ["previous.sqlite", "previous.sqlite-wal"])
  func `the store of an earlier phrase is never replaced`(_ name: String) throws {
    try temporary.write([1, 2, 3], to: name)
    let error = #expect(throws: StateDirectoryError.self) { try begin() }
    #expect(
      error?.description
        == "there is a store of an earlier phrase, \(temporary.path)/\(name); it is not overwritten: move it away")
    #expect(temporary.bytes(of: name) == [1, 2, 3])
    #expect(names == ["credentials.sqlite", name, "vault"])
    #expect(try present().store.allCredentials().count == 1, "nothing was closed")
  }

  // Holds: ROTATE-2
  @Test func `a vault without room for another phrase stays as it is`() throws {
    let vault = try directory.unlock(passphrase: Self.passphrase)
    let key = secret([UInt8](repeating: 2, count: 32))
    func size() throws -> Int { try directory.readVault().count }
    func addSlot(_ count: Int) throws {
      try directory.changeSlots { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        let protector = VaultSlot.Protector.systemdCredential([UInt8](repeating: 1, count: count), autoUnlock: false)
        try file.seal(vault, for: protector, key: key, using: &generator)
      }
    }
    var before = try size()
    try addSlot(1000)
    let overhead = try size() - before - 1000
    while try size() < StateDirectory.vaultSizeLimit - 1700 { try addSlot(1000) }
    // 100 bytes are left; the previous phrase takes more.
    try addSlot(StateDirectory.vaultSizeLimit - 100 - overhead - size())
    #expect(try size() == StateDirectory.vaultSizeLimit - 100)
    let left = files
    let error = #expect(throws: StateDirectoryError.self) { try begin() }
    #expect(error?.kind == .unchanged)
    #expect(
      error?.description
        == "the vault has no space for another phrase; remove a slot with: liquid-auth vault remove")
    #expect(files == left)
    before = try size()
    let last = try #require(try directory.slots().last)
    try directory.changeSlots { (file) throws(VaultError) in try file.removeSlot(last.id) }
    #expect(try size() < before)
    try begin()
    try expectBothPhrases()
  }

  @Test func `if the vault cannot be replaced, the old phrase stays`() throws {
    // A directory in place of the temporary file: it cannot be unlinked.
    try FileManager.default.createDirectory(atPath: temporary.path + "/vault.new", withIntermediateDirectories: false)
    #expect(throws: StateDirectoryError.self) { try begin() }
    try FileManager.default.removeItem(atPath: temporary.path + "/vault.new")
    try expectOldPhrase()
    try begin()
    try FileManager.default.createDirectory(atPath: temporary.path + "/vault.new", withIntermediateDirectories: false)
    #expect(throws: StateDirectoryError.self) { try end() }
    try FileManager.default.removeItem(atPath: temporary.path + "/vault.new")
    try expectBothPhrases()
  }

  // MARK: Interruptions

  // Holds: ROTATE-5
  @Test func `a begin that was interrupted is undone before the vault is replaced, and completed after it`() throws {
    let (vault, old) = (files["vault"], files["credentials.sqlite"])
    try begin()
    let (both, new) = (files["vault"], files["credentials.sqlite"])
    let log = [UInt8](repeating: 1, count: 3)

    for unfinished in ["next.sqlite", "next.sqlite.new", "next.sqlite-wal", "next.sqlite.new-journal"] {
      try interrupted(["vault": vault, "credentials.sqlite": old, unfinished: new])
      try expectOldPhrase()
    }
    try interrupted(["vault": both, "credentials.sqlite": old, "next.sqlite": new])
    try expectBothPhrases()
    try interrupted(["vault": both, "previous.sqlite": old, "next.sqlite": new])
    try expectBothPhrases()
    try interrupted(["vault": both, "previous.sqlite": old, "credentials.sqlite": new])
    try expectBothPhrases()
    // A log beside the old store goes with it, whichever of the two was renamed.
    for logName in ["credentials.sqlite-wal", "previous.sqlite-wal"] {
      try interrupted(["vault": both, "credentials.sqlite": old, logName: log, "next.sqlite": new])
      #expect(names == ["credentials.sqlite", "previous.sqlite", "previous.sqlite-wal", "vault"])
      #expect(
        files["previous.sqlite-wal"] == log && files["previous.sqlite"] == old && files["credentials.sqlite"] == new)
    }
  }

  // Holds: ROTATE-5
  @Test func `an end that was interrupted is undone before the vault is replaced, and completed after it`() throws {
    try begin()
    let (both, new, old) = (files["vault"], files["credentials.sqlite"], files["previous.sqlite"])
    try end()
    let one = files["vault"]
    let log = [UInt8](repeating: 1, count: 3)

    try interrupted(["vault": both, "credentials.sqlite": new, "ended.sqlite": old])
    try expectBothPhrases()
    try interrupted(["vault": both, "credentials.sqlite": new, "previous.sqlite": old, "ended.sqlite-wal": log])
    #expect(files["previous.sqlite-wal"] == log && files["previous.sqlite"] == old && names.count == 4)
    try interrupted(["vault": one, "credentials.sqlite": new, "ended.sqlite": old, "ended.sqlite-wal": log])
    try expectNewPhrase()
    try interrupted(["vault": one, "credentials.sqlite": new])
    try expectNewPhrase()
  }

  // Holds: ROTATE-5
  @Test func `renames that failed are repeated when a store is opened, without another lock`() throws {
    try begin()
    let (both, new, old) = (files["vault"], files["credentials.sqlite"], files["previous.sqlite"])
    for left in [
      ["vault": both, "credentials.sqlite": old, "next.sqlite": new],
      ["vault": both, "previous.sqlite": old, "next.sqlite": new],
      ["vault": both, "credentials.sqlite": new, "ended.sqlite": old],
    ] as [[String: [UInt8]?]] {
      for isPrevious in [false, true] {
        try put(left)
        try directory.check()
        try directory.checkAtRest()
        #expect(files == left.compactMapValues(\.self), "a check changes nothing")
        if isPrevious { _ = try previous() } else { _ = try present() }
        try expectBothPhrases()
      }
      // No store is lost, so no empty one is made.
      try put(left)
      let error = #expect(throws: StateDirectoryError.self) {
        try directory.makeNewStore(passphrase: Self.passphrase)
      }
      #expect(error?.kind == .exists)
      try expectBothPhrases()
    }
  }

  // Holds: ROTATE-5
  @Test func `while a rename fails, no store is opened or made, and the error says so`() throws {
    try begin()
    let log = [UInt8](repeating: 1, count: 3)
    let left: [String: [UInt8]?] = [
      "vault": files["vault"], "credentials.sqlite": files["previous.sqlite"], "credentials.sqlite-wal": log,
      "previous.sqlite-wal": log, "next.sqlite": files["credentials.sqlite"],
    ]
    try put(left)
    let attempts: [() throws -> Void] = [
      { _ = try present() }, { _ = try previous() }, { try directory.makeNewStore(passphrase: Self.passphrase) },
    ]
    for open in attempts {
      let error = #expect(throws: StateDirectoryError.self, performing: open)
      #expect(
        error?.description.hasPrefix("cannot rename \(directory.storePath)-wal: ") == true)
      #expect(files == left.compactMapValues(\.self))
    }
  }

  // Holds: ROTATE-5, ROTATE-8
  @Test func `an old store that was moved away before its rename can be made again, and the new one stays`() throws {
    try begin()
    let new = files["credentials.sqlite"]
    try put(["vault": files["vault"], "next.sqlite": new])
    try directory.makeNewStore(passphrase: Self.passphrase)
    #expect(names == ["credentials.sqlite", "previous.sqlite", "vault"] && files["credentials.sqlite"] == new)
    try directory.check()
    #expect(try previous().allCredentials().isEmpty)
    _ = try present()
  }

  // Holds: ROTATE-5
  @Test func `without a vault that can be read, nothing is renamed or removed`() throws {
    try begin()
    let (new, old) = (files["credentials.sqlite"], files["previous.sqlite"])
    for vault in [nil, [], [0xA5, 0x01, 0x02], [UInt8](repeating: 0, count: 9)] as [[UInt8]?] {
      let left: [String: [UInt8]?] = [
        "vault": vault, "credentials.sqlite": old, "next.sqlite": new, "ended.sqlite": old,
      ]
      try interrupted(left)
      #expect(files == left.compactMapValues(\.self))
    }
  }

  // Holds: ROTATE-5
  @Test func `the previous store stays beside a vault that was made again from the new phrase`() throws {
    try begin()
    let (new, old) = (files["credentials.sqlite"], files["previous.sqlite"])
    try interrupted(["credentials.sqlite": new, "previous.sqlite": old])
    try directory.makeVaultAndStore(
      mainKey: secret([UInt8](repeating: 17, count: 64)), ed25519Root: secret([UInt8](repeating: 18, count: 96)),
      passphrase: Self.passphrase, credentialIDForm: nil, created: 78,
      cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    withExtendedLifetime(try directory.lock()) {}
    _ = try present()
    #expect(files["previous.sqlite"] == old)
  }

  // MARK: Lost and changed stores

  // Holds: ROTATE-8
  @Test(arguments: [false, true])
  func `the store of either phrase can be lost and made again`(isPrevious: Bool) throws {
    try begin()
    let lost = isPrevious ? directory.previousStorePath : directory.storePath
    try FileManager.default.removeItem(atPath: lost)
    let error = #expect(throws: StateDirectoryError.self) { try directory.check() }
    #expect(error?.kind == .missing && error?.description.contains(lost) == true)
    try directory.makeNewStore(passphrase: Self.passphrase)
    try directory.check()
    let (vault, store) = try present()
    #expect(vault.content.previous != nil)
    #expect(try store.state().settings.alwaysUV == isPrevious, "the other store is the same")
    #expect(try previous().allCredentials().map(\.rpID) == (isPrevious ? [] : ["old.example"]))
    let refused = #expect(throws: StateDirectoryError.self) {
      try directory.makeNewStore(passphrase: Self.passphrase)
    }
    #expect(refused?.kind == .exists)
  }

  // Holds: ROTATE-8
  @Test func `a store of the other phrase does not take the place of one`() throws {
    try begin()
    let (new, old) = (files["credentials.sqlite"], files["previous.sqlite"])
    try interrupted(["vault": files["vault"], "credentials.sqlite": old, "previous.sqlite": new])
    #expect(throws: StateDirectoryError.self) { try present() }
    #expect(throws: StateDirectoryError.self) { try previous() }
    #expect(files["credentials.sqlite"] == old && files["previous.sqlite"] == new)
  }
}

private func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }
private func secret(_ text: String) -> SecretBytes { secret(Array(text.utf8)) }
