import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Glibc
import Recovery
import TestSupport
import Testing

@testable import liquid_auth

@Suite struct BackupTextTests {
  /// A result in which nothing has changed.
  private static let nothing = result([])

  /// Reads a result with these members in place of zeros and empty lists.
  private static func result(_ changes: [(UInt8, [UInt8])]) -> MergeResult {
    var members: [UInt8: [UInt8]] = [7: [0x80], 9: [0x80], 12: [0xF4], 15: [0xF4], 16: [0xF4], 17: [0x80], 18: [0x80]]
    for key in 1...19 as ClosedRange<UInt8> where members[key] == nil { members[key] = [0] }
    for (key, value) in changes { members[key] = value }
    let bytes: [UInt8] = [0x00, 0xA1, 0x01, 0xB3] + members.sorted { $0.key < $1.key }.flatMap { [$0.key] + $0.value }
    guard let result = try? MergeBackup.Answer(decoding: bytes).result else { fatalError("\(bytes)") }
    return result
  }

  private static let passkey: [UInt8] = [0x81, 0x82, 0x63] + Array("a.b".utf8) + [0x62] + Array("al".utf8)

  // Holds: BACKUP-8
  @Test func `a phrase that is not that of the vault is blamed, and not the file`() {
    let (typed, vault, backup): ([UInt8], [UInt8], [UInt8]) = ([0, 1, 2, 3], [4, 5, 6, 0xFF], [8, 9, 10, 11])
    #expect(
      BackupText.wrongPhrase(typed, vault: (vault, nil), "a.liquid", backup: vault)
        == "this is not the phrase of this vault, 040506ff; nothing was checked")
    #expect(
      BackupText.wrongPhrase(typed, vault: (vault, backup), "a.liquid", backup: backup)
        == "this is not the phrase of this vault, 040506ff; a.liquid is of the phrase 08090a0b; nothing was "
        + "checked")
    #expect(
      BackupText.wrongPhrase(typed, vault: (vault, typed), "a.liquid", backup: vault)
        == "you typed the old phrase, 00010203; type the new one, 040506ff; nothing was checked")
  }

  // Holds: FOLLOW-11
  @Test func `a backup of the old phrase is kept until the move ends`() {
    #expect(
      BackupText.ofPreviousPhrase([8, 9, 10, 11])
        == "it is of the old phrase 08090a0b; keep it until the move ends and no other machine has that phrase")
  }

  // Holds: BACKUP-6
  @Test(
    arguments: [
      ([], "nothing changed: this store already has everything in the backup"),
      ([(1, [1])], "1 passkey added"),
      (
        [(1, [2]), (3, [1]), (17, passkey)],
        "2 passkeys added, 1 removed\nremoved, as on another machine:\n  a.b  al"
      ),
      ([(2, [1])], "1 passkey changed"), ([(4, [3])], "no passkey changed"),
      (
        [(12, [0xF5])],
        "no passkey changed\nthe backup was made after a later reset; all passkeys stay valid here"
      ),
      ([(5, [1])], "nothing changed\n1 entry of the backup not taken: the one here is newer"),
      (
        [(5, [3]), (18, passkey), (19, [2])],
        "nothing changed\n1 entry of the backup not taken: the one here is newer\n"
          + "2 passkeys not restored: removed later, here or on another machine; if you need one, register a new one at its site\n  a.b  al\n  and 1 other"
      ),
      ([(15, [0xF5])], "nothing changed"),
      ([(1, [1]), (5, [2])], "1 passkey added\n2 entries of the backup not taken: those here are newer"),
      ([(13, [1])], "no passkey changed\nthe large blobs of the backup are here now"),
      (
        [(1, [1]), (13, [3]), (14, [2])],
        "1 passkey added\nthe large blobs of this machine stay; 2 large blobs only in the backup: keep the file"
      ),
      (
        [(1, [1]), (13, [3])],
        "1 passkey added\nthe large blobs of this machine stay; those of the backup are different: keep the file"
      ),
      ([(1, [1]), (13, [4])], "1 passkey added\nthe large blobs of the backup are damaged, and were not taken"),
      (
        [(1, [1]), (7, passkey), (8, [1])],
        "1 passkey added\n1 passkey imported, and kept: the backup has another key with the same id\n  a.b  al"
      ),
      (
        [(1, [1]), (9, passkey), (10, [0x18, 102])],
        "1 passkey added\n102 passkeys imported, and only in the backup: keep the file\n  a.b  al\n  and 101 others"
      ),
      (
        [(1, [1]), (11, [1])],
        "1 passkey added\n1 entry changed more than a day in the future: check the clocks of your machines"
      ),
    ] as [([(UInt8, [UInt8])], String)])
  func `the result of a restore in words`(_ changes: [(UInt8, [UInt8])], _ text: String) {
    #expect(BackupText.restored(Self.result(changes)) == text)
  }

  @Test func `names from a backup cannot control a terminal`() {
    let passkey: [UInt8] = [0x81, 0x82, 0x62, 0x1B, 0x63, 0x62, 0x0A, 0x62]
    let text = BackupText.restored(Self.result([(7, passkey), (8, [1])]))
    #expect(text.hasSuffix("\n  \\u{1B}c  \\u{A}b"))
  }

  // Holds: BACKUP-7
  @Test(
    arguments: [
      ([(1, [1])], ["1 passkey"], false),
      ([(1, [1]), (2, [2]), (3, [1]), (4, [1])], ["3 passkeys", "2 removals"], false),
      ([(12, [0xF5])], ["a later reset"], false), ([(13, [1])], ["large blobs"], true),
      ([(13, [3]), (14, [1])], ["large blobs"], true), ([(10, [1])], ["1 passkey"], true),
      ([(8, [1])], ["1 newer entry of imported passkeys"], true),
      ([(1, [1]), (13, [4])], ["1 passkey", "large blobs"], false),
    ] as [([(UInt8, [UInt8])], [String], Bool)])
  func `what a backup has that the store lacks`(_ changes: [(UInt8, [UInt8])], _ items: [String], _ isReplaceable: Bool)
  {
    let result = Self.result(changes)
    #expect(BackupText.items(ofBackup: result) == items)
    #expect(BackupText.isReplaceable(result) == isReplaceable)
  }
}

