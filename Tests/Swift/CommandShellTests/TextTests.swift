import ControlProtocol
import DisplayText
import Foundation
import Testing

@testable import liquid_auth

@Suite struct TextTests {
  // Holds: INPUT-21
  @Test(arguments: [
    ("example.com", "example.com"),
    ("用户 é", "用户 é"),
    ("a\nb", "a\\u{A}b"),
    ("\u{1B}[31mred", "\\u{1B}[31mred"),
    ("\u{9B}K", "\\u{9B}K"),
    ("moc.\u{202E}evil", "moc.\\u{202E}evil"),
    ("zero\u{200B}width", "zero\\u{200B}width"),
    ("\u{2029}\u{E000}\u{378}", "\\u{2029}\\u{E000}\\u{378}"),
  ])
  func `characters that act on a terminal are escaped`(_ text: String, _ shown: String) {
    #expect(text.printable == shown)
  }

  // Holds: RECORD-1
  @Test func `the history is a table, in which an entry that does not open says so`() {
    let content = HistoryDescription.Content(time: 0, kind: 2, outcome: 1, verification: 3, site: "a\u{1B}b")
    let unknown = HistoryDescription.Content(time: 1000, kind: 99, outcome: 98, verification: 97, site: nil)
    let elsewhere = HistoryDescription.Content(
      time: 2000, kind: 1, outcome: 1, verification: 1, site: "c.example", door: 1)
    let entries = [
      HistoryDescription(number: 1, content: content), HistoryDescription(number: 2, content: nil),
      HistoryDescription(number: 3, content: unknown), HistoryDescription(number: 4, content: elsewhere),
    ]
    let lines = HistoryText.list(entries, isUTC: true).split(separator: "\n")
      .map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "NUMBER TIME KIND OUTCOME VERIFIED BY SITE", "1 1970-01-01 00:00:00 UTC sign-in done token a\\u{1B}b",
        "2 changed outside liquid-auth; see: liquid-auth log verify", "3 1970-01-01 00:00:01 UTC 99 98 97 -",
        "4 1970-01-01 00:00:02 UTC register done passphrase c.example (another computer, by QR code)",
      ])
    #expect(HistoryText.list([], isUTC: true) == "no entries")
    #expect(HistoryText.list([], of: "a\u{1B}b", isUTC: true) == "no entries of a\\u{1B}b")
    #expect(
      entries[0].json == [
        "number": .number(1), "time": .number(0), "kind": .string("sign-in"), "outcome": .string("done"),
        "verification": .string("token"), "site": .string("a\u{1B}b"),
      ])
    #expect(entries[1].json == ["number": .number(2), "changed": .bool(true)])
    #expect(
      entries[3].json == [
        "number": .number(4), "time": .number(2000), "kind": .string("register"), "outcome": .string("done"),
        "verification": .string("passphrase"), "site": .string("c.example"), "door": .string("qr-code"),
      ])
  }

  // Holds: POLICY-7
  @Test func `policies are shown as a table, with unknown numbers and problems`() {
    let list = PolicyList(
      others: 0, sites: [.init(site: "a\u{1B}b", policy: 2), .init(site: "github.com", policy: 1)])
    var report = PolicyReport(list, of: nil)
    #expect(
      report.text == """
        SITE              POLICY
        a\\u{1B}b          deny
        github.com        always-verify
        every other site  allow
        """)
    #expect(report.verifies && !PolicyReport(list, of: "a").verifies)
    report.problems = ["set a PIN"]
    #expect(report.text.hasSuffix("\n\nto do\n- set a PIN"))
    #expect(PolicyReport(list, of: "github.com").text == "SITE        POLICY\ngithub.com  always-verify")
    #expect(PolicyReport(list, of: "x.example").text == "SITE       POLICY\nx.example  allow (by default)")
    #expect(
      PolicyReport(list, of: "x.example").json == [
        "site": .string("x.example"), "policy": .string("allow"), "default": .string("allow"), "sites": [],
        "problems": [],
      ])
    // The policy of a domain also applies to its AppID without a path, and the strictest one counts.
    let both = PolicyList(
      others: 0, sites: [.init(site: "github.com", policy: 2), .init(site: "https://github.com", policy: 1)])
    let app = PolicyReport(both, of: "https://github.com")
    #expect(app.text == "SITE                POLICY\ngithub.com          deny\nhttps://github.com  always-verify")
    #expect(app.json.description.contains(#""policy": "deny""#))
    #expect(PolicyReport(both, of: "github.com").text == "SITE        POLICY\ngithub.com  deny")
    #expect(
      PolicyReport(both, of: "https://github.com/").text
        == "SITE                 POLICY\nhttps://github.com/  allow (by default)")
    let unknown = PolicyReport(PolicyList(others: 9, sites: []), of: nil)
    #expect(unknown.text == "SITE        POLICY\nevery site  9")
    #expect(unknown.json == ["default": .string("9"), "sites": [], "problems": []])
    #expect(
      PolicyReport(list, of: "github.com").json == [
        "site": .string("github.com"), "policy": .string("always-verify"), "default": .string("allow"),
        "sites": [["site": .string("github.com"), "policy": .string("always-verify")]], "problems": [],
      ])
  }

  // Holds: RECORD-3
  @Test func `the command names the first ten faults of the history, and the remedy for its place`() {
    let faults = (1...12).map { "entry \($0) was changed" }
    var place = PlaceOptions()
    (place.stateDir, place.control) = ("/s", nil)
    let many = CheckHistory.Answer(count: 0, first: nil, last: nil, faults: faults)
    let text = HistoryText.faults(many, at: place)
    #expect(text.contains("entry 10 was changed, and 2 more; ") && !text.contains("entry 11"))
    let hostile = CheckHistory.Answer(count: 1, first: 0, last: 0, faults: ["entry 7\u{1B}[2J\nwas changed"])
    for text in [HistoryText.warning(hostile), HistoryText.faults(hostile, at: place)] {
      #expect(text.contains("entry 7\\u{1B}[2J\\nwas changed") || text.contains("entry 7\\u{1B}[2J\\u{A}was changed"))
      #expect(!text.contains("\u{1B}"))
    }
    let missing = CheckHistory.Answer(count: 2, first: 0, last: 0, faults: ["entry 7 is missing"])
    #expect(
      CommandFailure(HistoryText.faults(missing, at: place)).completed(by: place).description
        == "the history was modified outside liquid-auth: entry 7 is missing; put a good copy of the store back, or accept "
        + "this one: run liquid-auth lock --state-dir /s, then liquid-auth recover --accept-store --state-dir /s")
    #expect(
      HistoryText.warning(missing)
        == "the history was modified outside liquid-auth: entry 7 is missing; see: liquid-auth log verify")
    let one = CheckHistory.Answer(count: 1, first: 0, last: 0, faults: [])
    #expect(
      HistoryText.whole(one)
        == "1 entry, from 1970-01-01 00:00:00 UTC to 1970-01-01 00:00:00 UTC; the history is intact")
    #expect(
      HistoryText.whole(CheckHistory.Answer(count: 0, first: nil, last: nil, faults: []))
        == "no entries; the history is intact")
  }

  @Test(
    arguments: [
      ("a.example", "a.example", true), ("https://a.example", "a.example", true), ("a.example", "b.example", false),
      ("https://a.example", "https://a.example", true), ("https://a.example:8443", "a.example", false),
      ("https://a.example:8443", "a.example:8443", true), ("http://localhost:3000", "http://localhost:3000", true),
      ("BÜCHER.example", "BÜCHER.example", true), ("bu\u{308}cher.example", "bücher.example", false),
      ("a.example", "A.Example", true), ("https://a.example", "A.Example", true), ("ssh:Work", "ssh:work", false),
      ("http://localhost", "localhost", false), ("a.example", "example", false), (nil, "a.example", false),
    ] as [(String?, String, Bool)])
  func `an entry is of a site by its name or its origin`(_ own: String?, _ site: String, _ isOf: Bool) {
    let content = HistoryDescription.Content(time: 0, kind: 2, outcome: 1, verification: 0, site: own)
    #expect(HistoryDescription(number: 1, content: content).isOf(site) == isOf)
    #expect(!HistoryDescription(number: 1, content: nil).isOf(site))
  }

  @Test func `the columns of a table are aligned`() {
    #expect(table([["a", "bb", "c"], ["aaaa", "b", ""]]) == "a     bb  c\naaaa  b   ")
    #expect(table([]) == "")
  }

  @Test(arguments: [("", []), ("00fF", [0x00, 0xFF]), ("a0B1", [0xA0, 0xB1])] as [(String, [UInt8])])
  func `hexadecimal digits are read in upper and lower case`(_ text: String, _ bytes: [UInt8]) {
    #expect([UInt8](hexadecimal: text) == bytes)
    #expect(bytes.hexadecimal == text.lowercased())
  }

  @Test(arguments: ["0", "0g", "0x00", " 00", "00 ", "００", "-1"])
  func `other texts are not hexadecimal`(_ text: String) {
    #expect([UInt8](hexadecimal: text) == nil)
  }

  @Test(
    arguments: [
      0, 1_000, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 1_700_000_000_000, 1_795_219_200_000,
      253_402_300_799_999,
    ] as [UInt64])
  func `a time matches the calendar's`(_ milliseconds: UInt64) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss 'UTC'"
    let expected = formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds / 1000)))
    #expect(UTCTime(milliseconds: milliseconds).text == expected)
    #expect(UTCTime(milliseconds: milliseconds).date == String(expected.prefix(10)))
  }

  @Test func `days from 1970 to 2400 have the right dates`() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    for day in stride(from: 0, to: 157_055, by: 53) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = calendar.dateComponents([.year, .month, .day], from: date)
      let expected = [parts.year, parts.month, parts.day].map { $0 ?? -1 }
      let found = UTCTime(milliseconds: UInt64(day) * 86_400_000).date.split(separator: "-").map { Int($0) ?? -1 }
      guard found == expected else {
        Issue.record("day \(day) is \(found), not \(expected)")
        return
      }
    }
  }
}

