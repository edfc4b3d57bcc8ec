import CBOR
import ControlProtocol
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

  static let status = AuthenticatorStatus(
    processID: 258, vault: .unlocked, transport: "uhid", attached: true, node: "/dev/hidraw0", access: "you",
    verification: "none", prompt: "tty", fingerprint: [1, 2, 3, 4], waiting: true, problems: ["p"],
    stateDirectory: "/s", credentials: 3, steppedAsideFor: "h", algorandSignatures: 4, associationSignatures: 300,
    hasReaders: true, unlockedBy: "k", counter: 9, defaultPolicy: 2)

  @Test func `an answer without members is its status byte`() throws {
    #expect(Done().encoded == [0x00])
    #expect(try Done(decoding: [0x00]) == Done())
    #expect(try Done(decoding: [0x00, 0xA1, 0x09, 0xF5]) == Done())  // members that it does not know are ignored
  }

  @Test func `the answer to hello has the version and the process id`() throws {
    let packet: [UInt8] = [0x00, 0xA2, 0x01, 0x04, 0x02, 0x19, 0x01, 0x02]
    #expect(Hello.Answer(processID: 258).encoded == packet)
    #expect(try Hello.Answer(decoding: packet) == Hello.Answer(version: 4, processID: 258))
  }

  @Test func `the answer to an accepted store has the number of entries of its history`() throws {
    let packet: [UInt8] = [0x00, 0xA1, 0x01, 0x19, 0x01, 0x02]
    #expect(AcceptStore.Answer(entries: 258).encoded == packet)
    #expect(try AcceptStore.Answer(decoding: packet) == AcceptStore.Answer(entries: 258))
    for malformed in [[0x00], [0x00, 0xA1, 0x01, 0x20], [0x00, 0xA1, 0x01, 0xF5]] as [[UInt8]] {
      #expect(throws: ControlFailure.self) { try AcceptStore.Answer(decoding: malformed) }
    }
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
    let page = ListHistory.Answer(
      entries: [
        HistoryDescription(number: 7, content: content), HistoryDescription(number: 8, content: nameless),
        HistoryDescription(number: -1, content: nil),
      ], next: 8)
    let packet: [UInt8] = [
      0x00, 0xA2, 0x01, 0x83, 0xA6, 0x01, 0x07, 0x02, 0x05, 0x03, 0x02, 0x04, 0x01, 0x05, 0x03, 0x06, 0x61, 0x61,
      0xA5, 0x01, 0x08, 0x02, 0x05, 0x03, 0x02, 0x04, 0x01, 0x05, 0x03, 0xA1, 0x01, 0x20, 0x02, 0x08,
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

  @Test func `a page is a list and the start of the next page`() throws {
    var listed = Self.credential
    listed.publicKey = nil
    let last: [UInt8] = [0x00, 0xA1, 0x01, 0x81, 0xAA] + Self.credentialMembers
    #expect(ListCredentials.Answer(credentials: [listed]).encoded == last)
    #expect(try ListCredentials.Answer(decoding: last) == ListCredentials.Answer(credentials: [listed]))
    let first: [UInt8] = [0x00, 0xA2, 0x01, 0x80, 0x02, 0x05]
    #expect(ListCredentials.Answer(credentials: [], next: 5).encoded == first)
    #expect(try ListCredentials.Answer(decoding: first) == ListCredentials.Answer(credentials: [], next: 5))
  }

  @Test(arguments: [0, 1, 7, 700, 10_000])
  func `the pages have every credential once, in order, and each fits one message`(_ count: Int) throws {
    let all = (0..<count).map { number in
      var credential = Self.credential
      credential.counter = UInt32(number)
      credential.name = String(repeating: "n", count: number % 300)
      return credential
    }
    var seen: [CredentialDescription] = []
    var start: UInt64? = 0
    while let position = start {
      let page = ListCredentials.Answer(of: all, start: position)
      #expect(page.encoded.count <= ControlMessage.maximumSize)
      seen += page.credentials
      start = try ListCredentials.Answer(decoding: page.encoded).next
    }
    #expect(seen == all)
  }

  @Test(arguments: [1, 7, UInt64.max])
  func `a page that starts after the end is empty and the last`(_ start: UInt64) {
    #expect(ListCredentials.Answer(of: [Self.credential], start: start) == ListCredentials.Answer(credentials: []))
  }

  @Test func `status has its exact bytes`() throws {
    var packet: [UInt8] = [0x00, 0xB4, 0x01, 0x19, 0x01, 0x02, 0x02, 0x02, 0x03, 0x64]
    packet += Array("uhid".utf8) + [0x04, 0xF5, 0x05, 0x6C]
    packet += Array("/dev/hidraw0".utf8) + [0x06, 0x63] + Array("you".utf8) + [0x07, 0x64] + Array("none".utf8)
    packet += [0x08, 0x63] + Array("tty".utf8) + [0x09, 0x44, 1, 2, 3, 4]
    packet += [0x0A, 0xF5, 0x0B, 0x81, 0x61, 0x70, 0x0C, 0x62]
    packet += Array("/s".utf8) + [0x0D, 0x03, 0x0E, 0x61, 0x68, 0x0F, 0x04, 0x10, 0x19, 0x01, 0x2C, 0x11, 0xF5]
    packet += [0x13, 0x61, 0x6B, 0x14, 0x09, 0x15, 0x02]
    #expect(Self.status.encoded == packet)
    #expect(try AuthenticatorStatus(decoding: packet) == Self.status)
  }

  @Test func `the status of a locked, detached device leaves out unknown members`() throws {
    let status = AuthenticatorStatus(
      processID: 1, vault: .locked, transport: "pty", attached: false, verification: "passphrase", prompt: "pinentry",
      stateDirectory: "/s")
    #expect(try AuthenticatorStatus(decoding: status.encoded) == status)
    #expect(status.members.pairs.map(\.key) == [1, 2, 3, 4, 7, 8, 10, 11, 12, 15, 16])
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

  @Test(arguments: ControlAnswerTests.status.members.pairs.map(\.key))
  func `every member of a status has its own type`(_ key: CBORValue) {
    var members = Self.status.members
    members[key] = .map([:])
    #expect(throws: ControlFailure(.unexpectedType, "")) { try AuthenticatorStatus(members) }
  }

  @Test func `an unknown condition of the vault is refused`() {
    var members = Self.status.members
    members[2] = 4
    #expect(throws: ControlFailure(.invalidParameter, "")) { try AuthenticatorStatus(members) }
  }
}
