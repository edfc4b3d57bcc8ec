import CryptoPrimitives
import Dispatch
import Foundation
import Synchronization
import TestVectors
import Testing

@testable import CredentialDB
@testable import Recovery

@Suite struct `Store file` {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
  }

  private func mode(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: directory.path(name))[.posixPermissions] as? Int
  }

  /// The error's text without the directory; checks that it names the file.
  private func refusal(
    _ name: String = "credentials.sqlite", _ body: () throws -> Void, location: SourceLocation = #_sourceLocation
  ) -> String {
    let error = #expect(throws: RecoveryError.self, sourceLocation: location, performing: body)
    let text = error?.description ?? ""
    #expect(text.contains(directory.path(name)), sourceLocation: location)
    return text.replacingOccurrences(of: directory.path(""), with: "")
  }

  // MARK: Creating

  @Test func `a new store is one file, accessible to its owner only`() throws {
    #expect(try directory.names == ["credentials.sqlite"])
    #expect(try mode("credentials.sqlite") == 0o600)
  }

  @Test func `the settings can be read without the keys, and nothing is written`() throws {
    #expect(CredentialDB.reportedSettings(at: directory.path()) == ReportedSettings())
    var state = Given.state
    let hash = [UInt8](repeating: 1, count: 16).withUnsafeBytes(SecretBytes.init(copying:))
    state.settings.pin = StoredPIN(hash: hash, length: 4, retries: 5)
    state.settings.minimumPINLength = 6
    let open = try CredentialDB.open(directory)
    try open.setState(state)
    let before = try directory.bytes()
    let told = CredentialDB.reportedSettings(at: directory.path())
    #expect(told?.isPINSet == true && told?.pinRetries == 5 && told?.minimumPINLength == 6)
    #expect(try directory.bytes() == before)
    #expect(try open.state() == state)

    #expect(CredentialDB.reportedSettings(at: directory.path("other.sqlite")) == nil)
    try directory.write(Array("no store".utf8), "no store?#%.sqlite")
    #expect(CredentialDB.reportedSettings(at: directory.path("no store?#%.sqlite")) == nil)
  }

  @Test func `the settings can be read from a file name with URI characters`() throws {
    let name = "a b?c#d%20é.sqlite"
    try CredentialDB.create(at: directory.path(name), keys: Given.keys, state: Given.state)
    #expect(CredentialDB.reportedSettings(at: directory.path(name)) == ReportedSettings())
  }

  @Test func `the log of an open store is for its owner only, and there is no shared memory`() throws {
    let store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
    #expect(try directory.names == ["credentials.sqlite", "credentials.sqlite-wal"])
    #expect(try mode("credentials.sqlite-wal") == 0o600)
  }

  @Test func `an existing file is never overwritten`() throws {
    try CredentialDB.open(directory).save(Given.source(), state: nil)
    let before = try directory.bytes()
    let text = refusal {
      try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    }
    #expect(text == "there is a store already, credentials.sqlite; it is not overwritten: move it away first")
    #expect(try directory.bytes() == before)
    #expect(try directory.names == ["credentials.sqlite"])
  }

  @Test func `files that a crash left while creating a store are replaced`() throws {
    for name in ["new.sqlite.new", "new.sqlite.new-wal", "new.sqlite.new-journal"] {
      try directory.write([1, 2, 3], name)
    }
    try CredentialDB.create(at: directory.path("new.sqlite"), keys: Given.keys, state: Given.state)
    #expect(try directory.names == ["credentials.sqlite", "new.sqlite"])
  }

  @Test func `the error for a missing directory names it`() {
    let text = refusal("none/store") {
      try CredentialDB.create(at: directory.path("none/store"), keys: Given.keys, state: Given.state)
    }
    #expect(text == "cannot make the store none/store: No such file or directory")
  }

  // Holds: FAULT-11
  @Test func `a file whose log has changes is not taken for a finished store`() throws {
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    try Session(connection, keys: Given.keys).change { () throws(StoreFault) in }
    #expect(throws: StoreFault.damaged("changes wait in its log")) {
      try StoreFile(path: directory.path()).removeEmptyLog()
    }
    try connection.moveLog()
    try connection.close()
    try StoreFile(path: directory.path()).removeEmptyLog()
    #expect(try directory.names == ["credentials.sqlite"])
  }

  // Holds: FAULT-11
  @Test func `an unfinished store that is in use is not taken for another store`() throws {
    let path = directory.path("made.sqlite")
    try CredentialDB.prepare(at: path, keys: Given.keys, state: Given.state)
    let user = try CredentialDB.open(directory, "made.sqlite.new")
    let text = refusal("made.sqlite.new") {
      _ = try CredentialDB.complete(at: path, keys: Given.keys, storeID: Given.storeID)
    }
    #expect(text == "another process uses the store made.sqlite.new; stop it first")
    user.close()
    let other = [UInt8](repeating: 1, count: 16)
    #expect(try !CredentialDB.complete(at: path, keys: Given.keys, storeID: other))
    #expect(try CredentialDB.complete(at: path, keys: Given.keys, storeID: Given.storeID))
    #expect(try directory.names == ["credentials.sqlite", "made.sqlite"])
  }

  // MARK: Opening

  // Holds: FILE-7
  @Test func `a missing store is an error that names both files, and is not made`() throws {
    try FileManager.default.removeItem(atPath: directory.path())
    let text = refusal { _ = try CredentialDB.open(directory) }
    #expect(
      text == """
        the store credentials.sqlite of the vault vault is missing; put it back, or make an empty one with: \
        liquid-auth recover --new-store
        """)
    #expect(try directory.names == [])
  }

  @Test func `a store with another id is an error that names both files`() throws {
    let text = refusal { _ = try CredentialDB.open(directory, storeID: [UInt8](repeating: 1, count: 16)) }
    #expect(text.hasPrefix("the store credentials.sqlite does not belong to the vault vault; "))
  }

  @Test func `a store of another phrase does not open`() throws {
    let text = refusal { _ = try CredentialDB.open(directory, keys: Given.otherKeys) }
    #expect(text.contains("its state does not open: its seal is broken, or was made with another phrase"))
  }

  @Test func `only one connection can use the store`() throws {
    let store = try CredentialDB.open(directory)
    withExtendedLifetime(store) {
      let text = refusal { _ = try CredentialDB.open(directory) }
      #expect(text == "another process uses the store credentials.sqlite; stop it first")
    }
  }

  @Test func `an opening waits until this process has closed the store`() throws {
    let store = try CredentialDB.open(directory)
    let path = directory.path()
    Thread.detachNewThread {
      Self.awaitOpening(of: path)
      store.close()
    }
    #expect(throws: Never.self) { try CredentialDB.open(directory) }
  }

  @Test func `a store does not open if another file gets its name meanwhile`() throws {
    let store = try CredentialDB.open(directory)
    try directory.write(directory.bytes(), "other")
    let (path, other) = (directory.path(), directory.path("other"))
    Thread.detachNewThread {
      Self.awaitOpening(of: path)
      rename(other, path)
      store.close()
    }
    let text = refusal { _ = try CredentialDB.open(directory) }
    #expect(text.contains("the file or its directory was moved or replaced"))
  }

  /// Waits until a second opening has the file; it goes on when the first store is closed.
  private static func awaitOpening(of path: String) {
    let limit = ContinuousClock.now + .patience
    while descriptors(of: path) < 2, ContinuousClock.now < limit { usleep(1000) }
  }

  /// How many descriptors of this process have a file.
  private static func descriptors(of path: String) -> Int {
    let folder = "/proc/self/fd/"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0)) == path }
  }

  @Test func `a reset that is done is no error if the store is closed right after it`() throws {
    for _ in 0..<8 {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(), state: nil)
      // The other thread waits for the change, and then closes the store before or after it is shortened.
      store.observe { [weak store] in
        guard let store else { return }
        let started = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          started.signal()
          store.close()
        }
        started.wait()
      }
      #expect(throws: Never.self) { try store.removeAll(state: Given.state) }
      store.close()
      #expect(try CredentialDB.open(directory).credentialCount() == 0)
    }
  }

  @Test func `while a change is written, the overview is that after the change before it`() throws {
    let store = try CredentialDB.open(directory)
    #expect(store.overview().credentials == 0)
    let seen = Mutex<[Int?]>([])
    // An observer runs before the change returns, and so before another thread can use the store.
    store.observe { [weak store] in
      guard let store else { return }
      let asked = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        seen.withLock { $0.append(store.overview().credentials) }
        asked.signal()
      }
      #expect(asked.wait(timeout: .now() + .seconds(60 * patience)) == .success, "it waits for the change")
    }
    try store.save(try Given.source(site: 1), state: nil)
    try store.save(try Given.source(site: 2), state: nil)
    #expect(seen.withLock(\.self) == [0, 1])
    #expect(store.overview().credentials == 2)
    #expect(store.overview().state == Given.state)
    store.close()
    #expect(store.overview().credentials == nil)
  }

  @Test func `a link, a directory and a pipe are not opened`() throws {
    try FileManager.default.createSymbolicLink(
      atPath: directory.path("link"), withDestinationPath: directory.path())
    try FileManager.default.createDirectory(atPath: directory.path("folder"), withIntermediateDirectories: false)
    #expect(mkfifo(directory.path("pipe"), 0o600) == 0)
    for name in ["link", "folder", "pipe"] {
      _ = refusal(name) {
        _ = try CredentialDB(
          opening: directory.path(name), vaultPath: "vault", keys: Given.keys, storeID: Given.storeID)
      }
    }
  }

  @Test func `a rollback journal beside the store is never applied`() throws {
    try directory.write([UInt8](repeating: 1, count: 600), "credentials.sqlite-journal")
    let before = try directory.bytes()
    #expect(refusal { _ = try CredentialDB.open(directory) }.contains("there is a journal beside it"))
    #expect(try directory.bytes() == before)
    #expect(try directory.names == ["credentials.sqlite", "credentials.sqlite-journal"])
  }

  @Test func `a store of a newer version is refused as such`() throws {
    try Connection(path: directory.path()).execute("PRAGMA user_version = 17")
    #expect(refusal { _ = try CredentialDB.open(directory) }.contains("was written by a newer version"))
  }

  @Test(arguments: [11, 13, 14]) func `a version that was left out is refused`(_ version: Int) throws {
    try Connection(path: directory.path()).execute("PRAGMA user_version = \(version)")
    _ = refusal { _ = try CredentialDB.open(directory) }
  }

  // MARK: Content

  @Test func `the file contains no readable site, user name or id`() throws {
    let source = try Given.source(name: "a very telling name")
    try CredentialDB.open(directory).save(source, state: nil)
    let bytes = Data(try directory.bytes())
    for secret in [source.rpID.utf8.map(\.self), source.userID, Array("telling".utf8), source.id, Given.storeID] {
      #expect(bytes.range(of: Data(secret)) == nil)
    }
  }

  @Test func `the columns are the tags of RECOVERY, and a sealed row opens with the keys`() throws {
    let source = try Given.source()
    try CredentialDB.open(directory).save(source, state: nil)

    let connection = try Connection(path: directory.path())
    let names = try connection.texts("SELECT name FROM pragma_table_info('credential')")
    #expect(names == ["accountTag", "rpTag", "credentialTag", "keyTag", "sequence", "nonce", "sealed"])
    let row = try connection.texts(
      "SELECT hex(accountTag) || hex(rpTag) || hex(credentialTag) || hex(keyTag) FROM credential WHERE sequence = 1")
    let rp = Given.rp(1)
    let key = try Given.keys.privateKey(of: source).publicKey.bytes
    let tags =
      Given.keys.accountTag(rp, userID: source.userID) + Given.keys.rpTag(rp)
      + Given.keys.credentialTag(rp, id: source.id) + Given.keys.keyTag(publicKey: key)
    #expect(row.map { Hex($0) } == [Hex(tags)])

    var opened: [AccountEntry] = []
    try Statement("SELECT accountTag, nonce, sealed FROM credential", connection).forEach { row throws(StoreFault) in
      let tags = CredentialRow.Tags(
        rpTag: Given.keys.rpTag(rp), credentialTag: Given.keys.credentialTag(rp, id: source.id),
        keyTag: Given.keys.keyTag(publicKey: key))
      let sealed = CredentialRow(
        accountTag: row.blob(0) ?? [], tags: tags, nonce: row.blob(1) ?? [], sealed: row.blob(2) ?? [])
      if let entry = try? Given.keys.open(sealed) { opened.append(entry) }
    }
    #expect(opened == [.record(source)])
  }

  @Test func `a tombstone has no tags`() throws {
    let store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
    try store.remove(Given.source(), changed: 99)
    try withExtendedLifetime(store) {
      try directory.write(directory.bytes(), "copy")
      let rows = try Connection(path: directory.path("copy")).texts(
        "SELECT count(*) FROM credential WHERE rpTag IS NULL AND credentialTag IS NULL AND keyTag IS NULL")
      #expect(rows == ["1"])
    }
  }

  @Test func `every write uses a new nonce`() throws {
    let store = try CredentialDB.open(directory)
    var nonces: Set<String> = []
    for _ in 0..<3 {
      try store.save(Given.source(), state: Given.state)
      try directory.write(directory.bytes(), "copy")
      let connection = try Connection(path: directory.path("copy"))
      nonces.formUnion(try connection.texts("SELECT hex(nonce) FROM credential UNION SELECT hex(nonce) FROM state"))
    }
    #expect(nonces.count == 6)
  }

  @Test func `deleted content is overwritten`() throws {
    let store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
    try directory.write(directory.bytes(), "copy")
    let row = try Connection(path: directory.path("copy")).texts("SELECT hex(rpTag) || hex(sealed) FROM credential")
    let bytes = Data(try #require(row.first.flatMap { Hex($0) }).bytes)
    let (rpTag, sealed) = (bytes.prefix(32), bytes.dropFirst(32))
    #expect(try Data(directory.bytes()).range(of: sealed) != nil)

    try store.remove(Given.source(), changed: 99)
    #expect(try Data(directory.bytes()).range(of: sealed) == nil)
    #expect(try Data(directory.bytes()).range(of: rpTag) == nil)
  }

  // MARK: Durability

  @Test func `when a change returns, the file alone contains it`() throws {
    let store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
    #expect(try directory.bytes("credentials.sqlite-wal") == [])

    let copy = try TemporaryDirectory()
    try copy.write(directory.bytes())
    #expect(try CredentialDB.open(copy).allCredentials() == [Given.source()])
    #expect(try store.allCredentials() == [Given.source()])
  }

  @Test func `changes that a crash left in the log are not lost`() throws {
    try CredentialDB.open(directory).save(Given.source(user: 1), state: nil)
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    let session = try Session(connection, keys: Given.keys)
    try session.change { () throws(StoreFault) in try session.write(source(user: 2)) }

    // The files on disk if the power fails before the log is moved into the file.
    let crashed = try TemporaryDirectory()
    try crashed.write(directory.bytes())
    try crashed.write(directory.bytes("credentials.sqlite-wal"), "credentials.sqlite-wal")
    #expect(try !crashed.bytes("credentials.sqlite-wal").isEmpty)
    let store = try CredentialDB.open(crashed)
    #expect(try store.allCredentials().map(\.userID.last) == [0x32, 0x31])
    #expect(try crashed.bytes("credentials.sqlite-wal") == [], "the log is in the file now")
  }

  private func source(user: Int) throws(StoreFault) -> CredentialSource {
    do { return try Given.source(user: user) } catch { throw .missing }
  }

  /// 0 is OFF, 1 NORMAL: then moving the log waits for the disk.
  @Test func `SQLite waits for the disk again after each change, whether it is done or fails`() throws {
    let store = try CredentialDB.open(directory)
    func level() throws -> [String] {
      try store.with { session throws(StoreFault) in try session.connection.texts("PRAGMA synchronous") }
    }
    func durably(_ body: (Session) throws(StoreFault) -> Void = { _ in }) throws(RecoveryError) -> [String] {
      try store.durably { session throws(StoreFault) in
        try body(session)
        return try session.connection.texts("PRAGMA synchronous")
      }
    }
    #expect(try durably() == ["0"] && level() == ["1"])
    #expect(throws: RecoveryError.self) { try durably { _ throws(StoreFault) in throw StoreFault.missing } }
    #expect(try level() == ["1"])

    // In a log that is not empty, the change waits for the head.
    try store.append(HistoryEntry(time: 1, site: nil, kind: .signIn, outcome: .done, verification: .passphrase))
    #expect(try durably() == ["1"] && durably() == ["0"])
    // A transaction that is large must not be moved before it is synchronised.
    let automatic = try store.with { session throws(StoreFault) in
      try session.connection.texts("PRAGMA wal_autocheckpoint")
    }
    #expect(automatic == ["0"])
  }

  @Test func `an incomplete transaction in the log is ignored`() throws {
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    let session = try Session(connection, keys: Given.keys)
    try session.change { () throws(StoreFault) in try session.write(source(user: 1)) }
    let log = try directory.bytes("credentials.sqlite-wal")
    for count in [1, 31, 32, 100, log.count / 2, log.count - 1] {
      let crashed = try TemporaryDirectory()
      try crashed.write(directory.bytes())
      try crashed.write(Array(log.prefix(count)), "credentials.sqlite-wal")
      #expect(try CredentialDB.open(crashed).allCredentials() == [], "\(count) bytes of the log")
    }
  }
}