@Suite struct CredentialTextTests {
  static func credential(
    id: [UInt8] = [0x01, 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45], name: String? = nil, displayName: String? = nil
  ) -> CredentialDescription {
    CredentialDescription(
      rpID: "example.com", userID: [0xA1], name: name, displayName: displayName, credentialID: id, algorithm: -7,
      counter: 2, policy: 0b011, created: 1_000, changed: 86_400_000, source: 1)
  }

  @Test func `a list has a line for each passkey`() {
    let list = CredentialText.list([Self.credential(name: "alice", displayName: "Alice"), Self.credential()])
    #expect(
      list == """
        ID            SITE         ACCOUNT         MADE
        01abcdef0123  example.com  alice (Alice)   1970-01-01
        01abcdef0123  example.com  user handle a1  1970-01-01
        """)
    var remembered = Self.credential(name: "carol")
    remembered.dApps = ["https://example.com", "https://a.example.com"]
    #expect(CredentialText.list([remembered]).hasSuffix("carol    1970-01-01, dApp remembered"))
    #expect(
      CredentialText.whole(remembered).hasSuffix(
        """
        source           recovered
        remembered dApp  https://example.com
        remembered dApp  https://a.example.com
        """))
    #expect(remembered.json.description.contains(#""rememberedDApps": ["#))
    var imported = Self.credential(name: "bob")
    imported.source = 2
    #expect(
      CredentialText.list([imported]) == """
        ID            SITE         ACCOUNT  MADE
        01abcdef0123  example.com  bob      1970-01-01, imported
        """)
    #expect(CredentialText.list([]) == "no passkeys are stored on this machine")
  }

  @Test func `one passkey is shown in full`() {
    var credential = Self.credential(name: "alice\u{1B}")
    credential.publicKey = [0xBE, 0xEF]
    #expect(
      CredentialText.whole(credential) == """
        site           example.com
        account        alice\\u{1B}
        user handle    a1
        credential id  01abcdef012345
        algorithm      ES256
        counter        2
        protection     3: used only after verification
        kind           discoverable, hash id: the phrase and `liquid-auth recover` bring it back
        extensions     none
        made           1970-01-01 00:00:01 UTC
        changed        1970-01-02 00:00:00 UTC
        source         recovered
        public key     beef
        """)
  }

  @Test func `the kind shows how a passkey can be restored, and the extensions what it holds`() {
    var credential = Self.credential(id: [UInt8](repeating: 1, count: 127))
    credential.policy = 0b1101
    credential.hasCredBlob = true
    #expect(
      CredentialText.whole(credential).contains(
        """
        kind           discoverable, sealed id: the phrase and the site bring it back
        extensions     largeBlobKey, credBlob, thirdPartyPayment

        """))
    credential.source = 2
    #expect(
      CredentialText.whole(credential).contains("kind           discoverable, imported: only a backup brings it back\n")
    )
    #expect(credential.json.description.contains("\"idForm\": null"))
  }

  @Test func `JSON has every member, with null for absent names`() {
    #expect(
      Self.credential().json.description == """
        {
          "rpId": "example.com",
          "userHandle": "a1",
          "name": null,
          "displayName": null,
          "credentialId": "01abcdef012345",
          "algorithm": -7,
          "counter": 2,
          "credProtect": 3,
          "idForm": "hash",
          "extensions": [],
          "rememberedDApps": [],
          "created": 1000,
          "changed": 86400000,
          "source": "recovered"
        }
        """)
  }

  @Test func `a passkey is found by the first digits of its id`() throws {
    let all = [Self.credential(), Self.credential(id: [0x01, 0xAB, 0xCE]), Self.credential(id: [0xFF, 0x00, 0x00])]
    #expect(try CredentialsCommand.find(CredentialsCommand.digits("01ABcd"), among: all) == all[0])
    #expect(try CredentialsCommand.find("ff00", among: all) == all[2])
  }

  @Test func `a passkey is searched for by the authenticator, which sends no other`() throws {
    let all = (0..<10_000).map { Self.credential(id: [0x01, UInt8($0 >> 8), UInt8($0 & 0xFF)]) }
    var (asked, sent) = (0, 0)
    let found = try ListCredentials(digits: "0112").allPages { (request) throws(CommandFailure) in
      let page = ListCredentials.Answer(to: request) { take in
        for (number, credential) in all.enumerated() {
          let place = Int64(all.count - number)
          guard place < request.before ?? .max else { continue }
          guard take(credential, place) else { return }
        }
      }
      (asked, sent) = (asked + 1, sent + page.credentials.count)
      return page
    }
    #expect(found == Array(all[0x1200..<0x1300]))
    #expect(sent == found.count && asked == 3)
  }

  @Test(
    arguments: [
      ("01ab", CommandFailure("2 passkeys have an id that begins with 01ab; give more digits")),
      (
        "0000",
        CommandFailure(
          "no passkey has an id that begins with 0000", hint: "see:", run: ["liquid-auth", "credentials", "list"],
          code: .absent)
      ),
    ])
  func `an id prefix that matches none or several passkeys is refused`(_ digits: String, _ failure: CommandFailure) {
    let all = [Self.credential(), Self.credential(id: [0x01, 0xAB, 0xCE])]
    #expect(throws: failure) { try CredentialsCommand.find(digits, among: all) }
  }

  // Holds: IMPORT-1
  @Test func `an imported and a derived passkey with one id are told apart by an option`() throws {
    var imported = Self.credential(name: "planted")
    imported.source = 2
    let all = [Self.credential(), imported, Self.credential(id: [0x01, 0xAB, 0xCE])]
    let reason = "2 passkeys have the id 01abcdef012345; give --imported or --no-imported"
    for digits in ["01abcd", "01abcdef012345"] {
      #expect(throws: CommandFailure(reason)) { try CredentialsCommand.find(digits, among: all) }
      #expect(try CredentialsCommand.find(digits, among: all, imported: true) == imported)
      #expect(try CredentialsCommand.find(digits, among: all, imported: false) == all[0])
    }
    #expect(throws: CommandFailure("2 passkeys have an id that begins with 01ab; give more digits")) {
      try CredentialsCommand.find("01ab", among: all, imported: false)
    }
    #expect(throws: CommandFailure.self) { try CredentialsCommand.find("01abce", among: all, imported: true) }
    #expect(all.map(\.reference.isImported) == [false, true, false])
  }

  // Holds: IMPORT-8
  @Test func `a whole id names its passkey, also if another id begins with it`() throws {
    let all = [Self.credential(id: [0x01, 0xAB, 0xCD, 0xEF]), Self.credential(id: [0x01, 0xAB])]
    #expect(try CredentialsCommand.find("01ab", among: all) == all[1])
  }
}