extension BackupTextTests {
  /// 10 is the number of imported passkeys that are only in the backup, 13 what becomes of large blobs, and 16 whether the
  /// backup is the last one.
  // Holds: BACKUP-7
  @Test(
    arguments: [
      ([(13, [3]), (16, [0xF5])], true, true), ([(13, [3])], false, true), ([(13, [1]), (16, [0xF5])], false, true),
      ([(10, [1]), (16, [0xF5])], false, true), ([(10, [1]), (13, [3]), (16, [0xF5])], false, true),
      ([(8, [1]), (13, [3]), (16, [0xF5])], false, true), ([(1, [1]), (13, [3]), (16, [0xF5])], false, false),
      ([(12, [0xF5]), (16, [0xF5])], false, false),
    ] as [([(UInt8, [UInt8])], Bool, Bool)])
  func `which backup that has more is replaced without and with the option`(
    _ changes: [(UInt8, [UInt8])], _ isReplaced: Bool, _ isReplacedIfAsked: Bool
  ) {
    let result = Self.result(changes)
    #expect(BackupText.isReplaced(result, always: false) == isReplaced)
    #expect(BackupText.isReplaced(result, always: true) == isReplacedIfAsked)
  }

  // Holds: BACKUP-7
  @Test(
    arguments: [
      ([(1, [1])], "1 passkey that this store lacks; first run: liquid-auth restore 'a b' --state-dir /s"),
      (
        [(13, [1])],
        "large blobs that this store lacks; first run: liquid-auth restore 'a b' --state-dir /s, or discard them with: "
          + "liquid-auth backup --replace 'a b' --state-dir /s"
      ),
      (
        [(13, [3]), (14, [1])],
        "large blobs that cannot be merged into this store; name another file, or discard them with: "
          + "liquid-auth backup --replace 'a b' --state-dir /s"
      ),
    ] as [([(UInt8, [UInt8])], String)])
  func `why a file is not replaced, and what to do`(_ changes: [(UInt8, [UInt8])], _ text: String) throws {
    let place = try PlaceOptions.parse(["--state-dir", "/s"])
    #expect(BackupText.hasMore(Self.result(changes), "a b", at: place) == "a b has \(text)")
    let plain = CommandFailure(BackupText.hasMore(Self.result(changes), "file", at: place)).completed(by: place)
    #expect(plain.description == "file has \(text.replacing("'a b'", with: "file"))", "the options are added once")
  }
}

