import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import PasskeyFiles

/// Files of other programs: which passkeys they have, and what cannot be imported.
@Suite struct PasskeyFileTests {
  // MARK: - CXF

  private static func cxf(_ items: String, version: String = #"{"major":1,"minor":0}"#) -> String {
    """
    {"version":\(version),"exporterRpId":"manager.example","exporterDisplayName":"Manager","timestamp":1755000000,
     "accounts":[{"id":"AQ","username":"","email":"a@b.example","collections":[],"items":[\(items)]}]}
    """
  }

  private static func passkey(
    _ changes: [String: String?] = [:], extensions: String? = nil
  ) throws -> String {
    var members: [String: String?] = [
      "type": "\"passkey\"", "credentialId": "\"AAECAwQFBgcICQoLDA0ODw\"", "rpId": "\"example.com\"",
      "username": "\"alice\"", "userDisplayName": "\"Alice A.\"", "userHandle": "\"AQI\"",
      "key": "\"\(try Sample.key)\"",
      "fido2Extensions": extensions,
    ]
    members.merge(changes) { $1 }
    return "{"
      + members.sorted { $0.key < $1.key }.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
      .joined(separator: ",") + "}"
  }

  private static func item(_ credentials: String..., title: String = "Example", created: String = "1700000000")
    -> String
  {
    #"{"id":"AQ","creationAt":\#(created),"title":"\#(title)","credentials":[\#(credentials.joined(separator: ","))]}"#
  }

