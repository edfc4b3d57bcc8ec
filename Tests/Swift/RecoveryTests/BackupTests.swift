import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The backup file: Recovery §9.
@Suite struct BackupTests {
  let vectors: Vector
  let keys: CredentialKeys

  init() throws {
    vectors = try KeysAndRecovery.load()
    keys = try KeysAndRecovery.keys()
  }

  /// The one entry of the vectors' backup.
  private func alice() throws -> StoredAccount {
    StoredAccount(
      accountTag: vectors.credentials[0].withSealedId.accountTag.bytes,
      entry: try AccountEntry(plaintext: vectors.rows[0].plaintext.bytes))
  }

  private func open(_ file: [UInt8]) throws(RecoveryError) -> BackupReader {
    try BackupReader(file: file, keys: keys)
  }

  /// A file with this content under a valid seal.
  private func seal(_ content: [UInt8], version: UInt64 = 1) throws -> [UInt8] {
    let nonce = vectors.backup.nonce.bytes
    let ad =
      version == 1
      ? vectors.backup.associatedData.bytes : Array("liquid-auth backup v\(version)".utf8) + keys.fingerprint
    let sealed = try XChaCha20Poly1305.seal(content, key: keys[.backup], nonce: nonce, ad: ad)
    return CBOREncoder.encode([
      1: "liquid-auth backup", 2: .unsigned(version), 3: .bytes(keys.fingerprint), 4: .bytes(nonce), 5: .bytes(sealed),
    ])
  }

  /// The words with which a file is refused.
  private func refusal(_ body: () throws -> Void) -> String? {
    #expect(throws: RecoveryError.self, performing: body)?.description
  }

  private func refusal(ofContent content: CBORValue) throws -> String? {
    let file = try seal(CBOREncoder.encode(content))
    return refusal { _ = try open(file) }
  }

  @Test func `a backup has the contract's bytes and opens again`() throws {
    let writer = BackupWriter()
    try writer.append([alice()])
    let file = try writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: vectors.backup.nonce.bytes)
    #expect(Hex(file) == vectors.backup.file.hex)
    #expect(Hex(try seal(vectors.backup.plaintext.bytes)) == vectors.backup.file.hex)

