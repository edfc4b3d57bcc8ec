import CBOR
import ControlProtocol
import CryptoPrimitives
import Recovery
import TestVectors
import Testing

@Suite struct ControlAnswerTests {
  static let credential = CredentialDescription(
    rpID: "a.example", userID: [7], name: "al", credentialID: [0xC0, 0xDE], algorithm: -7, counter: 1, policy: 0b101,
    created: 2, changed: 3, source: 1, publicKey: [0xAB])
  /// The members 1 to 11 of `credential`, without the head of the map.
  static let credentialMembers: [UInt8] =
    [0x01, 0x69] + Array("a.example".utf8)
    + [
      0x02, 0x41, 0x07, 0x03, 0x62, 0x61, 0x6C, 0x05, 0x42, 0xC0, 0xDE, 0x06, 0x26, 0x07, 0x01, 0x08, 0x05, 0x09, 0x02,
      0x0A, 0x03, 0x0B, 0x01,
    ]

  /// A status with every member.
  static var status: AuthenticatorStatus {
    let file = FollowReport.File(name: "f", time: 7, isMerged: true, result: "m")
    var prompts = PromptReport(.terminal)
    (prompts.isWaiting, prompts.answerByThemselves) = (true, true)
    var status = AuthenticatorStatus(
      processID: 258, stateDirectory: "/s", problems: [Problem("p")], verification: ["none"],
      vault: .init(
        .unlocked, fingerprint: [1, 2, 3, 4], previousFingerprint: [5, 6, 7, 8], lockReason: "r", unlockedBy: "k"),
      device: .init(transport: "uhid", attached: true, node: "/dev/hidraw0", access: "you", steppedAsideFor: "h"),
      prompts: prompts)
    status.store = .init(credentials: 3, hasReaders: true, counter: 9, defaultPolicy: 2)
    status.backup = .init(written: 5, checked: 6, folder: "/b", report: FollowReport(files: [file], problem: "q"))
    status.wallets = .init(algorandSignatures: 4, associationSignatures: 300, openDApps: 1, awayDApps: 2)
    return status
  }

  @Test func `the dApps of a passkey are its last member`() throws {
    var credential = Self.credential
    credential.dApps = ["o"]
    #expect(CBOREncoder.encode(.map(credential.members)).suffix(4) == [0x11, 0x81, 0x61, 0x6F])
    #expect(try CredentialDescription(credential.members) == credential)
  }

  @Test func `a pairing goes with its token as the first member`() throws {
    let answer = GetPairing.Answer(origin: "o", pairingID: "p", credential: secret("c"))
    let packet: [UInt8] = [0x00, 0xA3, 0x00, 0x41, 0x63, 0x01, 0x61, 0x6F, 0x02, 0x61, 0x70]
    #expect(answer.encoded == packet)
    #expect(try GetPairing.Answer(decoding: packet) == answer)
    for count in 1..<packet.count {
      #expect(throws: ControlFailure.self) { try GetPairing.Answer(decoding: Array(packet.prefix(count))) }
    }
    let below = GetPairing.Answer(origin: "o", path: "/", pairingID: "p", credential: secret("c"))
    #expect(below.encoded == [0x00, 0xA4] + Array(packet.dropFirst(2)) + [0x03, 0x61, 0x2F])
    #expect(try GetPairing.Answer(decoding: below.encoded) == below)
  }

  @Test func `an answer without members is its status byte`() throws {
    #expect(Done().encoded == [0x00])
    #expect(try Done(decoding: [0x00]) == Done())
    #expect(try Done(decoding: [0x00, 0xA1, 0x09, 0xF5]) == Done())  // members that it does not know are ignored
  }

  @Test func `the answer to hello has the version and the process id`() throws {
    let packet: [UInt8] = [0x00, 0xA2, 0x01, 0x08, 0x02, 0x19, 0x01, 0x02]
    #expect(Hello.Answer(processID: 258).encoded == packet)
    #expect(try Hello.Answer(decoding: packet) == Hello.Answer(version: 8, processID: 258))
  }

