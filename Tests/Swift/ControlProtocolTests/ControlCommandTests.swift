import CBOR
import ControlProtocol
import CryptoPrimitives
import Recovery
import Testing

@Suite struct ControlCommandTests {
  /// A request and its packet.
  struct Case: CustomTestStringConvertible {
    let name: String
    let request: any ControlCommand
    let packet: [UInt8]
    var testDescription: String { name }

    init(_ name: String, _ request: any ControlCommand, _ packet: [UInt8]) {
      self.name = name
      self.request = request
      self.packet = packet
    }
  }

  static let reference = CredentialReference(rpID: "a.example", credentialID: [0xC0, 0xDE])
  static let imported = CredentialReference(rpID: "a.example", credentialID: [0xC0, 0xDE], isImported: true)
  /// {1: "a.example", 2: C0DE} without its head.
  static let referenceMembers: [UInt8] = [0x01, 0x69] + Array("a.example".utf8) + [0x02, 0x42, 0xC0, 0xDE]

  static let cases: [Case] = [
    Case("hello", Hello(version: 3), [0x50, 0xA1, 0x01, 0x03]),
    Case(
      "hello of a client that hears of prompts", Hello(version: 3, hearsOfPrompts: true),
      [0x50, 0xA2, 0x01, 0x03, 0x02, 0xF5]),
    Case("status", GetStatus(), [0x51]),
    Case("lock", Lock(), [0x52]),
    Case("unlock", Unlock(secret("correct")), [0x53, 0xA1, 0x00, 0x47] + Array("correct".utf8)),
    Case(
      "unlock with a passphrase of 24 bytes", Unlock(secret(String(repeating: "x", count: 24))),
      [0x53, 0xA1, 0x00, 0x58, 24] + [UInt8](repeating: 0x78, count: 24)),
    Case(
      "unlock with a passphrase of 256 bytes", Unlock(secret(String(repeating: "x", count: 256))),
      [0x53, 0xA1, 0x00, 0x59, 0x01, 0x00] + [UInt8](repeating: 0x78, count: 256)),
    Case("a message of another computer", PerformHybrid([0x04]), [0x80, 0xA1, 0x01, 0x41, 0x04]),
    Case("unlock with a slot", UnlockBySlot(), [0x7E]),
    Case("the second page", ListCredentials(before: 300), [0x54, 0xA1, 0x01, 0x19, 0x01, 0x2C]),
    Case(
      "the second page of a search", ListCredentials(before: 300, digits: "01a"),
      [0x54, 0xA2, 0x01, 0x19, 0x01, 0x2C, 0x02, 0x63, 0x30, 0x31, 0x61]),
    Case("show", ShowCredential(reference), [0x55, 0xA2] + referenceMembers),
    Case(
      "rename", RenameCredential(reference, name: "al", displayName: ""),
      [0x56, 0xA4] + referenceMembers + [0x03, 0x62, 0x61, 0x6C, 0x04, 0x60]),
    Case(
      "rename of one name", RenameCredential(reference, displayName: "é"),
      [0x56, 0xA3] + referenceMembers + [0x04, 0x62, 0xC3, 0xA9]),
    Case("remove", RemoveCredential(reference), [0x57, 0xA2] + referenceMembers),
    Case("remove of an imported one", RemoveCredential(imported), [0x57, 0xA3] + referenceMembers + [0x05, 0xF5]),
    Case("show of an imported one", ShowCredential(imported), [0x55, 0xA3] + referenceMembers + [0x05, 0xF5]),
    Case(
      "rename of an imported one", RenameCredential(imported, name: "al"),
      [0x56, 0xA4] + referenceMembers + [0x03, 0x62, 0x61, 0x6C, 0x05, 0xF5]),
    Case(
      "recover", RecoverCredential(rpID: "a.example", userHandle: [7], counter: 65_536),
      [0x58, 0xA5, 0x01, 0x69] + Array("a.example".utf8)
        + [0x02, 0x41, 0x07, 0x03, 0x1A, 0x00, 0x01, 0x00, 0x00, 0x04, 0x26, 0x05, 0x01]),
    Case("accept what was before the reset", AcceptBeforeReset(), [0x59]),
    Case("a new store", NewStore(secret("pass")), [0x5A, 0xA1, 0x00, 0x44] + Array("pass".utf8)),
    Case("a store as it is", AcceptStore(secret("pass")), [0x6A, 0xA1, 0x00, 0x44] + Array("pass".utf8)),
    Case(
      "a slot", SealSlot(key: secret(String(repeating: "k", count: 32)), protector: [1: 1, 2: .bytes([9]), 3: 300]),
      [0x6B, 0xA2, 0x00, 0x58, 32] + [UInt8](repeating: 0x6B, count: 32)
        + [0x01, 0xA3, 0x01, 0x01, 0x02, 0x41, 0x09, 0x03, 0x19, 0x01, 0x2C]),
    Case(
      "a counter", ChangeCounter(.on(index: 0x0180_0000, auth: secret(String(repeating: "k", count: 32)), value: 9)),
      [0x6F, 0xA4, 0x00, 0x58, 0x20] + [UInt8](repeating: 0x6B, count: 32)
        + [0x01, 0x01, 0x02, 0x1A, 0x01, 0x80, 0x00, 0x00, 0x03, 0x09]),
    Case("no counter", ChangeCounter(.off), [0x6F, 0xA1, 0x01, 0x02]),
    Case("an old copy", ChangeCounter(.accept), [0x6F, 0xA1, 0x01, 0x03]),
    Case("no slot", RemoveSlot(id: [7, 8]), [0x6C, 0xA1, 0x01, 0x42, 0x07, 0x08]),
    Case("the history", ListHistory(), [0x6D]),
    Case("its next page", ListHistory(after: 500), [0x6D, 0xA1, 0x01, 0x19, 0x01, 0xF4]),
    Case("a check of the history", CheckHistory(), [0x6E]),
    Case("a backup", ReadBackup(offset: 0), [0x70, 0xA1, 0x01, 0x00]),
    Case("its second fragment", ReadBackup(offset: 131_072), [0x70, 0xA1, 0x01, 0x1A, 0x00, 0x02, 0x00, 0x00]),
    Case(
      "a fragment to merge", MergeBackup(offset: 2, size: 4, fragment: [0xA1, 0xA2], onlyCompares: false),
      [0x71, 0xA3, 0x01, 0x02, 0x02, 0x04, 0x03, 0x42, 0xA1, 0xA2]),
    Case(
      "a fragment to compare", MergeBackup(offset: 0, size: 1, fragment: [0xA1], onlyCompares: true),
      [0x71, 0xA4, 0x01, 0x00, 0x02, 0x01, 0x03, 0x41, 0xA1, 0x04, 0xF5]),
    Case(
      "digests", DigestAccounts(challenge: Array(0..<32)), [0x72, 0xA1, 0x01, 0x58, 0x20] + Array(0..<32)),
    Case(
      "their next page", DigestAccounts(challenge: Array(0..<32), after: Array(32..<64)),
      [0x72, 0xA2, 0x01, 0x58, 0x20] + Array(0..<32) + [0x02, 0x58, 0x20] + Array(32..<64)),
    Case(
      "a backup was written", RecordBackup(.written, file: Array(0..<16), at: 5),
      [0x73, 0xA3, 1, 1, 2, 0x50] + Array(0..<16) + [3, 5]),
    Case(
      "passkeys to import", ImportPasskeys(offset: 5, size: 9, fragment: locked([1, 2])),
      [0x74, 0xA3, 0, 0x42, 1, 2, 1, 5, 2, 9]),
    Case("passkeys to export", ExportPasskeys(sites: nil), [0x77]),
    Case("the next of them", ExportPasskeys(sites: nil, start: 32), [0x77, 0xA1, 2, 0x18, 0x20]),
    Case("passkeys of sites", ExportPasskeys(sites: ["a", "b"]), [0x77, 0xA1, 1, 0x82, 0x61, 0x61, 0x61, 0x62]),
    Case("a check found one complete", RecordBackup(.checked, at: 6), [0x73, 0xA2, 1, 2, 3, 6]),
    Case("a folder to follow", FollowBackups("/a"), [0x75, 0xA1, 0x01, 0x62, 0x2F, 0x61]),
    Case("no folder", FollowBackups(nil), [0x75]),
    Case("the store", AwaitBackup(), [0x76]),
    Case(
      "a change of the store, and a report",
      AwaitBackup(
        seen: Array(0..<16),
        report: FollowReport(
          files: [FollowReport.File(name: "n", time: 5, isMerged: true, result: "r")], problem: "p")),
      [0x76, 0xA2, 0x01, 0x50] + Array(0..<16)
        + [0x02, 0xA2, 0x01, 0x81, 0x84, 0x61, 0x6E, 0x05, 0xF5, 0x61, 0x72, 0x02, 0x61, 0x70]),
    Case(
      "a new phrase",
      BeginRotation(
        mainKey: secret(String(repeating: "m", count: 64)), ed25519Root: secret(String(repeating: "r", count: 96))),
      [0x78, 0xA1, 0x00, 0x58, 160] + [UInt8](repeating: 0x6D, count: 64) + [UInt8](repeating: 0x72, count: 96)),
    Case("what is left", ListRotation(start: 300), [0x79, 0xA1, 0x01, 0x19, 0x01, 0x2C]),
    Case(
      "sites to give up", GiveUpSites(["a", "ssh:"]),
      [0x7A, 0xA1, 0x01, 0x82, 0x61, 0x61, 0x64, 0x73, 0x73, 0x68, 0x3A]),
    Case("U2F to give up", GiveUpSites([], isOfU2F: true), [0x7A, 0xA2, 0x01, 0x80, 0x02, 0xF5]),
    Case("the end of the old phrase", EndRotation(), [0x7B]),
    Case("the end with a modified history", EndRotation(acceptsHistory: true), [0x7B, 0xA1, 0x01, 0xF5]),
    Case("the accounts of both phrases", GetRekeying(), [0x7C]),
    Case("a rekeying", SignRekeying([0x80]), [0x7D, 0xA1, 0x01, 0x41, 0x80]),
    Case(
      "a pairing to keep", KeepPairing(origin: "o", rpID: "r", pairingID: "p", credential: secret("c")),
      [0x90, 0xA4, 0x00, 0x41, 0x63, 0x01, 0x61, 0x6F, 0x02, 0x61, 0x72, 0x03, 0x61, 0x70]),
    Case(
      "a pairing of a server below a path",
      KeepPairing(origin: "o", path: "/", rpID: "r", pairingID: "p", credential: secret("c")),
      [0x90, 0xA5, 0x00, 0x41, 0x63, 0x01, 0x61, 0x6F, 0x02, 0x61, 0x72, 0x03, 0x61, 0x70, 0x04, 0x61, 0x2F]),
    Case("a pairing", GetPairing(site: "o"), [0x91, 0xA1, 0x01, 0x61, 0x6F]),
    Case(
      "keys of a Trezor",
      KeepTrezorKeys(
        mainKey: secret(String(repeating: "m", count: 64)), keys: secret(String(repeating: "k", count: 128))),
      [0x92, 0xA1, 0x00, 0x58, 192] + [UInt8](repeating: 0x6D, count: 64) + [UInt8](repeating: 0x6B, count: 128)),
    Case("no keys of a Trezor", ForgetTrezorKeys(), [0x93]),
    Case("an open channel to a dApp", ReportDApp(isOpen: true), [0x94, 0xA1, 0x01, 0xF5]),
    Case("the policies", ChangePolicy(), [0x69]),
    Case(
      "a policy", ChangePolicy(.site("a.example", 2)), [0x69, 0xA2, 0x01, 0x69] + Array("a.example".utf8) + [2, 2]),
    Case("no policy", ChangePolicy(.site("ssh:", nil)), [0x69, 0xA1, 0x01, 0x64] + Array("ssh:".utf8)),
    Case("the policy of others", ChangePolicy(.others(1)), [0x69, 0xA1, 0x02, 0x01]),
    Case("attach", PlugDevice(.attach), [0x5B, 0xA1, 0x01, 0x01]),
    Case("detach", PlugDevice(.detach), [0x5B, 0xA1, 0x01, 0x02]),
    Case("replug", PlugDevice(.replug), [0x5B, 0xA1, 0x01, 0x03]),
    Case("power cycle", PlugDevice(.powerCycle), [0x5B, 0xA1, 0x01, 0x04]),
    Case("a closed prompt again", PlugDevice(.askAgain), [0x5B, 0xA1, 0x01, 0x05]),
    Case("a PIN", SetPIN(secret("1234")), [0x5C, 0xA1, 0x00, 0x44] + Array("1234".utf8)),
    Case("no PIN", RemovePIN(), [0x5D]),
    Case("no readers", ForgetReaders(), [0x68]),
    Case("the settings", GetSettings(), [0x5E]),
    Case("alwaysUv", ChangeSettings(alwaysUV: false), [0x5F, 0xA1, 0x01, 0xF4]),
    Case(
      "a longer PIN, and who is told",
      ChangeSettings(minimumPINLength: 6, minimumPINLengthRPIDs: ["a"]),
      [0x5F, 0xA2, 0x02, 0x06, 0x03, 0x81, 0x61, 0x61]),
    Case("another PIN", ChangeSettings(forcePINChange: true), [0x5F, 0xA1, 0x04, 0xF5]),
    Case("means", ChangeSettings(means: ["a", "b"]), [0x5F, 0xA1, 0x05, 0x82, 0x61, 0x61, 0x61, 0x62]),
    Case("only the passphrase", ChangeSettings(means: []), [0x5F, 0xA1, 0x05, 0x80]),
    Case("large blobs", SetLargeBlobArray([0x80, 0x76], changedFrom: nil), [0x60, 0xA1, 0x01, 0x42, 0x80, 0x76]),
    Case(
      "large blobs in the place of some", SetLargeBlobArray([0x80, 0x76], changedFrom: [0xD1]),
      [0x60, 0xA2, 0x01, 0x42, 0x80, 0x76, 0x02, 0x41, 0xD1]),
    Case("the account", GetAccount(), [0x61]),
    Case("its passkey", GetAccountPasskey(rpID: "a.example"), [0x62, 0xA1, 0x01, 0x69] + Array("a.example".utf8)),
    Case(
      "its passkey, for a host below the site", GetAccountPasskey(rpID: "a.example", host: "w.a.example"),
      [0x62, 0xA2, 0x01, 0x69] + Array("a.example".utf8) + [0x02, 0x6B] + Array("w.a.example".utf8)),
    Case(
      "transactions, of which one is to be signed, and one by another address",
      SignTransactions(
        [
          .init([0x80], isToBeSigned: true), .init([0x81, 0xA0], isToBeSigned: false),
          .init([], isToBeSigned: true, signer: "B"),
        ], origin: "o"),
      [0x63, 0xA2, 0x01, 0x83, 0x82, 0x41, 0x80, 0xF5, 0x82, 0x42, 0x81, 0xA0, 0xF4, 0x83, 0x40, 0xF5, 0x61, 0x42]
        + [0x02, 0x61, 0x6F]),
    Case(
      "a transaction, of which all is to be shown",
      SignTransactions([.init([0x80], isToBeSigned: true)], origin: "o", showsAll: true),
      [0x63, 0xA3, 0x01, 0x81, 0x82, 0x41, 0x80, 0xF5, 0x02, 0x61, 0x6F, 0x03, 0xF5]),
    Case(
      "a message", SignMessage([0x68, 0x69], origin: "o"),
      [0x64, 0xA2, 0x01, 0x42, 0x68, 0x69, 0x02, 0x61, 0x6F]),
    Case(
      "accounts", GetAddresses(account: 1, first: 300, count: 32),
      [0x65, 0xA3, 0x01, 0x19, 1, 0x2C, 0x02, 0x18, 32, 0x03, 0x01]),
    Case("an association key", GetAssociationKey(publicUserID: "al"), [0x66, 0xA1, 0x01, 0x62, 0x61, 0x6C]),
    Case(
      "data for an association key",
      SignAssociation(publicUserID: "al", data: [0x31], service: "s"),
      [0x67, 0xA3, 0x01, 0x62, 0x61, 0x6C, 0x02, 0x41, 0x31, 0x03, 0x61, 0x73]),
  ]