@Suite struct BackupCheckTextTests {
  private let keys: CredentialKeys
  private let backup: InMemoryCredentialStore
  private let digests: StoreDigests

  init() throws {
    keys = try KeysAndRecovery.keys()
    backup = InMemoryCredentialStore(keys: keys)
    digests = StoreDigests(keys: keys, challenge: [UInt8](repeating: 1, count: 32))
  }

  /// Saves a passkey in the backup, and returns its digest.
  private func saved(_ user: UInt8) throws -> AccountDigest {
    let source = try #require(
      CredentialSource(
        rpID: "a.example", userID: [user], name: "al", id: [user], algorithm: .edDSA, counter: 1, created: 5,
        changed: 5,
        origin: .registered))
    try backup.save(source, state: nil)
    let tag = keys.accountTag(source.rpIDHash, userID: [user])
    return try digests.digest(of: StoredAccount(accountTag: tag, entry: .record(source)))
  }

  private func changed(
    _ digest: AccountDigest, by counter: Int, keys: [UInt8]? = nil
  ) -> AccountDigest {
    AccountDigest(
      accountTag: digest.accountTag, counter: UInt32(Int(digest.counter) + counter), changed: digest.changed,
      content: counter == 0 ? digest.content : [],
      record: .init(
        keys: keys ?? digest.record?.keys ?? [], isImported: false, name: PasskeyName(rpID: "a.example", name: "al")))
  }

  private func report(_ accounts: [AccountDigest], largeBlobs: [[UInt8]] = []) throws -> BackupCheckReport {
    try BackupCheckReport(of: accounts, largeBlobs: largeBlobs, in: backup, digests: digests)
  }

  private func text(_ report: BackupCheckReport) throws -> [String] {
    BackupText.checked(report, "a b", at: try PlaceOptions.parse(["--state-dir", "/s"]))
      .split(separator: "\n").map(String.init)
  }

  // Holds: BACKUP-8
  @Test func `the result of a check in words`() throws {
    #expect(try text(report([])) == ["nothing would be missing: this store has no passkeys"])
    let one = try saved(1)
    #expect(
      try text(report([one])) == [
        "nothing would be missing: the backup has 1 passkey of this store",
        "1 passkey with the same keys and PRF secrets",
        "1 of these with a key or an id that is not derived: the bytes are the same",
      ])
    let (older, newer, other) = (try saved(2), try saved(3), try saved(4))
    _ = try saved(5)
    let missing = AccountDigest(
      accountTag: [9], counter: 0, changed: 0, content: [],
      record: .init(keys: [], isImported: false, name: PasskeyName(rpID: "b\u{1B}", name: nil)))
    let removal = AccountDigest(accountTag: [8], counter: 0, changed: 0, content: [], record: nil)
    let report = try report(
      [one, changed(older, by: 1), changed(newer, by: -1), changed(other, by: 0, keys: [1]), missing, removal],
      largeBlobs: [[1], [2]])
    #expect(
      try text(report) == [
        "the backup is incomplete", "1 passkey with the same keys and PRF secrets",
        "1 of these with a key or an id that is not derived: the bytes are the same",
        "1 passkey newer in the backup", "1 passkey missing from the backup", "  b\\u{1B}",
        "1 passkey older in the backup", "  a.example  al",
        "1 passkey with another key or PRF secret: this is a fault of liquid-auth; report it", "  a.example  al",
        "2 large blobs missing from the backup", "1 removal missing from the backup", "1 passkey only in the backup",
        "name another file for a new backup; or, to merge this one first, run: liquid-auth restore 'a b' --state-dir /s; "
          + "then run: liquid-auth backup 'a b' --state-dir /s",
      ])
    #expect(
      report.json
        == [
          "complete": .bool(false), "passkeys": .number(5), "same": .number(1), "onlyBytes": .number(1),
          "newer": .number(1), "missing": [["rpId": .string("b\u{1B}"), "name": .null]],
          "older": [["rpId": .string("a.example"), "name": .string("al")]],
          "otherKeys": [["rpId": .string("a.example"), "name": .string("al")]], "missingLargeBlobs": .number(2),
          "missingRemovals": .number(1), "onlyInBackup": .number(1), "removed": [],
          "onlyInBackupLargeBlobs": .number(0),
        ])
  }
}