    let backup = try open(vectors.backup.file.bytes)
    #expect(backup.epoch == 1 && backup.largeBlobArray == nil && backup.count == 1)
    #expect(try backup.account(at: 0) == alice())
  }

  @Test func `a store without entries has a backup, too`() throws {
    let file = try BackupWriter().file(
      epoch: 65_535, largeBlobArray: SerializedLargeBlobs.initial, keys: keys, nonce: vectors.backup.nonce.bytes)
    let content: CBORValue = [1: 65_535, 2: [], 3: .bytes(SerializedLargeBlobs.initial)]
    #expect(file == (try seal(CBOREncoder.encode(content))))
    let backup = try open(file)
    #expect(backup.epoch == 65_535 && backup.largeBlobArray == SerializedLargeBlobs.initial && backup.count == 0)
  }

  /// More entries than one head of CBOR has room for in a byte, and pages that end in the middle.
  @Test(arguments: [1, 23, 24, 255, 256, 1001])
  func `every entry is written in the order of the tags`(count: Int) throws {
    let store = InMemoryCredentialStore(keys: keys)
    let removals: [MergedAccount] = try (0..<count).map { number in
      let removal = StoredAccount(
        accountTag: SHA256.hash(UInt64(number).bigEndianBytes), entry: .tombstone(counter: UInt32(number), changed: 1))
      return try MergedAccount(removal, keys: keys)
    }
    _ = try store.merge(removals, epoch: 3, largeBlobArray: nil)
    let nonce = vectors.backup.nonce.bytes
    let sorted = removals.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) }
    let content: CBORValue = [
      1: 3, 2: .array(sorted.map { [.bytes($0.accountTag), .bytes($0.entry.plaintext)] }),
    ]
    let file = try BackupWriter.file(of: store, keys: keys, nonce: nonce).file
    #expect(file == (try seal(CBOREncoder.encode(content))))
    let backup = try open(file)
    #expect(try (0..<backup.count).map { try backup.account(at: $0).entry } == sorted.map(\.entry))
  }

  @Test func `a writer counts passkeys and removals`() throws {
    let store = InMemoryCredentialStore(keys: keys)
    try store.save(#require(alice().entry.record), state: StoreState(storeID: Array(0...15), epoch: 1))
    let removals = try (0..<3).map { number in
      try MergedAccount(
        StoredAccount(accountTag: [UInt8](repeating: number, count: 32), entry: .tombstone(counter: 1, changed: 1)),
        keys: keys)
    }
    _ = try store.merge(removals, epoch: 1, largeBlobArray: nil)
    let made = try BackupWriter.file(of: store, keys: keys, nonce: vectors.backup.nonce.bytes)
    #expect(made.passkeys == 1 && made.removals == 3)
    #expect(try open(made.file).count == 4)

    let writer = BackupWriter()
    for page in try [store.entries(after: nil, count: 2), store.entries(after: removals[1].accountTag, count: 9)] {
      try writer.append(page)
    }
    #expect(writer.passkeys == 1 && writer.removals == 3)
  }

  @Test func `a writer is empty after it has made a file`() throws {
    let nonce = vectors.backup.nonce.bytes
    let (writer, empty) = (BackupWriter(), BackupWriter())
    try writer.append([alice()])
    _ = try writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: nonce)
    #expect(
      try writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: nonce)
        == empty.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: nonce))
  }

  // MARK: - The file

  // Holds: BACKUP-1
  @Test func `a backup of another phrase is recognized by its fingerprint`() throws {
    let others = CredentialKeys(mainKey: Hex([UInt8](repeating: 1, count: 64)).secret)
    let (file, theirs) = (vectors.backup.file.bytes, vectors.fingerprint.bytes)
    #expect(try BackupReader.checkForm(of: file) == theirs)
    #expect(throws: RecoveryError(.anotherPhrase(fingerprint: theirs), "")) {
      try BackupReader(file: file, keys: others)
    }
    let (old, vault) = (Self.digits(theirs), Self.digits(others.fingerprint))
    let another =
      "it was made with another phrase: its fingerprint is \(old), and that of this vault is \(vault); use it on a "
      + "machine with that phrase; nothing was changed"
    #expect(refusal { _ = try BackupReader(file: file, keys: others) } == another)
    #expect(refusal { _ = try BackupReader(file: file, keys: others, previous: others.fingerprint) } == another)
    #expect(
      refusal { _ = try BackupReader(file: file, keys: others, previous: theirs) }
        == "it is of the old phrase \(old), and the vault has the phrase \(vault) now; restore it on a machine with the "
        + "old phrase")
    // A fingerprint that was edited does not open either.
    var map = try #require(try CBORDecoder.decode(vectors.backup.file.bytes).map)
    map[3] = .bytes(others.fingerprint)
    #expect(throws: RecoveryError.notAuthentic) {
      try BackupReader(file: CBOREncoder.encode(.map(map)), keys: others)
    }
  }

  // Holds: BACKUP-1
  @Test func `every flipped bit and every truncation of a backup is refused`() throws {
    let file = vectors.backup.file.bytes
    for index in file.indices {
      for bit in 0..<8 {
        var spoilt = file
        spoilt[index] ^= 1 << bit
        #expect(throws: RecoveryError.self, "byte \(index), bit \(bit)") { try open(spoilt) }
      }
      #expect(throws: RecoveryError.self, "\(index) bytes") { try open(Array(file.prefix(index))) }
    }
    #expect(refusal { _ = try open(Array(file.dropLast())) } == Self.cutOff)
    #expect(refusal { _ = try open(file + [0]) } == Self.damaged)
  }

  // Holds: BACKUP-1
  @Test(
    arguments: [
      (1, "something else", noBackup), (1, nil, noBackup), (2, 2, brokenSeal),
      (2, 3, brokenSeal), (2, 4, newer), (2, .unsigned(.max), newer),
      (2, 0, damaged), (2, nil, damaged),
      (2, "2", damaged), (3, nil, damaged),
      (3, 0, damaged), (4, nil, damaged),
      (4, "text", damaged), (5, nil, damaged),
      (5, "text", damaged), (6, 0, damaged),
    ] as [(CBORValue, CBORValue?, String)])
  func `a file that is not a backup of this version is refused`(
    _ key: CBORValue, _ value: CBORValue?, reason: String
  ) throws {
    var map = try #require(try CBORDecoder.decode(vectors.backup.file.bytes).map)
    map[key] = value
    #expect(refusal { _ = try open(CBOREncoder.encode(.map(map))) } == reason)
  }

  private static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// A person is told to update, and not that the file is damaged; no key is needed for it.
  @Test func `a backup of a newer version has an error of its own`() throws {
    let file = CBOREncoder.encode([1: "liquid-auth backup", 2: 4, 3: .bytes([]), 4: 0, 5: 0, 6: 0])
    #expect(throws: RecoveryError(.newerVersion, "")) { try open(file) }
    var spoilt = vectors.backup.file.bytes
    spoilt[spoilt.count - 1] ^= 1
    #expect(refusal { _ = try open(spoilt) } == "the backup is damaged: its seal is broken; use another copy of it")
  }

  private static let noBackup = "it is not a liquid-auth backup"
  private static let brokenSeal = "the backup is damaged: its seal is broken; use another copy of it"
  private static let newer = "it was made by a newer version; use a newer liquid-auth"
  private static let damaged = "the backup is damaged; use another copy of it"
  private static let cutOff = "the backup is cut off; use another copy of it"

  private static let beginning: [UInt8] = [1, 0x72] + "liquid-auth backup".utf8 + [2, 1]

  // Holds: BACKUP-1
  @Test(
    arguments: [
      ([], noBackup), ([0xA5], noBackup),
      ([0xA5, 1, 0x7B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0], noBackup),
      (Array("SQLite format 3\0".utf8), noBackup), ([0x85] + beginning, noBackup),
      ([0xBB] + beginning, cutOff),
      ([0xA5] + beginning, cutOff),
      (
        [0xA5] + beginning + [3, 0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        cutOff
      ),
      ([0xA5] + beginning + [3, 0x9A, 0xFF, 0xFF, 0xFF, 0xFF], cutOff),
    ] as [([UInt8], String)])
  func `other files, and heads that claim more than there is, are refused`(bytes: [UInt8], reason: String) {
    #expect(refusal { _ = try open(bytes) } == reason)
  }

  @Test(arguments: [(3, 0), (3, 3), (3, 5), (4, 0), (4, 23), (4, 25), (5, 0), (5, 15)] as [(CBORValue, Int)])
  func `a fingerprint, a nonce or a seal of another length is refused`(key: CBORValue, count: Int) throws {
    var map = try #require(try CBORDecoder.decode(vectors.backup.file.bytes).map)
    map[key] = .bytes([UInt8](repeating: 0, count: count))
    #expect(throws: RecoveryError.self) { try open(CBOREncoder.encode(.map(map))) }
  }

  // Holds: BACKUP-1
  @Test func `a file above 64 MiB is neither read nor written`() throws {
    let words = "a backup has at most 64 MiB, about 150,000 passkeys"
    #expect(refusal { _ = try open([UInt8](repeating: 0, count: 67_108_865)) } == words)

    // A file of exactly the limit is written.
    let (nonce, size) = (vectors.backup.nonce.bytes, vectors.backup.file.bytes.count)
    for (limit, blobs) in [(size, nil), (size + 19, SerializedLargeBlobs.initial)] as [(Int, [UInt8]?)] {
      let writer = BackupWriter(maximumSize: limit)
      try writer.append([alice()])
      #expect(try writer.file(epoch: 1, largeBlobArray: blobs, keys: keys, nonce: nonce).count == limit)
      let smaller = BackupWriter(maximumSize: limit - 1)
      try smaller.append([alice()])
      #expect(
        refusal { _ = try smaller.file(epoch: 1, largeBlobArray: blobs, keys: keys, nonce: nonce) } == words)
    }
    #expect(refusal { try BackupWriter(maximumSize: 100).append([alice()]) } == words)
    #expect(BackupFile.maximumSize == 67_108_864)
  }

  // MARK: - Content under a valid seal

  @Test(
    arguments: [
      ([:], "a member of a newer version, or a member is missing"),
      ([1: 1], "a member of a newer version, or a member is missing"),
      ([2: []], "a member of a newer version, or a member is missing"),
      ([1: 1, 2: [], 3: .bytes([]), 4: 0], "a member of a newer version, or a member is missing"),
      ([0: 1, 2: []], "an epoch that is not 0 to 65,535"), ([1: 65_536, 2: []], "an epoch that is not 0 to 65,535"),
      ([1: .bytes([1]), 2: []], "an epoch that is not 0 to 65,535"),
      ([1: -1, 2: []], "an epoch that is not 0 to 65,535"),
      ([1: 1, 3: []], "its entries are not an array"), ([1: 1, 2: [:]], "its entries are not an array"),
      ([1: 1, 2: .bytes([])], "its entries are not an array"),
      ([1: 1, 2: [[]]], "entry 1 of 1 is not an account's tag and its record"),
      ([1: 1, 2: [1]], "entry 1 of 1 is not an account's tag and its record"),
      ([1: 1, 2: [[.bytes([1]), .bytes([0xA0])]]], "entry 1 of 1 is not an account's tag and its record"),
      ([1: 1, 2: [], 3: "blob"], "a member of a newer version, or large blobs that are not bytes"),
      ([1: 1, 2: [], 4: 0], "a member of a newer version, or large blobs that are not bytes"),
    ] as [(CBORMap, String)])
  func `malformed content is refused`(_ content: CBORMap, reason: String) throws {
    #expect(try refusal(ofContent: .map(content)) == "its content is invalid: invalid CBOR: \(reason)")
  }

  // Holds: BACKUP-2
  @Test func `content that is cut off or goes on is refused`() throws {
    let removal: [UInt8] = CBOREncoder.encode([7: 1, 10: 2])
    let tags = (1...3).map { CBORValue.bytes([UInt8](repeating: $0, count: 32)) }
    let content = CBOREncoder.encode([
      1: 1, 2: .array(tags.map { [$0, .bytes(removal)] }), 3: .bytes(SerializedLargeBlobs.initial),
    ])
    #expect(try open(seal(content)).count == 3)
    for count in content.indices {
      let file = try seal(Array(content.prefix(count)))
      #expect(throws: RecoveryError.malformed(""), "\(count) bytes") { try open(file) }
    }
    let longer = try seal(content + [0])
    #expect(
      refusal { _ = try open(longer) } == "its content is invalid: invalid CBOR: trailing bytes in the content")
  }

  /// 2^32 entries in a head: no memory may be reserved for them.
  @Test func `a head that claims more entries than there can be is refused`() throws {
    let file = try seal([0xA2, 1, 1, 2, 0x9B, 0, 0, 0, 1, 0, 0, 0, 0])
    #expect(throws: RecoveryError.malformed("")) { try open(file) }
  }

  // Holds: BACKUP-2
  @Test func `tags that are out of order or twice are refused, by the number of the entry`() throws {
    let removal = CBORValue.bytes(vectors.rows[1].plaintext.bytes)
    func entry(_ byte: UInt8, last: UInt8 = 0) -> CBORValue {
      [.bytes([UInt8](repeating: byte, count: 31) + [last]), removal]
    }
    #expect(try open(seal(CBOREncoder.encode([1: 1, 2: [entry(1), entry(1, last: 1), entry(2)]]))).count == 3)
    for (entries, number) in [
      ([entry(1), entry(1)], "2 of 2"), ([entry(2), entry(1)], "2 of 2"), ([entry(1), entry(3), entry(2)], "3 of 3"),
      ([entry(1), entry(2, last: 1), entry(2), entry(3)], "3 of 4"),
    ] {
      #expect(
        try refusal(ofContent: [1: 1, 2: .array(entries)])
          == "its content is invalid: invalid CBOR: entry \(number) is out of order, or a duplicate")
    }
  }

  // Holds: BACKUP-2
  @Test func `an entry of more than 4,096 bytes is neither read nor written`() throws {
    func content(_ size: Int) throws -> CBORValue {
      let entries = (1...2).map { CBORValue.array([.bytes([UInt8](repeating: $0, count: 32)), .bytes([])]) }
      let long = CBORValue.array([
        .bytes([UInt8](repeating: 3, count: 32)), .bytes([UInt8](repeating: 0, count: size)),
      ])
      return [1: 1, 2: .array(entries + [long])]
    }
    #expect(try open(seal(CBOREncoder.encode(content(4096)))).count == 3)
    #expect(
      try refusal(ofContent: content(4097))
        == "its content is invalid: invalid CBOR: entry 3 of 3 has more than 4,096 bytes")

    func append(name: Int) throws -> Int {
      var record = try #require(try alice().entry.record)
      record.name = String(repeating: "n", count: name)
      let writer = BackupWriter()
      try writer.append([StoredAccount(accountTag: alice().accountTag, entry: .record(record))])
      return AccountEntry.record(record).plaintext.count
    }
    let others = try append(name: 3000) - 3000
    #expect(try append(name: 4096 - others) == 4096)
    #expect(
      refusal { _ = try append(name: 4097 - others) }
        == "the passkey at example.com has more than 4,096 bytes, too many for a backup")
  }

  // MARK: - Entries

  /// The words with which the second entry of a backup is refused; the first is a tombstone.
  private func refusal(ofEntry plaintext: [UInt8], tag: [UInt8]? = nil) throws -> String? {
    let tag = tag ?? vectors.credentials[0].withSealedId.accountTag.bytes
    let removal: CBORValue = [.bytes([UInt8](repeating: 0, count: 32)), .bytes(vectors.rows[1].plaintext.bytes)]
    let backup = try open(seal(CBOREncoder.encode([1: 1, 2: [removal, [.bytes(tag), .bytes(plaintext)]]])))
    _ = try backup.account(at: 0)
    return refusal { _ = try backup.account(at: 1) }
  }

  // Holds: BACKUP-2
  @Test func `a record under another account's tag is refused`() throws {
    let others = [UInt8](repeating: 7, count: 32)
    #expect(
      try refusal(ofEntry: vectors.rows[0].plaintext.bytes, tag: others)
        == "entry 2 of 2: its tag is not that of its account")
  }

  // Holds: BACKUP-2
  @Test func `a counter above the epoch of the file is refused`() throws {
    func removal(_ counter: UInt32) -> [UInt8] { AccountEntry.tombstone(counter: counter, changed: 1).plaintext }
    let words = "entry 2 of 2: its content is invalid: a counter above the file's epoch"
    #expect(try refusal(ofEntry: removal(2 << 16)) == words)
    #expect(try refusal(ofEntry: removal(.max)) == words)
    var map = try #require(try CBORDecoder.decode(vectors.rows[0].plaintext.bytes).map)
    map[7] = .unsigned(2 << 16)
    #expect(try refusal(ofEntry: CBOREncoder.encode(.map(map))) == words)

    let last = try seal(
      CBOREncoder.encode([1: 1, 2: [[.bytes([UInt8](repeating: 0, count: 32)), .bytes(removal(2 << 16 - 1))]]]))
    #expect(try open(last).account(at: 0).entry.counter == 0x1_FFFF)
  }

  @Test func `an entry that is cut off or changed in its form is refused`() throws {
    let record = vectors.rows[0].plaintext.bytes
    for count in record.indices {
      let words = try #require(try refusal(ofEntry: Array(record.prefix(count))))
      #expect(words.hasPrefix("entry 2 of 2: its content is invalid: "), "\(count) bytes")
    }
    #expect(
      try refusal(ofEntry: record + [0])
        == "entry 2 of 2: its content is invalid: invalid CBOR: trailing bytes from byte "
        + "\(record.count) on")
    var map = try #require(try CBORDecoder.decode(record).map)
    map[15] = 0
    #expect(
      try refusal(ofEntry: CBOREncoder.encode(.map(map)))
        == "entry 2 of 2: its content is invalid: invalid CBOR: a member of a newer version")
  }

  private func imported(counter: UInt64) throws -> (map: CBORMap, account: [UInt8], own: [UInt8]) {
    var map = try #require(try CBORDecoder.decode(vectors.rows[0].plaintext.bytes).map)
    (map[7], map[11], map[13]) = (.unsigned(counter), 2, .bytes([UInt8](repeating: 1, count: 32)))
    let (rpID, id) = (try #require(map[1]?.text), try #require(map[5]?.bytes))
    return (map, try alice().accountTag, keys.importedTag(RPIDHash(rpID: rpID), id: id))
  }

  // Holds: IMPORT-1
  @Test func `a file of version 1 has an imported passkey under its account, and gives it an entry of its own`() throws
  {
    let (map, account, own) = try imported(counter: 3)
    let content = { (tag: [UInt8]) in
      CBOREncoder.encode([1: 0, 2: [[.bytes(tag), .bytes(CBOREncoder.encode(.map(map)))]]])
    }
    let read = try open(seal(content(account))).account(at: 0)
    #expect(read.accountTag == own && read.entry.counter == 0 && read.entry.record?.importedKey?.count == 32)
    #expect(
      refusal { _ = try open(seal(content(own))).account(at: 0) } == "entry 1 of 1: its tag is not that of its account")
    #expect(
      refusal { _ = try open(seal(content(account), version: 2)).account(at: 0) }
        == "entry 1 of 1: its tag is not that of its account")
    #expect(
      refusal { _ = try open(seal(content(own), version: 2)).account(at: 0) }
        == "entry 1 of 1: its content is invalid: an imported passkey with a counter")
  }

  // Holds: IMPORT-1
  @Test func `only a file with an imported passkey has version 2`() throws {
    let (map, _, own) = try imported(counter: 0)
    let entry = StoredAccount(accountTag: own, entry: try AccountEntry(plaintext: CBOREncoder.encode(.map(map))))
    let nonce = vectors.backup.nonce.bytes
    let writer = BackupWriter()
    try writer.append([entry])
    let file = try writer.file(epoch: 0, largeBlobArray: nil, keys: keys, nonce: nonce)
    #expect(
      try Hex(file)
        == Hex(seal(CBOREncoder.encode([1: 0, 2: [[.bytes(own), .bytes(entry.entry.plaintext)]]]), version: 2)))
    #expect(try open(file).account(at: 0) == entry)

    try writer.append([alice()])
    #expect(try Hex(writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: nonce)) == vectors.backup.file.hex)
  }

  // Holds: ROTATE-11
  @Test func `only a file with CredRandoms has version 3, and only there are they read`() throws {
    let (members, account, own) = try imported(counter: 0)
    let derived = try alice()
    var map = members
    map[14] = .bytes([UInt8](repeating: 7, count: 64))
    let plaintext = CBOREncoder.encode(.map(map))
    let entry = StoredAccount(accountTag: own, entry: try AccountEntry(plaintext: plaintext))
    #expect(try #require(entry.entry.record?.credRandoms).isEqual(to: Hex([UInt8](repeating: 7, count: 64)).secret))
    let content = { (tag: [UInt8]) in CBOREncoder.encode([1: 0, 2: [[.bytes(tag), .bytes(plaintext)]]]) }
    let writer = BackupWriter()
    try writer.append([entry])
    let file = try writer.file(epoch: 0, largeBlobArray: nil, keys: keys, nonce: vectors.backup.nonce.bytes)
    #expect(try Hex(file) == Hex(seal(content(own), version: 3)))
    #expect(try open(file).account(at: 0) == entry)
    for (tag, version) in [(account, 1), (own, 2)] as [([UInt8], UInt64)] {
      #expect(
        refusal { _ = try open(seal(content(tag), version: version)).account(at: 0) }
          == "entry 1 of 1: its content is invalid: CredRandoms in a file of version \(version)")
    }
    // The highest version of all entries counts.
    map[14] = nil
    let (other, id) = (try AccountEntry(plaintext: CBOREncoder.encode(.map(map))), [UInt8](repeating: 0, count: 32))
    for (first, version) in [(derived, 1), (StoredAccount(accountTag: id, entry: other), 2), (entry, 3)] {
      try writer.append([first])
      let single = try writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: vectors.backup.nonce.bytes)
      #expect(single[21...22] == [2, UInt8(version)])
    }
    let all = [derived, StoredAccount(accountTag: id, entry: other), entry]
    try writer.append(all.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) })
    let both = try writer.file(epoch: 1, largeBlobArray: nil, keys: keys, nonce: vectors.backup.nonce.bytes)
    #expect(both[21...22] == [2, 3])
    (map[13], map[14]) = (nil, .bytes([UInt8](repeating: 7, count: 64)))
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: CBOREncoder.encode(.map(map))) }
  }

  // Holds: BACKUP-2
  @Test(arguments: [
    [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32), [UInt8](repeating: 1, count: 31), [],
  ])
  func `an imported passkey whose key cannot be used is refused`(key: [UInt8]) throws {
    var map = try #require(try CBORDecoder.decode(vectors.rows[0].plaintext.bytes).map)
    map[11] = 2
    map[13] = .bytes([UInt8](repeating: 1, count: 32))
    let file = try seal(
      CBOREncoder.encode([
        1: 1, 2: [[.bytes(alice().accountTag), .bytes(CBOREncoder.encode(.map(map)))]],
      ]))
    #expect(try open(file).account(at: 0).entry.record?.importedKey?.count == 32)

    map[13] = .bytes(key)
    let words = try #require(try refusal(ofEntry: CBOREncoder.encode(.map(map))))
    #expect(words.hasPrefix("entry 2 of 2: its content is invalid: a private key that cannot be used: "))
    #expect(!words.contains("255") && !words.lowercased().contains("ff"), "a key is not in an error")
  }
}