  @Test(arguments: cases)
  func `every request has exactly one packet`(_ example: Case) {
    #expect(example.request.encoded.bytes == example.packet)
  }

  @Test(arguments: cases)
  func `a packet decodes to its request`(_ example: Case) throws {
    #expect(try decode(example.packet).encoded.bytes == example.packet)
  }

  // Holds: CONTROL-1
  @Test(arguments: cases)
  func `a truncated request is refused`(_ example: Case) {
    for count in 0..<example.packet.count {
      switch try? decode(Array(example.packet.prefix(count))) {
      case nil: break
      // Its members may be absent.
      case let list as ListCredentials: #expect(count == 1 && list.before == nil && list.digits == nil)
      case let list as ListHistory: #expect(count == 1 && list.after == nil)
      case let list as ListRotation: #expect(count == 1 && list.start == 0)
      case let end as EndRotation: #expect(count == 1 && end == EndRotation())
      case let export as ExportPasskeys: #expect(count == 1 && export == ExportPasskeys(sites: nil))
      case let policies as ChangePolicy: #expect(count == 1 && policies.change == nil)
      case let follow as FollowBackups: #expect(count == 1 && follow.folder == nil)
      case let wait as AwaitBackup: #expect(count == 1 && wait == AwaitBackup())
      case let request?: Issue.record("\(count) bytes are read as \(request)")
      }
    }
  }