@Suite struct NamedFileTests {
  private let temporary: TemporaryDirectory
  private var directory: String { temporary.path }

  init() throws { temporary = try TemporaryDirectory() }

  private var file: NamedFile { NamedFile("\(directory)/file") }
  private var new: String { "\(directory)/.liquid-auth.new" }
  private var names: [String] {
    get throws {
      let stream = try #require(opendir(directory))
      defer { closedir(stream) }
      var names: [String] = []
      while let entry = readdir(stream) {
        names.append(
          withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
      }
      return names.filter { ![".", ".."].contains($0) }.sorted()
    }
  }

  // Holds: BACKUP-7
  @Test func `a file is made and replaced, for its owner only`() throws {
    #expect(try file.stamp() == nil)
    try file.replace(nil, with: [1, 2])
    chmod("\(directory)/file", 0o644)
    // What a crash has left.
    try NamedFile(new).create([9, 9, 9])
    chmod(new, 0o644)
    try file.replace(file.stamp(), with: [3])
    #expect(try file.read(atMost: 9) == [3])
    var status = stat()
    #expect(stat("\(directory)/file", &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try names == ["file"])
    let long = NamedFile("\(directory)/\(String(repeating: "n", count: 255))")
    try long.replace(nil, with: [4])
    #expect(try long.read(atMost: 9) == [4])
  }

  // Holds: BACKUP-7
  @Test func `a file that was changed meanwhile is not replaced`() throws {
    let changed = CommandFailure(
      "\(directory)/file was changed while the command ran, and is not replaced; run it again")
    let before = try file.stamp()
    try file.create([1])
    #expect(throws: changed) { try file.replace(before, with: [2]) }
    let stamp = try file.stamp()
    try file.replace(stamp, with: [3, 4])
    #expect(throws: changed) { try file.replace(stamp, with: [5]) }
    unlink("\(directory)/file")
    #expect(throws: changed) { try file.replace(stamp, with: [6]) }
    #expect(try names.isEmpty)
  }

  // Holds: BACKUP-7
  @Test func `the stamp of a new file is its own, whatever has its name`() throws {
    let made = try file.replace(nil, with: [1])
    #expect(try file.stamp() == made)
    let replaced = try file.replace(made, with: [2])
    #expect(try file.stamp() == replaced && replaced != made)
    try NamedFile("\(directory)/other").create([2])
    #expect(rename("\(directory)/other", "\(directory)/file") == 0)
    #expect(try file.stamp() != replaced)
  }

  // Holds: BACKUP-7
  @Test func `a file that comes at the last moment keeps its content under another name`() throws {
    try file.create([1])
    let stamp = try #require(try file.stamp())
    let written = NamedFile(new)
    // It is as it was: it is removed.
    try written.create([2])
    try written.takePlace(of: file, stamp)
    #expect(try names == ["file"] && file.read(atMost: 9) == [2])
    // Another program has put one there since.
    try written.create([3])
    let failure = #expect(throws: CommandFailure.self) { try written.takePlace(of: file, stamp) }
    #expect(try file.read(atMost: 9) == [3])
    let kept = try #require(try names.last)
    #expect(try names == ["file", kept] && kept.hasPrefix("kept-") && kept.hasSuffix(".liquid"))
    #expect(try NamedFile("\(directory)/\(kept)").read(atMost: 9) == [2])
    #expect(
      failure?.description
        == "\(directory)/file is written, but another program had put a file there meanwhile; that file is now "
        + "\(directory)/\(kept): keep it, and run the command again")
    // It was removed.
    try written.create([4])
    unlink("\(directory)/file")
    #expect(throws: file.wasChanged) { try written.takePlace(of: file, stamp) }
    #expect(try names == [kept])
  }