  // Holds: IMPORT-2
  @Test func `passkeys of CXF are read, and items without one are named`() throws {
    let note = #"{"type":"note","content":{"fieldType":"string","value":"x"}}"#
    let second = try Self.passkey(
      ["credentialId": "\"_____________________w\"", "userDisplayName": "\"\"", "username": "\"b\\u00f6b\""],
      extensions:
        #"{"hmacCredentials":{"algorithm":"hmac-sha256","credWithUV":"AA","credWithoutUV":"AA"},"payments":true,"credBlob":"AQID","largeBlob":{"uncompressedSize":1,"data":"AA"}}"#
    )
    let file = try Sample.file(
      Self.cxf(
        Self.item(note, title: "Note") + "," + Self.item(try Self.passkey(), note, second) + ","
          + Self.item(title: "Empty")))
    #expect(file.format == .credentialExchange && file.skipped == [] && file.withoutPasskey == ["Note", "Empty"])
    #expect(
      file.passkeys == [
        .init(item: 2, name: PasskeyName(rpID: "example.com", name: "alice"), losses: []),
        .init(
          item: 2, name: PasskeyName(rpID: "example.com", name: "böb"),
          losses: ["its PRF secret; data that a site encrypted with it cannot be decrypted here", "its large blob"]),
      ])
    let expected = [
      Sample.record(displayName: "Alice A.", id: Array(0...15), created: 1_700_000_000_000),
      Sample.record(
        name: "böb", id: [UInt8](repeating: 0xFF, count: 16), created: 1_700_000_000_000, policy: 9,
        credBlob: [1, 2, 3]),
    ]
    #expect(try Sample.records(file) == expected)
  }

  // Holds: IMPORT-2
  @Test(
    arguments: [
      (["username": nil, "userName": "\"bob\""], "bob"), (["userName": "\"bob\""], "alice"),
      (["username": "null", "userName": "null"], nil),
    ] as [([String: String?], String?)])
  func `the name of a passkey of CXF has the spelling of the standard or of its drafts`(
    changes: [String: String?], name: String?
  ) throws {
    let file = try Sample.file(
      Self.cxf(Self.item(try Self.passkey(changes), try Self.passkey(changes.merging(["rpId": "\"\""]) { $1 }))))
    let expected = Sample.record(
      name: name, displayName: "Alice A.", id: Array(0...15), created: 1_700_000_000_000)
    #expect(try Sample.records(file) == [expected])
    #expect(file.skipped.map(\.name) == [PasskeyName(rpID: "Example", name: name)])
  }

  /// Members of hmacCredentials; the two secrets are those of the example in Recovery §6.
  private static let (algorithm, withoutUV, withUV) = (
    #""algorithm":"hmac-sha256""#, #""credWithoutUV":"BPa6gSP1QMTVOiBOSttVDLheJavlA5Qv_joTeadlUxg""#,
    #""credWithUV":"EUvdXJSX14PhtfRX_RBuUKOFFIltCCEO4MvwXXEE6aw""#
  )
  private static let draft = #""hmacSecret":{"algorithm":"HS256","secret":"AAECAw"}"#

  /// Reads a passkey with these members of fido2Extensions; returns what it lost, and its CredRandoms.
  private static func secrets(_ extensions: String) throws -> (losses: [[String]], credRandoms: [SecretBytes?]) {
    let file = try Sample.file(cxf(item(try passkey(extensions: "{\(extensions)}"))))
    return (file.passkeys.map(\.losses), try Sample.records(file).map(\.credRandoms))
  }

  // Holds: IMPORT-2
  @Test func `the PRF secrets of a passkey of CXF are read as they are`() throws {
    let (algorithm, withoutUV, withUV) = (Self.algorithm, Self.withoutUV, Self.withUV)
    let escaped = algorithm.replacing("h", with: #"\u0068"#)
    let expected = Hex(
      "04f6ba8123f540c4d53a204e4adb550cb85e25abe503942ffe3a1379a7655318"
        + "114bdd5c9497d783e1b5f457fd106e50a38514896d08210ee0cbf05d7104e9ac")
    for extensions in [
      #""hmacCredentials":{\#(algorithm),\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{\#(withoutUV),"other":[{}],\#(algorithm),\#(withUV),"credWithUv":1}"#,
      #""hmacCredentials":{\#(escaped),\#(withUV),\#(withoutUV)},\#(Self.draft)"#,
    ] {
      let (losses, credRandoms) = try Self.secrets(extensions)
      #expect(losses == [[]] && credRandoms.map { $0?.hex } == [expected], "\(extensions)")
    }
  }

  /// The passkey itself is imported.
  // Holds: IMPORT-2
  @Test func `PRF secrets that are left out of a passkey of CXF are named`() throws {
    let (algorithm, withoutUV, withUV) = (Self.algorithm, Self.withoutUV, Self.withUV)
    func replaced(_ value: String) -> String {
      #""hmacCredentials":{\#(algorithm),"credWithUV":\#(value),\#(withoutUV)}"#
    }
    func encoded(_ count: Int) -> String { "\"\(Base64URL.encode([UInt8](repeating: 0xFF, count: count)))\"" }
    let hostile: [String] = [
      #""hmacCredentials":{}"#, #""hmacCredentials":[]"#, #""hmacCredentials":true"#, #""hmacCredentials":"AA""#,
      #""hmacCredentials":{\#(algorithm),\#(withUV)}"#, #""hmacCredentials":{\#(algorithm),\#(withoutUV)}"#,
      #""hmacCredentials":{\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{"algorithm":"HS256",\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{"algorithm":["hmac-sha256"],\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{\#(algorithm),\#(algorithm),\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{\#(algorithm),\#(withUV),\#(withUV),\#(withoutUV)}"#,
      #""hmacCredentials":{\#(algorithm),\#(withUV),\#(withoutUV),"credWithout\u0055V":null}"#,
      Self.draft, #"\#(Self.draft),"hmacCredentials":{}"#, #"\#(Self.draft),"hmacCredentials":null"#,
      replaced(encoded(0)), replaced(encoded(31)), replaced(encoded(33)), replaced(encoded(64)),
      replaced(encoded(1_000_000)), replaced("null"), replaced("1"), replaced("[\(encoded(32))]"),
      // Padding, an unused bit that is not zero, base64, a space, and a text that is not Unicode.
      replaced(#""//////////////////////////////////////////8=""#),
      replaced(#""__________________________________________8=""#),
      replaced(#""___________________________________________""#),
      replaced(#""//////////////////////////////////////////8""#),
      replaced(#"" __________________________________________8""#),
      replaced(#""__________________________________________8\ud800""#),
    ]
    let loss = "its PRF secret; data that a site encrypted with it cannot be decrypted here"
    for extensions in hostile {
      let (losses, credRandoms) = try Self.secrets(extensions)
      #expect(losses == [[loss]] && credRandoms == [nil], "\(extensions.prefix(200))")
    }
    #expect(try Self.secrets(replaced(encoded(32))).losses == [[]], "the same form with 32 bytes is read")
    for none in ["", #""hmacSecret":null"#, #""hmacCredentials":null"#] {
      #expect(try Self.secrets(none).losses == [[]])
    }
    let twice = Self.cxf(Self.item(try Self.passkey(extensions: #"{"hmacCredentials":{},"hmacCredentials":{}}"#)))
    #expect(try Sample.file(twice).skipped.map(\.reason) == ["it has hmacCredentials twice"])
  }

  // Holds: IMPORT-2
  @Test(
    arguments: [
      (["credentialId": nil], "it has no credentialId"), (["credentialId": "1"], "its credentialId is not a text"),
      (["credentialId": "\"\""], "the credential id is empty"),
      (["credentialId": "\"AA==\""], "its credentialId is not base64url without padding"),
      (["credentialId": "\"AB\""], "its credentialId is not base64url without padding"),
      (["credentialId": "\"A+/A\""], "its credentialId is not base64url without padding"),
      (
        ["credentialId": "\"\(String(repeating: "AAAA", count: 43))\""],
        "the credential id has 129 bytes, and can have at most 128"
      ),
      (["credentialId": "\"AAECAwQFBgcICQoLDA0O\""], "the credential id has fewer than 16 bytes"),
      (["rpId": nil], "it has no rpId"), (["rpId": "\"\""], "the site is empty"),
      (["rpId": "\"Example.com\""], "the site is not a domain name in lower case"),
      (["rpId": "\"https://example.com\""], "the site is not a domain name in lower case"),
      (["rpId": "\"example.com \""], "the site is not a domain name in lower case"),
      (["rpId": "\"bücher.example\""], "the site is not a domain name in lower case"),
      (["rpId": "\".example.com\""], "the site is not a domain name in lower case"),
      (["rpId": "\"example..com\""], "the site is not a domain name in lower case"),
      (["rpId": "\"example.com.\""], "the site is not a domain name in lower case"),
      (["rpId": "\"example.com:443\""], "the site is not a domain name in lower case"),
      (["rpId": "\"a_b.example\""], "the site is not a domain name in lower case"),
      (["rpId": "\"\(String(repeating: "é", count: 127))\""], "the site has 254 bytes, and can have at most 253"),
      (["userHandle": "null"], "it has no userHandle"), (["userHandle": "\"\""], "the user handle is empty"),
      (
        ["userHandle": "\"\(String(repeating: "AAAA", count: 22))\""],
        "the user handle has 66 bytes, and can have at most 64"
      ),
      (["username": "\"\(String(repeating: "a", count: 256))\""], "the name has 256 bytes, and can have at most 255"),
      (
        ["userDisplayName": "\"\(String(repeating: "a", count: 256))\""],
        "the display name has 256 bytes, and can have at most 255"
      ),
      (["username": "7"], "a value is not a text"), (["username": "\"\\ud800\""], "a text is not Unicode"),
      (["key": nil], "it has no key"), (["key": "\"AA\""], "its private key is not a valid PKCS #8 structure"),
      (["key": "\"A\""], "its private key is not base64url without padding"),
      (
        ["fido2Extensions": #"{"credBlob":"\#(String(repeating: "AAAA", count: 22))"}"#],
        "the credBlob has 66 bytes, and can have at most 64"
      ),
    ] as [([String: String?], String)])
  func `a passkey of CXF that cannot be imported is named with the reason, and the others are read`(
    changes: [String: String?], reason: String
  ) throws {
    let file = try Sample.file(
      Self.cxf(Self.item(try Self.passkey(changes)) + "," + Self.item(try Self.passkey())))
    #expect(file.skipped.map(\.reason) == [reason] && file.skipped.map(\.item) == [1])
    #expect(try Sample.records(file).map(\.id) == [Array(0...15)] && file.passkeys.map(\.item) == [2])
  }

  // Holds: IMPORT-2
  @Test func `the longest values are imported`() throws {
    let file = try Sample.file(
      Self.cxf(
        Self.item(
          try Self.passkey(
            [
              "credentialId": "\"\(Base64URL.encode([UInt8](repeating: 1, count: 128)))\"",
              "rpId": "\"\(String(repeating: "a", count: 253))\"",
              "userHandle": "\"\(Base64URL.encode([UInt8](repeating: 2, count: 64)))\"",
              "username": "\"\(String(repeating: "b", count: 255))\"",
              "userDisplayName": "\"\(String(repeating: "c", count: 255))\"",
            ], extensions: #"{"credBlob":"\#(Base64URL.encode([UInt8](repeating: 3, count: 64)))"}"#),
          created: "99999999999999")))
    #expect(file.skipped == [])
    let record = try #require(try Sample.records(file).first)
    #expect(
      (record.id.count, record.rpID.utf8.count, record.userID.count, record.created) == (128, 253, 64, Sample.now))
    #expect((record.name?.count, record.displayName?.count, record.credBlob?.count) == (255, 255, 64))
  }

  @Test func `a passkey without a site is named by its item`() throws {
    let file = try Sample.file(Self.cxf(Self.item(try Self.passkey(["rpId": nil, "username": nil]), title: "My item")))
    #expect(file.skipped == [.init(item: 1, name: PasskeyName(rpID: "My item", name: nil), reason: "it has no rpId")])
  }

  /// The published samples of 1Password and Dashlane are such files. The format of Bitwarden has a list `items`, too.
  // Holds: IMPORT-2
  @Test func `an account of CXF without the header is read as one`() throws {
    let account = { (items: String) in #"{"items":[\#(items)],"id":"AQ","username":"a","email":"","collections":[]}"# }
    let (note, passkey) = (Self.item(#"{"type":"note"}"#, title: "Note"), Self.item(try Self.passkey()))
    let file = try Sample.file(account(#"{"title":"Empty"}"# + "," + note + "," + passkey))
    #expect(file.format == .credentialExchange && file.skipped == [] && file.withoutPasskey == ["Empty", "Note"])
    #expect(file.passkeys.map(\.item) == [3])
    #expect(
      try Sample.records(file)
        == [Sample.record(displayName: "Alice A.", id: Array(0...15), created: 1_700_000_000_000)])
    let twice = try Sample.file(account(Self.item(title: #"Example","credentials":[],"x":""#)))
    #expect(twice.format == .credentialExchange && twice.skipped.map(\.reason) == ["it has credentials twice"])
    let others = #"{"encrypted":false,"collections":[],"items":[{"name":"a","login":{},"credentials":null},1]}"#
    #expect(try Sample.file(others).format == .bitwarden)
  }

  // Holds: IMPORT-2
  @Test func `another version of CXF is refused, and so is a member that is there twice`() throws {
    #expect(throws: PasskeyFileError("it has version 2 of CXF; only version 1 is supported")) {
      try Sample.file(Self.cxf("", version: #"{"major":2,"minor":0}"#))
    }
    #expect(throws: PasskeyFileError("it has accounts twice")) { try Sample.file(#"{"accounts":[],"accounts":[]}"#) }
    let twice = try Self.passkey().dropLast() + #","rpId":"example.net"}"#
    #expect(try Sample.file(Self.cxf(Self.item(String(twice)))).skipped.map(\.reason) == ["it has rpId twice"])
    let file = try Sample.file(Self.cxf(""))
    #expect(file.passkeys == [] && file.withoutPasskey == [])
    for text in [#"{"accounts":{}}"#, #"{"accounts":[1,[],{"items":2},{"items":[3,{"credentials":4}]}]}"#] {
      #expect(try Sample.file(text).passkeys == [])
    }
  }

  // Holds: IMPORT-2
  @Test(
    arguments: [
      (["type": "\"passkey\",\"type\":\"passkey\""], "it has type twice"),
      (["type": "\"note\",\"t\\u0079pe\":\"passkey\""], "it has type twice"),
      (["type": "[\"passkey\"]"], "its type is not a text"), (["type": "\"\\ud800\""], "a text is not Unicode"),
    ] as [([String: String?], String)])
  func `a credential of CXF whose type cannot be read is named, because it may be a passkey`(
    changes: [String: String?], reason: String
  ) throws {
    let file = try Sample.file(Self.cxf(Self.item(try Self.passkey(changes), try Self.passkey())))
    #expect(
      file.skipped == [.init(item: 1, name: PasskeyName(rpID: "example.com", name: "alice"), reason: reason)])
    #expect(file.passkeys.map(\.item) == [1] && file.withoutPasskey == [])
  }

  // Holds: IMPORT-2
  @Test func `an item with a member that is there twice is named, and the others are read`() throws {
    let credential = try Self.passkey()
    for (item, reason) in [
      (Self.item(credential, created: #"1,"creationAt":2"#), "it has creationAt twice"),
      (Self.item(credential, title: #"Example","credentials":[],"x":""#), "it has credentials twice"),
    ] {
      let file = try Sample.file(Self.cxf(item + "," + Self.item(credential)))
      #expect(file.skipped == [.init(item: 1, name: PasskeyName(rpID: "Example", name: nil), reason: reason)])
      #expect(file.passkeys.map(\.item) == [2] && file.withoutPasskey == [])
    }
  }

  // Holds: IMPORT-2
  @Test(.whole("10,000 passkeys take long"))
  func `10,000 passkeys are read, and one more is refused`() throws {
    let passkey = try Self.passkey()
    let items = { (count: Int) in Self.cxf(Self.item(Array(repeating: passkey, count: count).joined(separator: ","))) }
    #expect(try Sample.file(items(10_000)).passkeys.count == 10_000)
    #expect(throws: PasskeyFileError("it has more than 10000 passkeys; split it, and import the parts")) {
      try Sample.file(items(10_001))
    }
  }

  /// Without one reading of the title for each item, this would take hours.
  // Holds: IMPORT-3
  @Test func `an item with many members and many passkeys is read`() throws {
    let count = isWhole ? 50_000 : 10_000
    let members = String(repeating: #""a":0,"#, count: count)
    let list = { (credential: String) in Array(repeating: credential, count: count).joined(separator: ",") }
    let (passkeys, credentials) = (list(#"{"type":"passkey"}"#), list("{}"))
    for text in [
      Self.cxf(#"{\#(members)"title":"t","credentials":[\#(passkeys)]}"#),
      #"{"items":[{\#(members)"name":"t","login":{"fido2Credentials":[\#(credentials)]}}]}"#,
    ] {
      let file = try Sample.file(text)
      #expect(file.passkeys == [] && file.skipped.count == count)
      #expect(file.skipped.allSatisfy { $0.name == PasskeyName(rpID: "t", name: nil) })
    }
  }

  // MARK: - Bitwarden

  private static func bitwarden(_ credentials: String..., name: String = "Example") -> String {
    """
    {"encrypted":false,"folders":[],"items":[
     {"id":"f4ae","type":2,"name":"A note","notes":"x","secureNote":{"type":0}},
     {"id":"f4af","type":1,"name":"\(name)","login":{"username":"u","password":"p","totp":null,
      "fido2Credentials":[\(credentials.joined(separator: ","))]}}]}
    """
  }

  private static func credential(_ changes: [String: String?] = [:]) throws -> String {
    let members: [String: String?] = [
      "credentialId": "\"00010203-0405-0607-0809-0A0b0c0d0e0f\"", "keyType": "\"public-key\"",
      "keyAlgorithm": "\"ECDSA\"", "keyCurve": "\"P-256\"", "keyValue": "\"\(try Sample.key)\"",
      "rpId": "\"example.com\"", "userHandle": "\"AQI\"", "userName": "\"alice\"", "counter": "\"0\"",
      "rpName": "\"Example\"", "userDisplayName": "\"Alice A.\"", "discoverable": "\"true\"",
      "creationDate": "\"2024-02-29T12:34:56.789Z\"",
    ].merging(changes) { $1 }
    return "{"
      + members.sorted { $0.key < $1.key }.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
      .joined(separator: ",") + "}"
  }

  // Holds: IMPORT-2
  @Test func `passkeys of Bitwarden are read, with both forms of ids`() throws {
    let file = try Sample.file(
      Self.bitwarden(
        try Self.credential(),
        try Self.credential([
          "credentialId": "\"b64._____________________w\"", "userName": "null", "userDisplayName": "null",
          "counter": "0",
          "creationDate": "\"yesterday\"",
        ])))
    #expect(file.format == .bitwarden && file.skipped == [] && file.withoutPasskey == ["A note"])
    let expected = [
      Sample.record(displayName: "Alice A.", id: Array(0...15), created: 1_709_210_096_789),
      Sample.record(name: nil, id: [UInt8](repeating: 0xFF, count: 16)),
    ]
    #expect(try Sample.records(file) == expected && file.passkeys.map(\.item) == [2, 2])
  }

  // Holds: IMPORT-2
  @Test(
    arguments: [
      (["keyAlgorithm": "\"RSA\"", "keyCurve": "\"\""], "its key type (public-key, RSA, ) is not supported"),
      (["keyCurve": "\"P-384\""], "its key type (public-key, ECDSA, P-384) is not supported"),
      (["keyType": nil], "its key type (, ECDSA, P-256) is not supported"),
      (["counter": "\"7\""], "its signature counter is not 0, and the site would refuse one that starts again at 0"),
      (["counter": "7"], "its signature counter is not 0, and the site would refuse one that starts again at 0"),
      (["counter": "\"\""], "its signature counter is not 0, and the site would refuse one that starts again at 0"),
      (
        ["credentialId": "\"00010203-0405-0607-0809-0A0b0c0d0e0\""],
        "its credentialId is neither a UUID nor base64url after b64."
      ),
      (
        ["credentialId": "\"00010203x0405-0607-0809-0A0b0c0d0e0f\""],
        "its credentialId is neither a UUID nor base64url after b64."
      ),
      (
        ["credentialId": "\"0001020g-0405-0607-0809-0A0b0c0d0e0f\""],
        "its credentialId is neither a UUID nor base64url after b64."
      ),
      (["credentialId": "\"b64.\""], "the credential id is empty"),
      (["credentialId": "\"b64.AA=\""], "its credentialId is not base64url without padding"),
      (["userHandle": "null"], "it has no userHandle"),
      (["keyValue": "\"\""], "its private key is not a valid PKCS #8 structure"),
    ] as [([String: String?], String)])
  func `a passkey of Bitwarden that cannot be imported is named with the reason`(
    changes: [String: String?], reason: String
  ) throws {
    let file = try Sample.file(Self.bitwarden(try Self.credential(changes)))
    #expect(file.passkeys == [] && file.list.count == 0)
    #expect(file.skipped == [.init(item: 2, name: PasskeyName(rpID: "example.com", name: "alice"), reason: reason)])
  }

  // Holds: IMPORT-2
  @Test(
    arguments: [
      (#""login":{"fido2Credentials":{}}"#, "its fido2Credentials is not a list"),
      (#""login":{"fido2Credentials":"x"}"#, "its fido2Credentials is not a list"),
      (#""login":{},"login":{}"#, "it has login twice"),
      (#""login":{"fido2Credentials":[],"fido2Credentials":[]}"#, "it has fido2Credentials twice"),
    ])
  func `an item of Bitwarden whose passkeys cannot be read is named, and the others are read`(
    login: String, reason: String
  ) throws {
    let items = [#"{"name":"First",\#(login)}"#, #"{"name":"None","login":{"fido2Credentials":null}}"#]
    let whole = #"{"name":"Last","login":{"fido2Credentials":[\#(try Self.credential())]}}"#
    let file = try Sample.file(#"{"items":[\#((items + [whole]).joined(separator: ","))]}"#)
    #expect(file.skipped == [.init(item: 1, name: PasskeyName(rpID: "First", name: nil), reason: reason)])
    #expect(file.passkeys.map(\.item) == [3] && file.withoutPasskey == ["None"])
  }

  // Holds: IMPORT-2
  @Test func `an encrypted export of Bitwarden is refused`() {
    for text in [
      #"{"encrypted":true,"encKeyValidation_DO_NOT_EDIT":"2.x","items":[]}"#,
      #"{"encrypted":true,"passwordProtected":true,"salt":"x","data":"2.x"}"#,
    ] {
      #expect(
        throws: PasskeyFileError(
          "this export of Bitwarden is encrypted; export again in the file format .json, not .json (Encrypted)")
      ) {
        try Sample.file(text)
      }
    }
  }

  // MARK: - KeePassXC

  private static func attribute(_ key: String, _ value: String, _ attributes: String = "") -> String {
    "<String><Key>\(key)</Key><Value\(attributes)>\(value)</Value></String>"
  }

  private static func entry(_ changes: [String: String?] = [:], times: String = "", history: String = "") throws
    -> String
  {
    let members: [String: String?] = [
      "Title": "Example", "UserName": "u", "Password": "p", "KPEX_PASSKEY_CREDENTIAL_ID": "AAECAwQFBgcICQoLDA0ODw",
      "KPEX_PASSKEY_PRIVATE_KEY_PEM": try Sample.pem, "KPEX_PASSKEY_RELYING_PARTY": "example.com",
      "KPEX_PASSKEY_USERNAME": "alice", "KPEX_PASSKEY_USER_HANDLE": "AQI",
    ].merging(changes) { $1 }
    let strings = members.sorted { $0.key < $1.key }.compactMap { key, value in
      value.map { attribute(key, $0, " ProtectInMemory=\"True\"") }
    }
    return "<Entry><UUID>AAAA</UUID>\(times)\(strings.joined())<History>\(history)</History></Entry>"
  }

  private static func database(_ entries: String, bin: String = "") -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <KeePassFile><Meta><Generator>KeePassXC</Generator><RecycleBinUUID>Ymlu</RecycleBinUUID></Meta>
     <Root><Group><UUID>cm9vdA</UUID><Name>Root</Name>\(entries)<Group><UUID>Ymlu</UUID><Group><UUID>eA</UUID>\(bin)</Group></Group></Group></Root>
    </KeePassFile>
    """
  }

  // Holds: IMPORT-2
  @Test func `passkeys of a KeePass export are read, without those of the history`() throws {
    let old = try Self.entry(["KPEX_PASSKEY_CREDENTIAL_ID": "AQ"])
    let former = try Self.entry(
      [
        "KPEX_PASSKEY_CREDENTIAL_ID": nil, "KPEX_PASSKEY_GENERATED_USER_ID": "_____________________w",
        "KPEX_PASSKEY_USERNAME": nil,
        "KPXC_PASSKEY_USERNAME": "b&amp;b",
        "KPEX_PASSKEY_PRIVATE_KEY_PEM": try Sample.pem.replacing("\n", with: "&#10;"),
      ], times: "<Times><CreationTime>2024-02-29T12:34:56Z</CreationTime></Times>")
    let plain = "<Entry>\(Self.attribute("Title", "Only a password"))</Entry>"
    let times = "<Times><CreationTime>\(Self.time)</CreationTime></Times>"
    let file = try Sample.file(Self.database(try Self.entry(times: times, history: old) + plain + former))
    #expect(file.format == .keePassXC && file.skipped == [] && file.withoutPasskey == ["Only a password"])
    let expected = [
      Sample.record(id: Array(0...15), created: 1_709_210_096_000),
      Sample.record(name: "b&b", id: [UInt8](repeating: 0xFF, count: 16), created: 1_709_210_096_000),
    ]
    #expect(try Sample.records(file) == expected && file.passkeys.map(\.item) == [1, 3])
  }

  /// 2024-02-29T12:34:56Z as KDBX 4 has it: 63,844,806,896 seconds since the year 1, little-endian, in base64.
  private static let time: String = {
    let seconds = UInt64(62_135_596_800 + 1_709_210_096)
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> (8 * UInt64($0))) }
    return Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/") + "="
  }()

  // Holds: IMPORT-2
  @Test func `a value of KeePass in several pieces is read whole`() throws {
    let entry = try Self.entry().replacing("example.com", with: "e<!---->xam<!-- -->ple.com")
    #expect(try Sample.records(Sample.file(Self.database(entry))) == [Sample.record(id: Array(0...15))])
  }

  // Holds: IMPORT-2
  @Test func `a passkey in the recycle bin is named, and not imported`() throws {
    let file = try Sample.file(Self.database("", bin: try Self.entry()))
    #expect(file.passkeys == [])
    #expect(
      file.skipped == [
        .init(item: 1, name: PasskeyName(rpID: "example.com", name: "alice"), reason: "it is in the recycle bin")
      ])
  }

  // Holds: IMPORT-2
  @Test func `an attribute that is missing, there twice, encrypted or not valid`() throws {
    let rsa = Sample.pem(
      Sample.info([6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0], [1, 2, 3]))
    for (changes, reason) in [
      (["KPEX_PASSKEY_CREDENTIAL_ID": nil], "it has no attribute KPEX_PASSKEY_CREDENTIAL_ID"),
      (["KPEX_PASSKEY_PRIVATE_KEY_PEM": nil], "it has no attribute KPEX_PASSKEY_PRIVATE_KEY_PEM"),
      (["KPEX_PASSKEY_USER_HANDLE": nil], "it has no attribute KPEX_PASSKEY_USER_HANDLE"),
      (["KPEX_PASSKEY_USER_HANDLE": "A=="], "its user handle is not base64url without padding"),
      (["KPEX_PASSKEY_CREDENTIAL_ID": "+w"], "its credential id is not base64url without padding"),
      (["KPEX_PASSKEY_PRIVATE_KEY_PEM": "x"], "its private key is not in PEM with the label PRIVATE KEY"),
      (["KPEX_PASSKEY_PRIVATE_KEY_PEM": rsa], "its key is an RSA key, which is not supported"),
      (["KPEX_PASSKEY_RELYING_PARTY": nil], "it has no attribute KPEX_PASSKEY_RELYING_PARTY"),
    ] as [([String: String?], String)] {
      let file = try Sample.file(Self.database(try Self.entry(changes)))
      #expect(file.skipped.map(\.reason) == [reason] && file.passkeys == [])
    }
    let twice = try Self.entry().replacing("<History>", with: Self.attribute("Title", "x") + "<History>")
    #expect(try Sample.file(Self.database(twice)).skipped.map(\.reason) == ["it has the attribute Title twice"])
    let encrypted = try Self.entry().replacing("ProtectInMemory=", with: "Protected=")
    #expect(try Sample.file(Self.database(encrypted)).skipped.map(\.reason) == ["its attributes are encrypted"])
  }

  // Holds: IMPORT-2
  @Test func `an entry with another one in it is named, and the inner one is read`() throws {
    let (inner, old) = (try Self.entry(["Title": "Inner"]), try Self.entry(["KPEX_PASSKEY_CREDENTIAL_ID": "AQ"]))
    let outer = try Self.entry(history: old).replacing("<History>", with: inner + "<History>")
    let last = try Self.entry(["KPEX_PASSKEY_CREDENTIAL_ID": "_____________________w"])
    let file = try Sample.file(Self.database(outer + last))
    let reason = "it contains another entry"
    #expect(file.skipped == [.init(item: 1, name: PasskeyName(rpID: "Example", name: nil), reason: reason)])
    #expect(file.passkeys.map(\.item) == [2, 3] && file.withoutPasskey == [])
  }

  // Holds: IMPORT-3
  @Test func `other XML, and a document type, are refused`() {
    #expect(throws: PasskeyFileError("it is XML, but not an export of a KeePass database")) {
      try Sample.file("<html></html>")
    }
    #expect(throws: PasskeyFileError.self) { try Sample.file("<!DOCTYPE KeePassFile><KeePassFile/>") }
    #expect(throws: PasskeyFileError.self) { try Sample.file("<KeePassFile><Root>") }
  }

  // Holds: IMPORT-2
  @Test func `a passkey file of KeePassXC is read`() throws {
    let pem = try Sample.pem.replacing("\n", with: "\\n")
    let text = #"""
      {"credentialId":"AAECAwQFBgcICQoLDA0ODw","privateKey":"\#(pem)","relyingParty":"example.com",
       "url":"https://example.com","userHandle":"AQI","username":"alice"}
      """#
    let file = try Sample.file(text)
    #expect(file.format == .keePassXCPasskey && file.skipped == [])
    #expect(try Sample.records(file) == [Sample.record(id: Array(0...15))])
    let spoilt = try Sample.file(text.replacing("AQI", with: "AQJ"))
    #expect(
      spoilt.skipped == [
        .init(
          item: 1, name: PasskeyName(rpID: "example.com", name: "alice"),
          reason: "its userHandle is not base64url without padding")
      ])
  }

  @Test func `an Ed25519 key is imported`() throws {
    let der = Sample.info([6, 3, 0x2B, 0x65, 0x70], Sample.tlv(4, Sample.secret))
    let file = try Sample.file(Self.cxf(Self.item(try Self.passkey(["key": "\"\(Base64URL.encode(der))\""]))))
    #expect(
      try Sample.records(file)
        == [Sample.record(displayName: "Alice A.", id: Array(0...15), created: 1_700_000_000_000, algorithm: .edDSA)])
  }

  // MARK: - Other files

  // Holds: IMPORT-3
  @Test func `files of other formats are refused`() {
    let unknown =
      "it has none of the supported formats: CXF, a JSON export of Bitwarden, an XML export or a passkey file of "
      + "KeePassXC"
    for text in ["", "x", "[]", "{}", #"{"a":1}"#, #"{"privateKey":"x"}"#, "\u{0}\u{1}", "name,url,username,password"] {
      #expect(throws: PasskeyFileError(unknown), "\(text)") { try Sample.file(text) }
    }
    #expect(throws: PasskeyFileError("it is a zip archive; unpack it, and import the JSON file that is in it")) {
      try PasskeyFile([0x50, 0x4B, 3, 4, 0, 0], now: 0)
    }
    #expect(throws: PasskeyFileError("it has more than 64 MiB")) {
      try PasskeyFile([UInt8](repeating: 0x20, count: 67_108_865), now: 0)
    }
    #expect(throws: PasskeyFileError("it is not valid JSON: no value at byte 12")) { try Sample.file(#"{"accounts":"#) }
  }
}