  // Holds: CONTROL-1
  @Test(arguments: cases.filter { $0.packet.count > 1 })
  func `bytes after a request are refused`(_ example: Case) {
    #expect(throws: ControlFailure(.invalidCBOR, "")) { try decode(example.packet + [0x00]) }
  }

  @Test func `the passphrase arrives byte for byte`() throws {
    let unlock = try #require(try decode([0x53, 0xA1, 0x00, 0x43, 0x61, 0xFF, 0x00]) as? Unlock)
    #expect(unlock.secret.bytes == [0x61, 0xFF, 0x00])  // bytes as typed, no text
  }

  // Holds: IMPORT-6
  @Test(arguments: [23, 24, 255, 256, 65_535, 65_536, 131_072])
  func `a fragment of passkeys arrives byte for byte`(_ count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let packet = ImportPasskeys(offset: 7, size: 200_000, fragment: locked(bytes)).encoded.bytes
    let command = try #require(try decode(packet) as? ImportPasskeys)
    #expect(command.fragment.bytes == bytes && command.offset == 7 && command.size == 200_000)
  }

  @Test func `unknown members of a request are ignored`() throws {
    #expect(try decode([0x50, 0xA2, 0x01, 0x01, 0x18, 0x63, 0xF5]).encoded.bytes == [0x50, 0xA1, 0x01, 0x01])
    #expect(try decode([0x51, 0xA1, 0x01, 0x01]).encoded.bytes == [0x51])
    #expect(
      try decode([0x53, 0xA2, 0x00, 0x41, 0x61, 0x05, 0xF5]).encoded.bytes == [0x53, 0xA1, 0x00, 0x41, 0x61])
  }

  /// A file in a report, with a result of 8,192 bytes.
  private static let longResult: [UInt8] =
    [0x84, 0x60, 0x00, 0xF4, 0x79, 0x20, 0x00] + [UInt8](repeating: 0x61, count: 8192)

  // Holds: FOLLOW-1
  @Test func `a report has what fits into a status`() throws {
    let long = String(repeating: "ä", count: 5000)
    let file = { FollowReport.File(name: $0, time: 5, isMerged: true, result: long) }
    let report = FollowReport(files: ["a", "b", "c", "d"].map(file), problem: long)
    #expect(report.problem?.utf8.count == 8192)
    #expect(report.files.map(\.name) == ["a", "b"])
    #expect(report.files.map { $0.result.utf8.count } == [8192, 8192])
    let command = AwaitBackup(report: report)
    let decoded = try decode(command.encoded.bytes) as? AwaitBackup
    #expect(decoded == command)
    let short = FollowReport.File(name: "a", time: 5, isMerged: true, result: "")
    #expect(FollowReport(files: .init(repeating: short, count: 101)).files.count == 100)
  }

  static let malformed: [(String, [UInt8], ControlStatus)] = [
    ("nothing", [], .invalidLength),
    ("a message that is too long", [0x51] + [UInt8](repeating: 0, count: 163_840), .invalidLength),
    ("a CTAP2 message that is too long", [0x01] + [UInt8](repeating: 0, count: 7_609), .invalidLength),
    ("a command of our range that does not exist", [0x7F], .invalidCommand),
    ("another", [0x7F, 0xA0], .invalidCommand),
    ("a message of another computer that is empty", [0x80, 0xA1, 0x01, 0x40], .invalidLength),
    (
      "a message of another computer that is too long",
      [0x80, 0xA1, 0x01, 0x59, 0x1D, 0xBA] + [UInt8](repeating: 0, count: 7_610), .invalidLength
    ),
    ("no message of another computer", [0x80, 0xA0], .missingParameter),
    ("a relative folder", [0x75, 0xA1, 0x01, 0x61, 0x61], .invalidParameter),
    ("an empty folder", [0x75, 0xA1, 0x01, 0x60], .invalidParameter),
    ("a folder with a zero byte", [0x75, 0xA1, 0x01, 0x62, 0x2F, 0x00], .invalidParameter),
    (
      "a folder of 4,096 bytes", [0x75, 0xA1, 0x01, 0x79, 0x10, 0x00, 0x2F] + [UInt8](repeating: 0x61, count: 4095),
      .invalidParameter
    ),
    ("a folder that is no text", [0x75, 0xA1, 0x01, 0x42, 0x2F, 0x61], .unexpectedType),
    ("a state of 15 bytes", [0x76, 0xA1, 0x01, 0x4F] + [UInt8](repeating: 1, count: 15), .invalidLength),
    ("a state that is no bytes", [0x76, 0xA1, 0x01, 0x01], .unexpectedType),
    ("a report without files", [0x76, 0xA1, 0x02, 0xA1, 0x02, 0x61, 0x70], .missingParameter),
    (
      "a report of a file without a result", [0x76, 0xA1, 0x02, 0xA1, 0x01, 0x81, 0x83, 0x61, 0x6E, 5, 0xF5],
      .unexpectedType
    ),
    (
      "a report of 101 files",
      [0x76, 0xA1, 0x02, 0xA1, 0x01, 0x98, 101]
        + [[UInt8]](repeating: [0x84, 0x60, 0, 0xF4, 0x60], count: 101).flatMap { $0 }, .invalidLength
    ),
    (
      "a report of 5 files with 8,192 bytes each",
      [0x76, 0xA1, 0x02, 0xA1, 0x01, 0x85] + [[UInt8]](repeating: longResult, count: 5).flatMap { $0 }, .invalidLength
    ),
    (
      "a report with a text of 8,193 bytes",
      [0x76, 0xA1, 0x02, 0xA1, 0x01, 0x81, 0x84, 0x60, 0, 0xF4, 0x79, 0x20, 0x01]
        + [UInt8](repeating: 0x61, count: 8193), .invalidLength
    ),
    ("a new phrase without one", [0x78], .missingParameter),
    ("a new phrase that is a text", [0x78, 0xA1, 0x00, 0x61, 0x61], .unexpectedType),
    ("a page that is a text", [0x79, 0xA1, 0x01, 0x61, 0x61], .unexpectedType),
    ("a history that is accepted by a number", [0x7B, 0xA1, 0x01, 0x01], .unexpectedType),
    ("nothing to give up", [0x7A, 0xA1, 0x01, 0x80], .missingParameter),
    ("no sites to give up", [0x7A], .missingParameter),
    ("a site that is a number", [0x7A, 0xA1, 0x01, 0x81, 0x01], .unexpectedType),
    ("a rekeying without a transaction", [0x7D], .missingParameter),
    ("a rekeying that is a text", [0x7D, 0xA1, 0x01, 0x61, 0x61], .unexpectedType),
    ("a pairing without a credential", [0x90, 0xA3, 1, 0x61, 0x6F, 2, 0x61, 0x72, 3, 0x61, 0x70], .missingParameter),
    ("a pairing with an empty credential", [0x90, 0xA4, 0, 0x40, 1, 0x61, 0x6F], .invalidLength),
    (
      "a pairing with a credential of 1025 bytes",
      [0x90, 0xA1, 0, 0x59, 0x04, 0x01] + [UInt8](repeating: 0x63, count: 1025), .invalidLength
    ),
    (
      "a pairing without an id", [0x90, 0xA3, 0, 0x41, 0x63, 1, 0x61, 0x6F, 2, 0x61, 0x72], .missingParameter
    ),
    ("keys of a Trezor without them", [0x92], .missingParameter),
    ("a report of a dApp without a state", [0x94], .missingParameter),
    ("501 sites", [0x7A, 0xA1, 0x01, 0x99, 0x01, 0xF5] + [UInt8](repeating: 0x60, count: 501), .invalidLength),
    ("a slot with a key of one byte", [0x6B, 0xA2, 0x00, 0x41, 0x61, 0x01, 0xA0], .invalidLength),
    ("a counter without a change", [0x6F], .missingParameter),
    ("a counter with a change that does not exist", [0x6F, 0xA1, 0x01, 0x04], .invalidParameter),
    ("a counter without an auth value", [0x6F, 0xA1, 0x01, 0x01], .missingParameter),
    ("a counter with a short auth value", [0x6F, 0xA2, 0x00, 0x41, 0x61, 0x01, 0x01], .invalidLength),
    (
      "an auth value for no counter",
      [0x6F, 0xA2, 0x00, 0x58, 0x20] + [UInt8](repeating: 1, count: 32) + [0x01, 0x02], .invalidParameter
    ),
    (
      "a counter without an index",
      [0x6F, 0xA3, 0x00, 0x58, 0x20] + [UInt8](repeating: 1, count: 32) + [0x01, 0x01, 0x03, 0x00], .missingParameter
    ),
    (
      "a counter with an index of 33 bits",
      [0x6F, 0xA4, 0x00, 0x58, 0x20] + [UInt8](repeating: 1, count: 32)
        + [0x01, 0x01, 0x02, 0x1B, 0, 0, 0, 1, 0, 0, 0, 0, 0x03, 0x00], .invalidParameter
    ),
    ("a backup without an offset", [0x70], .missingParameter),
    ("a backup at a negative offset", [0x70, 0xA1, 0x01, 0x20], .unexpectedType),
    ("a fragment without a size", [0x71, 0xA2, 0x01, 0x00, 0x03, 0x41, 0x00], .missingParameter),
    ("a fragment without an offset", [0x71, 0xA2, 0x02, 0x01, 0x03, 0x41, 0x00], .missingParameter),
    ("a fragment without bytes", [0x71, 0xA2, 0x01, 0x00, 0x02, 0x01], .missingParameter),
    ("a fragment that is a text", [0x71, 0xA3, 0x01, 0x00, 0x02, 0x01, 0x03, 0x61, 0x61], .unexpectedType),
    ("a comparison that is a number", [0x71, 0xA4, 0x01, 0, 0x02, 1, 0x03, 0x41, 0, 0x04, 0x01], .unexpectedType),
    ("a fragment of passkeys without a size", [0x74, 0xA2, 0x00, 0x41, 0x00, 0x01, 0x00], .missingParameter),
    ("a fragment of passkeys without bytes", [0x74, 0xA2, 0x01, 0x00, 0x02, 0x01], .missingParameter),
    ("a fragment of passkeys that is a text", [0x74, 0xA3, 0, 0x61, 0x61, 1, 0, 2, 1], .unexpectedType),
    ("a fragment of passkeys at a negative offset", [0x74, 0xA3, 0, 0x41, 0, 1, 0x20, 2, 1], .unexpectedType),
    ("digests without a challenge", [0x72], .missingParameter),
    ("digests with a challenge of 31 bytes", [0x72, 0xA1, 0x01, 0x58, 31] + Array(0..<31), .invalidLength),
    (
      "digests after a tag of one byte", [0x72, 0xA2, 0x01, 0x58, 0x20] + Array(0..<32) + [0x02, 0x41, 0x00],
      .invalidLength
    ),
    (
      "digests after a number", [0x72, 0xA2, 0x01, 0x58, 0x20] + Array(0..<32) + [0x02, 0x00], .unexpectedType
    ),
    ("no PIN at all", [0x5C], .missingParameter),
    ("a PIN that is a text", [0x5C, 0xA1, 0x00, 0x61, 0x31], .unexpectedType),
    ("a PIN of no bytes", [0x5C, 0xA1, 0x00, 0x40], .invalidLength),
    ("settings without a change", [0x5F], .missingParameter),
    ("settings that are not to be changed", [0x5F, 0xA1, 0x04, 0xF4], .missingParameter),
    ("alwaysUv that is a number", [0x5F, 0xA1, 0x01, 0x01], .unexpectedType),
    ("a site that is a number", [0x5F, 0xA1, 0x03, 0x81, 0x01], .unexpectedType),
    ("large blobs that are not there", [0x60], .missingParameter),
    ("large blobs that are a text", [0x60, 0xA1, 0x01, 0x60], .unexpectedType),
    ("large blobs in the place of a text", [0x60, 0xA2, 0x01, 0x40, 0x02, 0x60], .unexpectedType),
    ("hello without a version", [0x50], .missingParameter),
    ("hello with an empty map", [0x50, 0xA0], .missingParameter),
    ("hello with a text", [0x50, 0xA1, 0x01, 0x61, 0x31], .unexpectedType),
    ("hello that is no map", [0x50, 0x01], .invalidCBOR),
    ("hello with a key twice", [0x50, 0xA2, 0x01, 0x01, 0x01, 0x01], .invalidCBOR),
    ("hello with a number in more bytes than needed", [0x50, 0xA1, 0x01, 0x18, 0x01], .invalidCBOR),
    ("status with half a map", [0x51, 0xA1], .invalidCBOR),
    ("unlock without a passphrase", [0x53], .missingParameter),
    ("unlock with another member only", [0x53, 0xA1, 0x01, 0x41, 0x61], .missingParameter),
    ("unlock with a text", [0x53, 0xA1, 0x00, 0x61, 0x61], .unexpectedType),
    (
      "recover with an rp.id that is too long",
      [0x58, 0xA5, 0x01, 0x79, 0x07, 0x09] + [UInt8](repeating: 0x61, count: 1_801)
        + [0x02, 0x41, 0x07, 0x03, 0x00, 0x04, 0x26, 0x05, 0x01], .invalidLength
    ),
    ("unlock with an empty passphrase", [0x53, 0xA1, 0x00, 0x40], .invalidLength),
    (
      "unlock with a passphrase of 257 bytes",
      [0x53, 0xA1, 0x00, 0x59, 0x01, 0x01] + [UInt8](repeating: 0x78, count: 257), .invalidLength
    ),
    ("unlock with a length in four bytes", [0x53, 0xA1, 0x00, 0x5A, 0, 0, 0, 1, 0x61], .invalidLength),
    ("unlock with an indefinite length", [0x53, 0xA1, 0x00, 0x5F, 0x41, 0x61, 0xFF], .invalidLength),
    ("unlock with a length in more bytes than needed", [0x53, 0xA1, 0x00, 0x58, 0x01, 0x61], .invalidCBOR),
    ("unlock with a length in two bytes where one is enough", [0x53, 0xA1, 0x00, 0x59, 0x00, 0x18], .invalidCBOR),
    ("unlock with a passphrase that is cut off", [0x53, 0xA1, 0x00, 0x42, 0x61], .invalidCBOR),
    ("unlock with a length that is cut off", [0x53, 0xA1, 0x00, 0x59, 0x01], .invalidCBOR),
    ("passkeys without a fragment", [0x74, 0xA2, 1, 0, 2, 1], .missingParameter),
    ("passkeys in an empty fragment", [0x74, 0xA3, 0, 0x40, 1, 0, 2, 1], .invalidLength),
    ("passkeys in a fragment that is no bytes", [0x74, 0xA3, 0, 0x01, 1, 0, 2, 1], .unexpectedType),
    ("passkeys in a fragment of 131073 bytes", [0x74, 0xA1, 0, 0x5A, 0, 2, 0, 1], .invalidLength),
    ("passkeys in a fragment whose length is too long", [0x74, 0xA1, 0, 0x5A, 0, 0, 0xFF, 0xFF], .invalidCBOR),
    ("passkeys in a fragment whose length is cut off", [0x74, 0xA1, 0, 0x5A, 0, 1], .invalidCBOR),
    ("unlock with the passphrase behind another member", [0x53, 0xA2, 0x01, 0x01, 0x00, 0x41, 0x61], .invalidCBOR),
    ("unlock with the passphrase twice", [0x53, 0xA2, 0x00, 0x41, 0x61, 0x00, 0x41, 0x61], .invalidCBOR),
    ("a page before a text", [0x54, 0xA1, 0x01, 0x60], .unexpectedType),
    ("show without an id", [0x55, 0xA1, 0x01, 0x61, 0x61], .missingParameter),
    ("show with an rp.id that is no text", [0x55, 0xA2, 0x01, 0x41, 0x61, 0x02, 0x40], .unexpectedType),
    ("show with an rp.id that is not UTF-8", [0x55, 0xA2, 0x01, 0x61, 0xFF, 0x02, 0x40], .invalidCBOR),
    ("rename without a name", [0x56, 0xA2] + referenceMembers, .missingParameter),
    (
      "rename with a name of 256 bytes",
      [0x56, 0xA3] + referenceMembers + [0x03, 0x79, 0x01, 0x00] + [UInt8](repeating: 0x61, count: 256), .invalidLength
    ),
    ("device without an action", [0x5B], .missingParameter),
    ("device with an action that does not exist", [0x5B, 0xA1, 0x01, 0x00], .invalidParameter),
    ("device with another", [0x5B, 0xA1, 0x01, 0x06], .invalidParameter),
  ]

  // Holds: CONTROL-1
  @Test(arguments: malformed)
  func `a malformed request is refused with its status`(_ name: String, _ packet: [UInt8], _ status: ControlStatus) {
    #expect(throws: ControlFailure(status, "")) { try decode(packet) }
  }

  static let recoveries: [(String, CBORMap, ControlStatus)] = [
    ("an empty rp.id", [1: "", 2: .bytes([7]), 3: 0, 4: -7, 5: 1], .invalidParameter),
    ("an empty user handle", [1: "a", 2: .bytes([]), 3: 0, 4: -7, 5: 1], .invalidLength),
    (
      "a user handle of 65 bytes", [1: "a", 2: .bytes(.init(repeating: 0, count: 65)), 3: 0, 4: -7, 5: 1],
      .invalidLength
    ),
    ("a counter of 33 bits", [1: "a", 2: .bytes([7]), 3: 0x1_0000_0000, 4: -7, 5: 1], .invalidParameter),
    ("an algorithm that we do not have", [1: "a", 2: .bytes([7]), 3: 0, 4: -257, 5: 1], .invalidParameter),
    ("credProtect 0", [1: "a", 2: .bytes([7]), 3: 0, 4: -7, 5: 0], .invalidParameter),
    ("credProtect 4", [1: "a", 2: .bytes([7]), 3: 0, 4: -7, 5: 4], .invalidParameter),
    ("no counter", [1: "a", 2: .bytes([7]), 4: -7, 5: 1], .missingParameter),
  ]

  /// Requests of a wallet, each with a fault; `long` is one byte longer than the limit.
  static let walletFaults: [(String, UInt8, CBORMap, ControlStatus)] = [
    ("a passkey of no site", 0x62, [:], .missingParameter),
    ("a passkey of a site without a name", 0x62, [1: ""], .invalidLength),
    ("a passkey of a site with a long name", 0x62, [1: long(255)], .invalidLength),
    ("a passkey of bytes", 0x62, [1: .bytes([1])], .unexpectedType),
    ("a passkey for a host without a name", 0x62, [1: "a", 2: ""], .invalidLength),
    ("a passkey for a host with a long name", 0x62, [1: "a", 2: long(255)], .invalidLength),
    ("a passkey for a host of bytes", 0x62, [1: "a", 2: .bytes([1])], .unexpectedType),
    ("no transactions", 0x63, [2: "o"], .missingParameter),
    ("an empty group", 0x63, [1: [], 2: "o"], .invalidLength),
    ("17 transactions", 0x63, [1: .array(.init(repeating: item, count: 17)), 2: "o"], .invalidLength),
    ("transactions of nobody", 0x63, [1: [item]], .missingParameter),
    ("transactions of an origin without a name", 0x63, [1: [item], 2: ""], .invalidLength),
    ("transactions of a long origin", 0x63, [1: [item], 2: long(300)], .invalidLength),
    ("transactions of which none is to be signed", 0x63, [1: [[.bytes([]), false]], 2: "o"], .invalidParameter),
    ("a transaction that is no list", 0x63, [1: [.bytes([])], 2: "o"], .unexpectedType),
    ("a transaction that is a text", 0x63, [1: [["", true]], 2: "o"], .unexpectedType),
    ("a transaction that does not say whether to sign", 0x63, [1: [[.bytes([])]], 2: "o"], .unexpectedType),
    ("a transaction with a number for a bool", 0x63, [1: [[.bytes([]), 1]], 2: "o"], .unexpectedType),
    ("a signer that is no text", 0x63, [1: [[.bytes([]), true, 1]], 2: "o"], .unexpectedType),
    ("a transaction of four elements", 0x63, [1: [[.bytes([]), true, "", ""]], 2: "o"], .unexpectedType),
    ("an empty message", 0x64, [1: .bytes([]), 2: "o"], .invalidLength),
    (
      "a message of 1025 bytes", 0x64, [1: .bytes(.init(repeating: 0x61, count: 1025)), 2: "o"],
      .invalidLength
    ),
    ("a message that is a text", 0x64, [1: "hi", 2: "o"], .unexpectedType),
    ("a message of nobody", 0x64, [1: .bytes([0x61])], .missingParameter),
    ("addresses without a number", 0x65, [1: 0, 3: 0], .missingParameter),
    ("addresses of no account", 0x65, [1: 0, 2: 1], .missingParameter),
    ("addresses from nowhere on", 0x65, [2: 1, 3: 0], .missingParameter),
    ("no addresses", 0x65, [1: 0, 2: 0, 3: 0], .invalidParameter),
    ("33 addresses", 0x65, [1: 0, 2: 33, 3: 0], .invalidParameter),
    ("addresses whose index would be hardened", 0x65, [1: 0x7FFF_FFFF, 2: 2, 3: 0], .invalidParameter),
    ("addresses whose last index is beyond 32 bits", 0x65, [1: 0xFFFF_FFFF, 2: 32, 3: 0], .invalidParameter),
    ("addresses beyond 32 bits", 0x65, [1: 0x1_0000_0000, 2: 1, 3: 0], .invalidParameter),
    ("addresses of an account that is hardened", 0x65, [1: 0, 2: 1, 3: 0x8000_0000], .invalidParameter),
    ("addresses of an account beyond 32 bits", 0x65, [1: 0, 2: 1, 3: 0x1_0000_0000], .invalidParameter),
    ("addresses of an account below 0", 0x65, [1: 0, 2: 1, 3: -1], .unexpectedType),
    ("addresses of an account that is a text", 0x65, [1: 0, 2: 1, 3: "1"], .unexpectedType),
    ("an association key of nobody", 0x66, [:], .missingParameter),
    ("an association key of an empty user", 0x66, [1: ""], .invalidLength),
    ("an association key of a long user", 0x66, [1: long(256)], .invalidLength),
    ("an association without data", 0x67, [1: "al", 3: "s"], .missingParameter),
    ("an association of no data", 0x67, [1: "al", 2: .bytes([]), 3: "s"], .invalidLength),
    (
      "an association of 257 bytes", 0x67, [1: "al", 2: .bytes(.init(repeating: 0x61, count: 257)), 3: "s"],
      .invalidLength
    ),
    ("an association of a line end", 0x67, [1: "al", 2: .bytes([0x61, 0x0A]), 3: "s"], .invalidParameter),
    ("an association of a letter beyond ASCII", 0x67, [1: "al", 2: .bytes([0xC3, 0xA9]), 3: "s"], .invalidParameter),
    ("an association with nobody", 0x67, [1: "al", 2: .bytes([0x61])], .missingParameter),
    ("an association with a long service", 0x67, [1: "al", 2: .bytes([0x61]), 3: long(300)], .invalidLength),
    ("a pairing of an origin without a name", 0x90, [0: .bytes([1]), 1: "", 2: "r", 3: "p"], .invalidLength),
    ("a pairing of a long origin", 0x90, [0: .bytes([1]), 1: long(300), 2: "r", 3: "p"], .invalidLength),
    ("a pairing of a long site", 0x90, [0: .bytes([1]), 1: "o", 2: long(300), 3: "p"], .invalidLength),
    ("a pairing with a long id", 0x90, [0: .bytes([1]), 1: "o", 2: "r", 3: long(128)], .invalidLength),
    ("a pairing with a long path", 0x90, [0: .bytes([1]), 1: "o", 2: "r", 3: "p", 4: long(255)], .invalidLength),
    ("a pairing with an empty path", 0x90, [0: .bytes([1]), 1: "o", 2: "r", 3: "p", 4: ""], .invalidLength),
    ("a pairing with no site", 0x91, [:], .missingParameter),
    ("a pairing with a long site", 0x91, [1: long(300)], .invalidLength),
    ("transactions that are shown by a number", 0x63, [1: [item], 2: "o", 3: 1], .unexpectedType),
  ]

  private static let item: CBORValue = [.bytes([]), true]
  private static func long(_ limit: Int) -> CBORValue { .text(String(repeating: "x", count: limit + 1)) }

  // Holds: WALLET-1, WALLET-16
  @Test(arguments: walletFaults)
  func `a wallet request with a fault is refused`(
    _ name: String, _ command: UInt8, _ members: CBORMap, _ status: ControlStatus
  ) {
    #expect(throws: ControlFailure(status, "")) { try decode([command] + members.packet) }
  }

  /// The same limits, reached but not exceeded.
  static let walletLimits: [(String, UInt8, CBORMap)] = [
    ("a site's name", 0x62, [1: .text(String(repeating: "x", count: 255))]),
    (
      "16 transactions", 0x63,
      [1: .array(.init(repeating: item, count: 16)), 2: .text(String(repeating: "x", count: 300))]
    ),
    ("a message", 0x64, [1: .bytes(.init(repeating: 0x61, count: 1024)), 2: "o"]),
    ("the last address of the last account", 0x65, [1: 0x7FFF_FFFF, 2: 1, 3: 0x7FFF_FFFF]),
    ("a user", 0x66, [1: .text(String(repeating: "x", count: 256))]),
    (
      "a pairing", 0x90,
      [
        0: .bytes(.init(repeating: 0x63, count: 1024)), 1: .text(String(repeating: "x", count: 300)),
        2: .text(String(repeating: "x", count: 300)), 3: .text(String(repeating: "x", count: 128)),
      ]
    ),
    (
      "data", 0x67,
      [1: "al", 2: .bytes(.init(repeating: 0x7E, count: 256)), 3: .text(String(repeating: "x", count: 300))]
    ),
  ]

  // Holds: WALLET-1
  @Test(arguments: walletLimits)
  func `a wallet request at its limits is accepted`(_ name: String, _ command: UInt8, _ members: CBORMap) throws {
    #expect(try decode([command] + members.packet).encoded.bytes == [command] + members.packet)
  }

  @Test(arguments: recoveries)
  func `a recovery with a member out of range is refused`(_ name: String, _ members: CBORMap, _ status: ControlStatus) {
    #expect(throws: ControlFailure(status, "")) { try decode([0x58] + CBOREncoder.encode(.map(members))) }
  }
}

/// The commands of the cases; the authenticator has its own table of the commands that it serves.
private let commands = ControlCommandTests.cases.map { type(of: $0.request) }

private func decode(_ packet: [UInt8]) throws(ControlFailure) -> any ControlCommand {
  try locked(packet).withUnsafeBytes { bytes throws(ControlFailure) in
    let code = try ControlMessage.command(of: bytes)
    guard let command = commands.first(where: { $0.code == code }) else { throw ControlFailure(.invalidCommand, "") }
    return try command.init(decoding: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
  }
}

func locked(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }

func secret(_ text: String) -> SecretBytes { locked(Array(text.utf8)) }

extension CBORMap {
  fileprivate var packet: [UInt8] { isEmpty ? [] : CBOREncoder.encode(.map(self)) }
}

extension SecretBytes {
  var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