  // Holds: BACKUP-7
  @Test func `a temporary file with a second hard link is not written, except that of the file itself`() throws {
    try NamedFile("\(directory)/other").create([7])
    #expect(link("\(directory)/other", new) == 0)
    #expect(throws: CommandFailure("\(new) is not a regular file, or has a second hard link; remove it")) {
      try file.replace(nil, with: [1])
    }
    unlink(new)
    #expect(try NamedFile("\(directory)/other").read(atMost: 9) == [7])
    try file.create([1])
    #expect(link("\(directory)/file", new) == 0)
    let stamp = try file.stamp()
    #expect(throws: file.wasChanged, "the second name is removed, which changes the inode") {
      try file.replace(stamp, with: [2])
    }
    try file.replace(file.stamp(), with: [2])
    #expect(try names == ["file", "other"] && file.read(atMost: 9) == [2])
  }

  // Holds: BACKUP-7
  @Test func `two processes do not write into one directory at once`() throws {
    let other = open(new, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(other, LOCK_EX) == 0)
    #expect(throws: CommandFailure("another process is writing \(new); run the command again when it has ended")) {
      try file.replace(nil, with: [1])
    }
    close(other)
    try file.replace(nil, with: [1])
    #expect(try names == ["file"])
  }

  // Holds: BACKUP-7
  @Test func `only a regular file is replaced`() throws {
    #expect(symlink("target", "\(directory)/link") == 0)
    #expect(mkfifo("\(directory)/fifo", 0o600) == 0)
    for (name, reason) in [
      ("link", "a symbolic link; name its target"), ("fifo", "not a regular file; name another file"),
      (".", "a directory; name a file in it"),
    ] {
      #expect(throws: CommandFailure("\(directory)/\(name) is \(reason)")) {
        try NamedFile("\(directory)/\(name)").stamp()
      }
    }
    #expect(throws: CommandFailure("cannot write \(directory)/none/file: No such file or directory")) {
      try NamedFile("\(directory)/none/file").replace(nil, with: [1])
    }
    #expect(symlink("target", new) == 0)
    #expect(throws: CommandFailure("\(new) is not a regular file, or has a second hard link; remove it")) {
      try file.replace(nil, with: [1])
    }
    unlink(new)
    #expect(mkfifo(new, 0o600) == 0)
    #expect(throws: CommandFailure("\(new) is not a regular file, or has a second hard link; remove it")) {
      try file.replace(nil, with: [1])
    }
    unlink(new)
    #expect(throws: CommandFailure("\(new) is the name of a temporary file; name another file")) {
      try NamedFile(new).replace(nil, with: [1])
    }
    #expect(try names == ["fifo", "link"])
  }
}