  @Test func `the answer to an accepted store has the number of entries of its history`() throws {
    let packet: [UInt8] = [0x00, 0xA1, 0x01, 0x19, 0x01, 0x02]
    #expect(AcceptStore.Answer(entries: 258).encoded == packet)
    #expect(try AcceptStore.Answer(decoding: packet) == AcceptStore.Answer(entries: 258))
    for malformed in [[0x00], [0x00, 0xA1, 0x01, 0x20], [0x00, 0xA1, 0x01, 0xF5]] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try AcceptStore.Answer(decoding: malformed) }
    }
  }

  // Holds: ROTATE-3
  @Test func `a page of the old phrase's keys has their states, and the phrase's fingerprint`() throws {
    let entries = [
      RotationEntry(site: "a", key: .passkey(name: "b"), state: .left),
      RotationEntry(site: "c", key: .passkey(name: nil), state: .moved),
      RotationEntry(site: "d", key: .others(before: 2, since: 1), state: .left),
      RotationEntry(site: nil, key: .others(before: 1, since: 0), state: .givenUp),
    ]
    let packet: [UInt8] = [
      0x00, 0xA2, 0x01, 0x84, 0xA3, 1, 0x61, 0x61, 2, 0, 3, 0x61, 0x62, 0xA2, 1, 0x61, 0x63, 2, 1, 0xA4, 1, 0x61, 0x64,
      2, 0,
      4, 2, 5, 1, 0xA3, 2, 2, 4, 1, 5, 0, 0x03, 0x44, 1, 2, 3, 4,
    ]
    let answer = ListRotation.Answer(of: entries, start: 0, fingerprint: [1, 2, 3, 4])
    #expect(answer.encoded == packet)
    #expect(try ListRotation.Answer(decoding: packet) == answer && answer.next == nil)
    for count in 1..<packet.count {
      #expect(throws: ControlFailure.self) { try ListRotation.Answer(decoding: Array(packet.prefix(count))) }
    }
    for entry in [
      [0x00], [0xA0], [0xA1, 2, 3], [0xA1, 2, 0x20], [0xA2, 2, 0, 4, 1], [0xA3, 2, 0, 4, 0x20, 5, 0],
      [0xA3, 2, 0, 4, 1, 5, 0x1B, 0, 0, 0, 1, 0, 0, 0, 0], [0xA2, 1, 1, 2, 0], [0xA2, 2, 0, 3, 1],
    ] as [[UInt8]] {
      let malformed: [UInt8] = [0x00, 0xA2, 0x01, 0x81] + entry + [0x03, 0x44, 1, 2, 3, 4]
      #expect(throws: ControlFailure.self, "\(entry)") { try ListRotation.Answer(decoding: malformed) }
    }
  }

  // Holds: ROTATE-3
  @Test func `a page of the old phrase's keys says what was modified in a history`() throws {
    let packet: [UInt8] = [0x00, 0xA3, 0x01, 0x80, 0x03, 0x44, 1, 2, 3, 4, 0x04, 0x61, 0x66]
    let answer = ListRotation.Answer(of: [], start: 0, fingerprint: [1, 2, 3, 4], historyFault: "f")
    #expect(answer.encoded == packet)
    #expect(try ListRotation.Answer(decoding: packet) == answer)
    let malformed: [UInt8] = [0x00, 0xA3, 0x01, 0x80, 0x03, 0x44, 1, 2, 3, 4, 0x04, 0xF5]
    #expect(throws: ControlFailure.self) { try ListRotation.Answer(decoding: malformed) }
  }

  // Holds: ROTATE-3
  @Test func `the old phrase's keys come in pages that fit into a message`() {
    let site = String(repeating: "a", count: 1000)
    let all = (0..<400).map { RotationEntry(site: site, key: .passkey(name: "\($0)"), state: .left) }
    var (read, start, pages) = ([RotationEntry](), UInt64?.some(0), 0)
    while let next = start {
      let answer = ListRotation.Answer(of: all, start: next, fingerprint: [1, 2, 3, 4])
      #expect(answer.encoded.count <= ControlMessage.maximumSize)
      (read, start, pages) = (read + answer.entries, answer.next, pages + 1)
    }
    #expect(read == all && pages == 3)
    #expect(ListRotation.Answer(of: all, start: 400, fingerprint: []).next == nil)
    #expect(ListRotation.Answer(of: all, start: .max, fingerprint: []).entries == [])
  }

  // Holds: ROTATE-9
  @Test func `the addresses of both phrases' accounts are two texts`() throws {
    let packet: [UInt8] = [0x00, 0xA2, 0x01, 0x61, 0x61, 0x02, 0x61, 0x62]
    #expect(GetRekeying.Answer(previous: "a", present: "b").encoded == packet)
    #expect(try GetRekeying.Answer(decoding: packet) == GetRekeying.Answer(previous: "a", present: "b"))
    for count in 1..<packet.count {
      #expect(throws: ControlFailure.self) { try GetRekeying.Answer(decoding: Array(packet.prefix(count))) }
    }
  }

  // Holds: BACKUP-1
  @Test func `a fragment of a backup has the size of the file, and its numbers`() throws {
    let packet: [UInt8] = [0x00, 0xA4, 0x01, 0x42, 0xA1, 0xA2, 0x02, 0x19, 0x01, 0x02, 0x03, 0x07, 0x04, 0x01]
    let answer = ReadBackup.Answer(fragment: [0xA1, 0xA2], size: 258, passkeys: 7, removals: 1)
    #expect(answer.encoded == packet)
    #expect(try ReadBackup.Answer(decoding: packet) == answer)
    for count in 1..<packet.count {
      #expect(throws: ControlFailure.self) { try ReadBackup.Answer(decoding: Array(packet.prefix(count))) }
    }
  }

  /// A result with lists of no passkeys, and these large blobs.
  private static func result(largeBlobs: [UInt8]) -> [UInt8] {
    [0x00, 0xA1, 0x01, 0xB3]
      + [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 0x81, 0x82, 0x61, 0x61, 0x61, 0x62, 8, 0x18, 0xC8]
      + [9, 0x81, 0x81, 0x61, 0x63, 10, 1, 11, 0, 12, 0xF5, 13] + largeBlobs
      + [15, 0xF4, 16, 0xF5, 17, 0x81, 0x81, 0x61, 0x64]
      + [18, 0x81, 0x82, 0x61, 0x65, 0x61, 0x66, 19, 2]
  }

  // Holds: BACKUP-1
  @Test func `the result of a merge has numbers, names and the large blobs`() throws {
    #expect(MergeBackup.Answer(result: nil).encoded == [0x00])
    #expect(try MergeBackup.Answer(decoding: [0x00]) == MergeBackup.Answer(result: nil))
    for (blobs, bytes) in [
      (.none, [0, 14, 0]), (.taken, [1, 14, 0]), (.same, [2, 14, 0]), (.keptBack(9), [3, 14, 9]),
      (.invalid, [4, 14, 0]),
    ] as [(MergeResult.LargeBlobs, [UInt8])] {
      let packet = Self.result(largeBlobs: bytes)
      let result = try #require(try MergeBackup.Answer(decoding: packet).result)
      #expect(result.largeBlobs == blobs)
      #expect([result.added, result.changed, result.removed.count, result.noted] == [1, 2, 3, 4])
      #expect(result.removed.names == [PasskeyName(rpID: "d", name: nil)])
      #expect(result.removedHere == .init(names: [.init(rpID: "e", name: "f")], count: 2))
      #expect([result.kept, result.same, result.entriesAhead] == [5, 6, 0])
      #expect(result.keptImported == .init(names: [.init(rpID: "a", name: "b")], count: 200))
      #expect(result.leftImported == .init(names: [.init(rpID: "c", name: nil)], count: 1))
      #expect(result.raisesEpoch && !result.backupHasMore && result.isLastWritten)
      #expect(MergeBackup.Answer(result: result).encoded == packet)
      for count in 2..<packet.count {
        #expect(throws: ControlFailure.self) { try MergeBackup.Answer(decoding: Array(packet.prefix(count))) }
      }
    }
    for malformed in [[5, 14, 0], [0x61, 0x61, 14, 0], [3, 14, 0x20]] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try MergeBackup.Answer(decoding: Self.result(largeBlobs: malformed)) }
    }
  }

  // Holds: IMPORT-6
  @Test func `the outcomes of an import have a byte each`() throws {
    #expect(ImportPasskeys.Answer(outcomes: nil).encoded == [0x00])
    #expect(try ImportPasskeys.Answer(decoding: [0x00]).outcomes == nil)
    let packet: [UInt8] = [0x00, 0xA1, 0x01, 0x45, 0, 1, 2, 3, 4]
    let answer = ImportPasskeys.Answer(outcomes: [.added, .present, .repeated, .otherKey, .derived])
    #expect(answer.encoded == packet)
    #expect(try ImportPasskeys.Answer(decoding: packet) == answer)
    #expect(try ImportPasskeys.Answer(decoding: [0x00, 0xA1, 0x01, 0x40]).outcomes == [])
    for malformed in [[0x00, 0xA1, 0x01, 0x41, 5], [0x00, 0xA1, 0x01, 0x80], [0x00, 0xA1, 0x01, 0x61, 0x61]]
      as [[UInt8]]
    {
      #expect(throws: ControlFailure.self) { try ImportPasskeys.Answer(decoding: malformed) }
    }
  }

  // Holds: EXPORT-4
  @Test func `a page of an export has its exact bytes`() throws {
    let secrets = [UInt8](0..<192)
    let passkey = CredentialDescription(
      rpID: "a", userID: [1], credentialID: [2], algorithm: -7, counter: 0, policy: 1, created: 3, changed: 4,
      source: 0,
      credBlob: [9])
    let map: [UInt8] = [
      0xAA, 1, 0x61, 0x61, 2, 0x41, 1, 5, 0x41, 2, 6, 0x26, 7, 0, 8, 1, 9, 3, 10, 4, 11, 0, 12, 0x41, 9,
    ]
    let packet = [0x00, 0xA4, 0, 0x58, 0xC0] + secrets + [1, 0x82] + map + map + [2, 5, 3, 2]
    let answer = ExportPasskeys.Answer(
      secrets: secrets.withUnsafeBytes { SecretBytes(copying: $0) }, passkeys: [passkey, passkey], total: 5, next: 2)
    #expect(answer.encoded == packet)
    let read = try ExportPasskeys.Answer(decoding: packet)
    #expect((read.passkeys, read.total, read.next) == ([passkey, passkey], 5, 2))
    let bytes = { (secret: SecretBytes) in secret.withUnsafeBytes { Array($0) } }
    #expect(bytes(read.privateKey(at: 1)) == [UInt8](96..<128))
    #expect(bytes(read.credRandoms(at: 0).withUV) == [UInt8](32..<64))
    #expect(bytes(read.credRandoms(at: 1).withoutUV) == [UInt8](160..<192))
    for count in 0..<packet.count {
      #expect(throws: ControlFailure.self) { try ExportPasskeys.Answer(decoding: Array(packet[..<count])) }
    }
    for malformed in [
      [0x00], [0x00, 0xA2, 1, 0x80, 2, 0], [0x00, 0xA3, 0, 0x41, 1, 1, 0x80, 2, 0],
      [0x00, 0xA3, 0, 0x41, 1, 1, 0x81, 5, 2, 0],
    ] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try ExportPasskeys.Answer(decoding: malformed) }
    }
    #expect(throws: ControlFailure(.operationDenied, "no")) {
      try ExportPasskeys.Answer(decoding: ControlFailure(.operationDenied, "no").encoded)
    }
  }

  // Holds: BACKUP-8
  @Test func `a page of digests has its exact bytes`() throws {
    let packet: [UInt8] = [
      0x00, 0xA4, 0x01, 0x83, 0x84, 0x41, 0xA1, 1, 2, 0x41, 0xD1, 0x87, 0x41, 0xA2, 0, 3, 0x41, 0xD2, 0x41, 0xE2, 0xF5,
      0x61,
      0x61, 0x88, 0x41, 0xA3, 0, 4, 0x41, 0xD3, 0x41, 0xE3, 0xF4, 0x61, 0x62, 0x61, 0x63, 0x02, 0x41, 0xA3, 0x03, 0x41,
      0xF0,
      0x04, 0x81, 0x41, 0xB1,
    ]
    let accounts = [
      AccountDigest(accountTag: [0xA1], counter: 1, changed: 2, content: [0xD1], record: nil),
      AccountDigest(
        accountTag: [0xA2], counter: 0, changed: 3, content: [0xD2],
        record: .init(keys: [0xE2], isImported: true, name: PasskeyName(rpID: "a", name: nil))),
      AccountDigest(
        accountTag: [0xA3], counter: 0, changed: 4, content: [0xD3],
        record: .init(keys: [0xE3], isImported: false, name: PasskeyName(rpID: "b", name: "c"))),
    ]
    let answer = DigestAccounts.Answer(of: accounts, isLast: false, phrase: [0xF0], largeBlobs: [[0xB1]])
    #expect(answer.encoded == packet)
    #expect(try DigestAccounts.Answer(decoding: packet) == answer)
    for count in 1..<packet.count {
      #expect(throws: ControlFailure.self) { try DigestAccounts.Answer(decoding: Array(packet.prefix(count))) }
    }
    #expect(DigestAccounts.Answer(of: accounts, isLast: true, phrase: [], largeBlobs: []).next == nil)
    for account in [
      [0x80], [0x85, 0x41, 0, 0, 0, 0x41, 0, 0x41, 0], [0x84, 0, 0, 0, 0x41, 0], [0x84, 0x41, 0, 0x20, 0, 0x41, 0],
      [0x84, 0x41, 0, 0x1B, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x41, 0], [0x84, 0x41, 0, 0, 0, 0],
      [0x87, 0x41, 0, 0, 0, 0x41, 0, 0x41, 0, 0xF4, 0x41, 0], [0x87, 0x41, 0, 0, 0, 0x41, 0, 0x41, 0, 0, 0x61, 0x61],
      [0x88, 0x41, 0, 0, 0, 0x41, 0, 0x41, 0, 0xF4, 0x61, 0x61, 0],
    ] as [[UInt8]] {
      let malformed: [UInt8] = [0x00, 0xA3, 0x01, 0x81] + account + [0x03, 0x40, 0x04, 0x80]
      #expect(throws: ControlFailure.self) { try DigestAccounts.Answer(decoding: malformed) }
    }
  }

  // Holds: BACKUP-8
  @Test func `a page has as many digests as fit into a message`() {
    let accounts = (0..<500).map { (number: UInt64) -> AccountDigest in
      AccountDigest(
        accountTag: number.bigEndianBytes, counter: 0, changed: 0, content: [],
        record: .init(
          keys: [], isImported: false,
          name: PasskeyName(rpID: String(repeating: "a", count: 1000), name: String(repeating: "b", count: 99))))
    }
    let blobs = [[UInt8]](repeating: [UInt8](repeating: 0, count: 16), count: 100)
    let page = DigestAccounts.Answer(
      of: accounts, isLast: true, phrase: [UInt8](repeating: 0, count: 16), largeBlobs: blobs)
    #expect(page.encoded.count <= ControlMessage.maximumSize && 400..<500 ~= page.accounts.count)
    #expect(page.next == page.accounts.last?.accountTag)
  }

  @Test func `a credential has the members of its record, and its public key as 14`() throws {
    let packet: [UInt8] = [0x00, 0xAB] + Self.credentialMembers + [0x0E, 0x41, 0xAB]
    #expect(Self.credential.encoded == packet)
    #expect(try CredentialDescription(decoding: packet) == Self.credential)
    #expect(Self.credential.credProtect == 1)
    #expect(Self.credential.reference == CredentialReference(rpID: "a.example", credentialID: [0xC0, 0xDE]))
  }

  @Test func `member 15 is the largeBlobKey, and member 16 that there is a credBlob`() throws {
    var credential = Self.credential
    (credential.largeBlobKey, credential.hasCredBlob) = ([0xB0], true)
    let packet: [UInt8] =
      [0x00, 0xAD] + Self.credentialMembers + [0x0E, 0x41, 0xAB, 0x0F, 0x41, 0xB0, 0x10, 0xF5]
    #expect(credential.encoded == packet)
    #expect(try CredentialDescription(decoding: packet) == credential)
    #expect(credential.hasLargeBlobKey && !credential.isForThirdPartyPayment)
  }

  @Test func `a page of the history has its exact bytes`() throws {
    let content = HistoryDescription.Content(time: 5, kind: 2, outcome: 1, verification: 3, site: "a")
    var nameless = content
    nameless.site = nil
    nameless.door = 1
    let page = ListHistory.Answer(
      entries: [
        HistoryDescription(number: 7, content: content), HistoryDescription(number: 8, content: nameless),
        HistoryDescription(number: -1, content: nil),
      ], next: 8)
    let packet: [UInt8] = [
      0x00, 0xA2, 0x01, 0x83, 0xA6, 0x01, 0x07, 0x02, 0x05, 0x03, 0x02, 0x04, 0x01, 0x05, 0x03, 0x06, 0x61, 0x61,
      0xA6, 0x01, 0x08, 0x02, 0x05, 0x03, 0x02, 0x04, 0x01, 0x05, 0x03, 0x07, 0x01, 0xA1, 0x01, 0x20, 0x02, 0x08,
    ]
    #expect(page.encoded == packet)
    #expect(try ListHistory.Answer(decoding: packet) == page)
    for malformed in [
      [0x00, 0xA0], [0x00, 0xA1, 0x01, 0xA0], [0x00, 0xA1, 0x01, 0x81, 0x01], [0x00, 0xA1, 0x01, 0x81, 0xA0],
      [0x00, 0xA1, 0x01, 0x81, 0xA2, 0x01, 0x07, 0x02, 0x05], [0x00, 0xA2, 0x01, 0x80, 0x02, 0x61, 0x61],
    ] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try ListHistory.Answer(decoding: malformed) }
    }
  }

  @Test func `the largest page of the history fits into a message`() {
    let site = String(repeating: "a", count: 224)
    let content = HistoryDescription.Content(time: .max, kind: 255, outcome: 255, verification: 255, site: site)
    let entry = HistoryDescription(number: .max, content: content)
    let page = ListHistory.Answer(entries: Array(repeating: entry, count: ListHistory.pageSize), next: .max)
    #expect(page.encoded.count <= ControlMessage.maximumSize)
  }

  @Test func `the policies have their exact bytes`() throws {
    let list = PolicyList(others: 1, sites: [.init(site: "a", policy: 2), .init(site: "b", policy: 0)])
    let packet: [UInt8] = [
      0x00, 0xA2, 0x01, 0x01, 0x02, 0x82, 0xA2, 0x01, 0x61, 0x61, 0x02, 0x02, 0xA2, 0x01, 0x61, 0x62, 0x02, 0x00,
    ]
    #expect(list.encoded == packet)
    #expect(try PolicyList(decoding: packet) == list)
    for malformed in [
      [0x00, 0xA0], [0x00, 0xA1, 0x01, 0x01], [0x00, 0xA2, 0x01, 0x19, 1, 0, 0x02, 0x80], [0x00, 0xA2, 1, 1, 2, 0xA0],
      [0x00, 0xA2, 0x01, 0x01, 0x02, 0x81, 0x01], [0x00, 0xA2, 0x01, 0x01, 0x02, 0x81, 0xA1, 0x01, 0x61, 0x61],
    ] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try PolicyList(decoding: malformed) }
    }
    let longest = PolicyList.Entry(site: String(repeating: "a", count: 253), policy: 255)
    let all = PolicyList(others: 255, sites: Array(repeating: longest, count: 500))
    #expect(all.encoded.count <= ControlMessage.maximumSize)
  }

  @Test func `a check of the history has its exact bytes, and at most 100 faults`() throws {
    let found = CheckHistory.Answer(count: 2, first: 1, last: nil, faults: ["x"])
    let packet: [UInt8] = [0x00, 0xA4, 0x01, 0x02, 0x02, 0x01, 0x04, 0x81, 0x61, 0x78, 0x05, 0x01]
    #expect(found.encoded == packet)
    #expect(try CheckHistory.Answer(decoding: packet) == found)
    let many = CheckHistory.Answer(count: 0, first: nil, last: nil, faults: Array(repeating: "x", count: 300))
    #expect(many.faults.count == 100 && many.faultCount == 300)
    for malformed in [[0x00, 0xA0], [0x00, 0xA3, 0x01, 0x02, 0x04, 0x81, 0x01, 0x05, 0x01]] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try CheckHistory.Answer(decoding: malformed) }
    }
  }

  @Test func `settings have their exact bytes`() throws {
    let settings = OwnerSettings(
      alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a"], forcePINChange: false, isPINSet: true,
      means: ["a"])
    let packet: [UInt8] = [
      0x00, 0xA6, 0x01, 0xF5, 0x02, 0x06, 0x03, 0x81, 0x61, 0x61, 0x04, 0xF4, 0x05, 0xF5, 0x06, 0x81, 0x61,
      0x61,
    ]
    #expect(settings.encoded == packet)
    #expect(try OwnerSettings(decoding: packet) == settings)
    for key in settings.members.pairs.map(\.key) {
      var members = settings.members
      members[key] = .map([:])
      #expect(throws: ControlFailure(.unexpectedType, "")) { try OwnerSettings(members) }
    }
  }

  @Test func `a page is a list and the place before which the next page begins`() throws {
    var listed = Self.credential
    listed.publicKey = nil
    let last: [UInt8] = [0x00, 0xA1, 0x01, 0x81, 0xAA] + Self.credentialMembers
    #expect(ListCredentials.Answer(credentials: [listed]).encoded == last)
    #expect(try ListCredentials.Answer(decoding: last) == ListCredentials.Answer(credentials: [listed]))
    let first: [UInt8] = [0x00, 0xA2, 0x01, 0x80, 0x02, 0x05]
    #expect(ListCredentials.Answer(credentials: [], next: 5).encoded == first)
    #expect(try ListCredentials.Answer(decoding: first) == ListCredentials.Answer(credentials: [], next: 5))
  }

  @Test(arguments: [0, 1, 7, 700, isWhole ? 10_000 : 2_000])
  func `the pages have every credential once, in order, and each fits one message`(_ count: Int) throws {
    let all = (0..<count).map { number in
      var credential = Self.credential
      credential.counter = UInt32(number)
      credential.name = String(repeating: "n", count: number % 300)
      return credential
    }
    // The places of the credentials, with gaps, and how many credentials were read for all pages.
    let places = (0..<count).map { Int64(3 * (count - $0)) }
    var (seen, read, pages): ([CredentialDescription], Int, Int) = ([], 0, 0)
    var before: Int64?
    repeat {
      let page = ListCredentials.Answer(to: ListCredentials(before: before)) { take in
        for (credential, place) in zip(all, places) where place < before ?? .max {
          read += 1
          guard take(credential, place) else { return }
        }
      }
      #expect(page.encoded.count <= ControlMessage.maximumSize)
      seen += page.credentials
      pages += 1
      before = try ListCredentials.Answer(decoding: page.encoded).next
    } while before != nil
    #expect(seen == all)
    #expect(read == count + pages - 1, "each once, and the first of the next page")
  }

  @Test(arguments: [0, 1, 20, 4_096, 4_097, 10_000])
  func `a search reads a limited number of credentials for each page, and lists those with the digits`(
    _ count: Int
  ) throws {
    let all = (0..<count).map { number in
      var credential = Self.credential
      credential.credentialID = [0x01, UInt8(number >> 8), UInt8(number & 0xFF)]
      return credential
    }
    var (found, reads): ([CredentialDescription], [Int]) = ([], [])
    var before: Int64?
    repeat {
      var read = 0
      let page = ListCredentials.Answer(to: ListCredentials(before: before, digits: "01001")) { take in
        for (number, credential) in all.enumerated() {
          let place = Int64(count - number)
          guard place < before ?? .max else { continue }
          read += 1
          guard take(credential, place) else { return }
        }
      }
      found += page.credentials
      reads.append(read)
      before = page.next
    } while before != nil
    #expect(found == Array(all.prefix(0x20).dropFirst(0x10)))
    #expect(reads.allSatisfy { $0 <= ListCredentials.maximumRead + 1 })
    #expect(reads.count == max(1, (count + ListCredentials.maximumRead - 1) / ListCredentials.maximumRead))
    #expect(reads.reduce(0, +) == count + reads.count - 1, "each once, and the first of the next page")
  }

  @Test func `status has its exact bytes`() throws {
    var packet: [UInt8] = [0x00, 0xAA, 0x01, 0x19, 0x01, 0x02, 0x02, 0x62, 0x2F, 0x73]
    packet += [0x03, 0x81, 0xA2, 0x01, 0x00, 0x02, 0x61, 0x70, 0x04, 0x81, 0x64] + Array("none".utf8)
    packet += [0x05, 0xA5, 0x01, 0x02, 0x02, 0x44, 1, 2, 3, 4, 0x03, 0x44, 5, 6, 7, 8]
    packet += [0x04, 0x61, 0x72, 0x05, 0x61, 0x6B, 0x06, 0xA5, 0x01, 0x64] + Array("uhid".utf8)
    packet += [0x02, 0xF5, 0x03, 0x6C] + Array("/dev/hidraw0".utf8) + [0x04, 0x63] + Array("you".utf8)
    packet += [0x05, 0x61, 0x68, 0x07, 0xA3, 0x02, 0x81, 0xA1, 0x01, 0x68] + Array("terminal".utf8)
    packet += [0x03, 0xF5, 0x04, 0xF5, 0x08, 0xA4, 0x01, 0x03, 0x02, 0xF5, 0x03, 0x09, 0x04, 0x02]
    packet += [0x09, 0xA5, 0x01, 0x81, 0x84, 0x61, 0x66, 0x07, 0xF5, 0x61, 0x6D, 0x02, 0x61, 0x71]
    packet += [0x03, 0x05, 0x04, 0x06, 0x05, 0x62, 0x2F, 0x62]
    packet += [0x0A, 0xA4, 0x01, 0x04, 0x02, 0x19, 0x01, 0x2C, 0x03, 0x01, 0x04, 0x02]
    #expect(Self.status.encoded == packet)
    #expect(try AuthenticatorStatus(decoding: packet) == Self.status)
  }

  @Test func `a status has its problems with their kinds and remedies`() throws {
    var status = Self.status
    status.problems = [
      Problem("a"), Problem("c", hint: "h", kind: .counter), Problem("p", hint: "x", with: ["y", "z"], kind: .pin),
    ]
    #expect(status.problem(.pin) == status.problems[2] && status.problem(.vault) == nil)
    #expect(try AuthenticatorStatus(decoding: status.encoded) == status)
    var members = status.members
    members[3] = ["a"]
    #expect(throws: ControlFailure(.unexpectedType, "")) { try AuthenticatorStatus(members) }
  }

  @Test func `the back ends of prompts are values, and their text has those that work`() throws {
    let (notifications, program) = (PromptReport.BackEnd(.notifications, fault: "no"), "/a (b), c")
    var report = PromptReport(choice: "auto", [notifications, .init(.askpass, program: program), .init(.terminal)])
    var packet: [UInt8] = [0xA2, 0x01, 0x64] + Array("auto".utf8) + [0x02, 0x83]
    packet += [0xA2, 0x01, 0x6D] + Array("notifications".utf8) + [0x03, 0x62] + Array("no".utf8)
    packet += [0xA2, 0x01, 0x67] + Array("askpass".utf8) + [0x02, 0x69] + Array(program.utf8)
    packet += [0xA1, 0x01, 0x68] + Array("terminal".utf8)
    #expect(CBOREncoder.encode(.map(report.members)) == packet)
    #expect(try PromptReport(report.members) == report)
    #expect(report.text == "auto: askpass (/a (b), c), terminal")
    #expect(report.backEnd(.askpass)?.program == program && report.backEnd(.pinentry) == nil && !report.isTerminal)
    #expect(PromptReport(.terminal).isTerminal && PromptReport(.terminal).text == "terminal")
    report.backEnds = [notifications]
    #expect(report.text == "auto: notifications", "none works")
    // A later authenticator may have more kinds.
    #expect(try PromptReport([2: [.map([1: "x"])]]).text == "x")
    for malformed in [[:], [2: 1], [1: 1, 2: []], [2: [1]], [2: [.map([:])]], [2: [.map([1: 1])]]] as [CBORMap] {
      #expect(throws: ControlFailure.self) { try PromptReport(malformed) }
    }
  }

  @Test func `the status of a locked, detached device leaves out unknown members`() throws {
    let status = AuthenticatorStatus(
      processID: 1, stateDirectory: "/s", verification: ["passphrase"], vault: .init(.locked),
      device: .init(transport: "pty", attached: false), prompts: PromptReport(.pinentry))
    #expect(try AuthenticatorStatus(decoding: status.encoded) == status)
    #expect(status.members.pairs.map(\.key) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    let groups: [(CBORValue, [CBORValue])] = [(5, [1]), (6, [1, 2]), (7, [2]), (8, []), (9, []), (10, [1, 2, 3, 4])]
    for (key, keys) in groups { #expect(status.members[key]?.map?.pairs.map(\.key) == keys, "\(key)") }
  }

  @Test func `a failure carries its reason`() {
    let failure = ControlFailure(.wrongPassphrase, "no")
    #expect(failure.encoded == [0xF2, 0xA1, 0x01, 0x62, 0x6E, 0x6F])
    do throws(ControlFailure) {
      _ = try Done(decoding: failure.encoded)
      Issue.record("a failure is read as success")
    } catch {
      #expect(error == failure)
      #expect(error.reason == "no")
    }
  }

  @Test func `a failure carries what to do beside its reason`() {
    let problem = Problem("no", hint: "do", with: ["a"])
    let failure = ControlFailure(.unavailable, problem)
    #expect(failure.reason == "no; do with: a" && failure.description == failure.reason)
    do throws(ControlFailure) {
      _ = try Done(decoding: failure.encoded)
      Issue.record("a failure is read as success")
    } catch {
      #expect(error == failure && error.problem == problem)
    }
    // An older client reads the text, and a problem that cannot be read is left out.
    let unreadable: [UInt8] = [0xF3, 0xA2, 0x01, 0x62, 0x6E, 0x6F, 0x04, 0xA0]
    do throws(ControlFailure) {
      _ = try Done(decoding: unreadable)
      Issue.record("a failure is read as success")
    } catch {
      #expect(error.problem == Problem("no"))
    }
  }

  @Test func `a failure names its transaction and group`() {
    let failure = ControlFailure(.wrongGroup, "no", transaction: 2, group: [0xAA, 0xBB])
    #expect(failure.encoded == [0xF5, 0xA3, 0x01, 0x62, 0x6E, 0x6F, 0x02, 0x02, 0x03, 0x42, 0xAA, 0xBB])
    do throws(ControlFailure) {
      _ = try Done(decoding: failure.encoded)
      Issue.record("a failure is read as success")
    } catch {
      #expect(error == failure && error.transaction == 2 && error.group == [0xAA, 0xBB])
    }
  }

  /// Each answer of the wallet's requests, with its packet.
  @Test func `the wallet's answers have their exact bytes`() throws {
    try check(GetAccount.Answer("AB"), [0x00, 0xA1, 0x01, 0x62, 0x41, 0x42])
    try check(GetAddresses.Answer(["A", "B"]), [0x00, 0xA1, 0x01, 0x82, 0x61, 0x41, 0x61, 0x42])
    try check(
      GetAccountPasskey.Answer(credentialID: [0xC0, 0xDE], isStored: true),
      [0x00, 0xA2, 0x01, 0x42, 0xC0, 0xDE, 0x02, 0xF5])
    let signature = [UInt8](repeating: 7, count: 64)
    try check(SignTransactions.Answer([signature, nil]), [0x00, 0xA1, 0x01, 0x82, 0x58, 0x40] + signature + [0x40])
    try check(WalletSignature([0x30, 0x06]), [0x00, 0xA1, 0x01, 0x42, 0x30, 0x06])
    try check(GetAssociationKey.Answer(signature), [0x00, 0xA1, 0x01, 0x58, 0x40] + signature)
  }

  private func check<Answer: ControlAnswer & Equatable>(
    _ answer: Answer, _ packet: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(answer.encoded == packet, sourceLocation: sourceLocation)
    #expect(try Answer(decoding: packet) == answer, sourceLocation: sourceLocation)
    #expect(throws: ControlFailure(.missingParameter, ""), sourceLocation: sourceLocation) {
      try Answer(decoding: [0x00])
    }
    for key in answer.members.pairs.map(\.key) {
      var members = answer.members
      members[key] = .map([:])
      #expect(throws: ControlFailure(.unexpectedType, ""), sourceLocation: sourceLocation) { try Answer(members) }
    }
  }

  @Test func `a followed store has its exact bytes`() throws {
    let store = FollowedStore(
      state: Array(0..<16), unlocking: [1, 2, 3, 4, 5, 6, 7, 8], fingerprint: [9, 9, 9, 9], store: [7, 7, 7, 7],
      folder: "/a")
    let head: [UInt8] = [0x01, 0x50] + Array(0..<16) + [0x02, 0x48, 1, 2, 3, 4, 5, 6, 7, 8]
    let middle: [UInt8] = [0x03, 0x44, 9, 9, 9, 9, 0x04, 0x44, 7, 7, 7, 7]
    try check(store, [0x00, 0xA5] + head + middle + [0x05, 0x62, 0x2F, 0x61])
    var other = store
    other.folder = nil
    #expect(other.encoded == [0x00, 0xA4] + head + middle)
    #expect(try FollowedStore(decoding: other.encoded) == other)
    other.previousFingerprint = [8, 8, 8, 8]
    try check(other, [0x00, 0xA5] + head + middle + [0x06, 0x44, 8, 8, 8, 8])
  }

  @Test func `signatures and keys of another length are refused`() {
    for count in [1, 63, 65] {
      let bytes = CBORValue.bytes([UInt8](repeating: 0, count: count))
      #expect(throws: ControlFailure(.unexpectedType, "")) { try SignTransactions.Answer([1: [bytes]]) }
      #expect(throws: ControlFailure(.invalidLength, "")) { try GetAssociationKey.Answer([1: bytes]) }
    }
    #expect(throws: ControlFailure(.unexpectedType, "")) { try SignTransactions.Answer([1: ["x"]]) }
    #expect(throws: ControlFailure(.unexpectedType, "")) { try GetAddresses.Answer([1: [1]]) }
  }

  static let malformed: [(String, [UInt8], ControlStatus)] = [
    ("nothing", [], .other),
    ("a status alone, as CTAP2 answers", [0x27], .operationDenied),
    ("a status that nobody knows", [0xE7], ControlStatus(rawValue: 0xE7)),
    ("a failure whose reason is no text", [0x30, 0xA1, 0x01, 0x01], .notAllowed),
    ("a failure whose reason is broken", [0x30, 0xA1], .notAllowed),
    ("it is not a map", [0x00, 0x01], .invalidCBOR),
    ("a map that is cut off", [0x00, 0xA2, 0x01, 0x01], .invalidCBOR),
    ("no version", [0x00, 0xA1, 0x02, 0x01], .missingParameter),
    ("a version that is a text", [0x00, 0xA2, 0x01, 0x61, 0x31, 0x02, 0x01], .unexpectedType),
    ("a process beyond the range", [0x00, 0xA2, 0x01, 0x01, 0x02, 0x1A, 0x80, 0, 0, 0], .invalidParameter),
  ]

  @Test(arguments: malformed)
  func `an answer that is not a hello is a failure`(_ name: String, _ packet: [UInt8], _ status: ControlStatus) {
    #expect(throws: ControlFailure(status, "")) { try Hello.Answer(decoding: packet) }
  }

  @Test(arguments: ControlAnswerTests.credential.members.pairs.map(\.key))
  func `every member of a credential has its own type`(_ key: CBORValue) {
    var members = Self.credential.members
    members[key] = .map([:])
    #expect(throws: ControlFailure(.unexpectedType, "")) { try CredentialDescription(members) }
  }

  @Test func `a page with invalid credentials is refused`() {
    #expect(throws: ControlFailure(.unexpectedType, "")) { try ListCredentials.Answer([1: [1]]) }
    #expect(throws: ControlFailure(.missingParameter, "")) { try ListCredentials.Answer([1: [[:]]]) }
    #expect(throws: ControlFailure(.missingParameter, "")) { try ListCredentials.Answer([:]) }
  }

  @Test(arguments: ControlAnswerTests.status.members.pairs)
  func `every member of a status, and of its groups, has its own type`(_ member: CBORMap.Pair) {
    var members = Self.status.members
    let group = member.value.map
    members[member.key] = group == nil ? .map([:]) : 5
    #expect(throws: ControlFailure(.unexpectedType, "")) { try AuthenticatorStatus(members) }
    for key in group?.pairs.map(\.key) ?? [] {
      var changed = group ?? [:]
      changed[key] = .map([:])
      members[member.key] = .map(changed)
      #expect(throws: ControlFailure(.unexpectedType, ""), "\(key)") { try AuthenticatorStatus(members) }
    }
  }

  @Test func `an unknown condition of the vault is refused`() {
    var members = Self.status.members
    members[5] = .map([1: 4])
    #expect(throws: ControlFailure(.invalidParameter, "")) { try AuthenticatorStatus(members) }
  }
}
