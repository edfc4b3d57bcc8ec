import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import PasskeyFiles

/// Files for other programs: their exact bytes, and that the readers here give the same passkeys back.
@Suite struct PasskeyExportFileTests {
  private static let id = [UInt8](0...15)
  private static let credRandoms = (
    withUV: SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 1, count: 32)) },
    withoutUV: SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 2, count: 32)) }
  )

  private func record(
    rpID: String = "example.com", userID: [UInt8] = [1, 2], name: String? = "alice", displayName: String? = nil,
    id: [UInt8] = Self.id, created: UInt64 = 1_700_000_000_000, changed: UInt64 = 1_750_000_000_000, policy: UInt8 = 1,
    credBlob: [UInt8]? = nil, algorithm: COSEAlgorithm = .es256, key: [UInt8] = Sample.secret
  ) throws -> CredentialSource {
    let policy = try #require(CredentialPolicy(byte: policy))
    return try #require(
      CredentialSource(
        rpID: rpID, userID: userID, name: name, displayName: displayName, id: id, algorithm: algorithm, counter: 0,
        policy: policy, created: created, changed: changed, origin: .imported, credBlob: credBlob,
        importedKey: Hex(key).secret))
  }

  /// Writes a file with these passkeys, and returns it with what each of them lost.
  private func written(
    _ format: PasskeyExportFile.Format, _ records: [CredentialSource]
  ) throws -> (text: String, losses: [[String]]) {
    let file = PasskeyExportFile(format, id: [UInt8](0...15), now: Sample.now)
    let losses = try records.map { try file.append(.init(record: $0, credRandoms: Self.credRandoms)) }
    #expect(file.count == records.count)
    return (file.finish { String(decoding: $0, as: UTF8.self) }, losses)
  }

  /// The keys and digests of the golden files were made with the Python package cryptography.
  private static let (es256, edDSA) = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkKhRANCAAQ604YalWITklFrtZPvBVg-0uWGb1y2JgowFyN_2JuQr9CWHH43B1pnkaOcYfVilbArbSZWe2FeYKpB7hyOgziN",
    "MC4CAQAwBQYDK2VwBCIEIEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC"
  )

  // Holds: EXPORT-1
  @Test func `a file of CXF has its exact bytes`() throws {
    let (text, losses) = try written(
      .credentialExchange,
      [
        record(name: "b\"ö\\\u{1}b", displayName: "Bob"),
        record(
          userID: [3], name: nil, id: [UInt8](repeating: 0xFF, count: 16), policy: 9, credBlob: [1, 2, 3],
          algorithm: .edDSA),
      ])
    let secrets =
      #""hmacCredentials":{"algorithm":"hmac-sha256","credWithUV":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE","credWithoutUV":"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI"}"#
    #expect(
      text == """
        {"version":{"major":1,"minor":0},"exporterRpId":"liquid-auth.invalid","exporterDisplayName":"Liquid Auth","timestamp":1800000000,"accounts":[{"id":"AAECAwQFBgcICQoLDA0ODw","username":"","email":"","collections":[],"items":[
        {"id":"sDJ2plhOyiDWK32RARHd4HLCzbYB90fwuWWJzjcp4LE","creationAt":1700000000,"modifiedAt":1750000000,"title":"example.com","scope":{"urls":["https://example.com"],"androidApps":[]},"credentials":[{"type":"passkey","credentialId":"AAECAwQFBgcICQoLDA0ODw","rpId":"example.com","username":"b\\"ö\\\\\\u0001b","userDisplayName":"Bob","userHandle":"AQI","key":"\(Self.es256)","fido2Extensions":{\(secrets)}}]},
        {"id":"Uzy6mtaRs5FS8ADgvETL9kuep5XHC5mv8pkQZ32FkVw","creationAt":1700000000,"modifiedAt":1750000000,"title":"example.com","scope":{"urls":["https://example.com"],"androidApps":[]},"credentials":[{"type":"passkey","credentialId":"_____________________w","rpId":"example.com","username":"","userDisplayName":"","userHandle":"Aw","key":"\(Self.edDSA)","fido2Extensions":{\(secrets),"credBlob":"AQID","payments":true}}]}
        ]}]}

        """)
    #expect(losses == [[], []])
  }

  // Holds: EXPORT-1
  @Test func `a file of KeePassXC has its exact bytes`() throws {
    let (text, losses) = try written(.keePassXC, [record(name: "a<&>\n\u{1}ö", displayName: "Alice", credBlob: [1])])
    #expect(
      text == """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <KeePassFile>
        <Meta><Generator>Liquid Auth</Generator></Meta>
        <Root>
        <Group><UUID>AAECAwQFBgcICQoLDA0ODw==</UUID><Name>Liquid Auth</Name>
        <Entry><UUID>sDJ2plhOyiDWK32RARHd4A==</UUID><Tags>Passkey</Tags><Times><LastModificationTime>gNjg3w4AAAA=</LastModificationTime><CreationTime>AOjl3A4AAAA=</CreationTime></Times>
        <String><Key>Title</Key><Value>example.com (Passkey)</Value></String>
        <String><Key>UserName</Key><Value>a&lt;&amp;&gt;&#10;ö</Value></String>
        <String><Key>URL</Key><Value>https://example.com</Value></String>
        <String><Key>KPEX_PASSKEY_USERNAME</Key><Value>a&lt;&amp;&gt;&#10;ö</Value></String>
        <String><Key>KPEX_PASSKEY_RELYING_PARTY</Key><Value>example.com</Value></String>
        <String><Key>KPEX_PASSKEY_CREDENTIAL_ID</Key><Value ProtectInMemory="True">AAECAwQFBgcICQoLDA0ODw</Value></String>
        <String><Key>KPEX_PASSKEY_USER_HANDLE</Key><Value ProtectInMemory="True">AQI</Value></String>
        <String><Key>KPEX_PASSKEY_FLAG_BE</Key><Value>1</Value></String>
        <String><Key>KPEX_PASSKEY_FLAG_BS</Key><Value>1</Value></String>
        <String><Key>KPEX_PASSKEY_PRIVATE_KEY_PEM</Key><Value ProtectInMemory="True">-----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQkJCQkJCQkJCQkJC
        QkJCQkJCQkJCQkJCQkJCQkJCQkKhRANCAAQ604YalWITklFrtZPvBVg+0uWGb1y2
        JgowFyN/2JuQr9CWHH43B1pnkaOcYfVilbArbSZWe2FeYKpB7hyOgziN
        -----END PRIVATE KEY-----
        </Value></String>
        </Entry>
        </Group>
        </Root>
        </KeePassFile>

        """)
    #expect(losses == [["its display name", "control characters of its name", "its credBlob"]])
  }

  // Holds: EXPORT-1
  @Test(arguments: PasskeyExportFile.Format.allCases)
  func `an import of the file gives the same passkeys`(_ format: PasskeyExportFile.Format) throws {
    let hasAll = format == .credentialExchange
    let records = try [
      record(name: "\"<&>\\\n\u{10FFFF}ö", displayName: hasAll ? "D" : nil),
      record(
        rpID: "xn--bcher-kva.example", userID: [UInt8](repeating: 0xFE, count: 64), name: nil,
        id: [UInt8](repeating: 0xFB, count: 128), policy: hasAll ? 9 : 1, credBlob: hasAll ? [0xFF] : nil,
        algorithm: .edDSA, key: [UInt8](repeating: 7, count: 32)),
      record(
        userID: [9], name: String(repeating: "n", count: 255), id: [UInt8](20...36), created: 0, changed: 0,
        key: [0] + Sample.secret.dropLast()),
    ]
    let file = try Sample.file(written(format, records).text)
    #expect(file.format == format.imported && file.skipped == [] && file.withoutPasskey == [])
    let expected = records.map { record in
      Sample.record(
        rpID: record.rpID, userID: record.userID, name: record.name, displayName: record.displayName, id: record.id,
        created: record.created, policy: record.policy.byte, credBlob: record.credBlob, algorithm: record.algorithm,
        key: record.importedKey?.withUnsafeBytes { Array($0) } ?? [],
        credRandoms: hasAll ? [UInt8](repeating: 2, count: 32) + [UInt8](repeating: 1, count: 32) : nil)
    }
    #expect(try Sample.records(file) == expected)
  }

  // Holds: EXPORT-2
  @Test(arguments: [
    ("ssh:", "it is a key of SSH, and password managers use passkeys of web sites only"),
    ("ssh:work", "it is a key of SSH, and password managers use passkeys of web sites only"),
    ("Example.com", "its site is not a domain name in lower case"),
    ("a<b", "its site is not a domain name in lower case"), ("", "its site is not a domain name in lower case"),
    ("a..b", "its site is not a domain name in lower case"),
    ("bücher.example", "its site is not a domain name in lower case"),
  ])
  func `a passkey that is not for a web site is refused, and the file stays as it was`(_ rpID: String, _ reason: String)
    throws
  {
    for format in PasskeyExportFile.Format.allCases {
      let file = PasskeyExportFile(format, id: Self.id, now: Sample.now)
      let passkey = PasskeyExportFile.Passkey(record: try record(rpID: rpID), credRandoms: Self.credRandoms)
      #expect(throws: PasskeyFileError(reason)) { try file.append(passkey) }
      #expect(file.count == 0)
      #expect(try file.finish { String(decoding: $0, as: UTF8.self) } == written(format, []).text)
    }
  }

  // Holds: EXPORT-2
  @Test func `a key that cannot be used, and a record without one, are refused`() throws {
    let file = PasskeyExportFile(.credentialExchange, id: Self.id, now: Sample.now)
    let zero = PasskeyExportFile.Passkey(
      record: try record(key: [UInt8](repeating: 0, count: 32)), credRandoms: Self.credRandoms)
    #expect(throws: PasskeyFileError("the private key cannot be used")) { try file.append(zero) }
    let derived = try #require(
      CredentialSource(
        rpID: "a.example", userID: [1], id: Self.id, algorithm: .es256, counter: 0, created: 0, changed: 0,
        origin: .registered))
    #expect(throws: PasskeyFileError("its private key is missing")) {
      try file.append(.init(record: derived, credRandoms: Self.credRandoms))
    }
    #expect(file.count == 0)
  }

  // Holds: EXPORT-2
  @Test func `what a format has no place for is named`() throws {
    let everywhere = [
      "its large blob, if it has one; to write it to a file, run: liquid-auth blobs get",
      "the site's request that it is used only after verification (credProtect)",
    ]
    let record = try record(displayName: "alice", policy: 15)
    #expect(try written(.credentialExchange, [record]).losses == [everywhere])
    #expect(try written(.keePassXC, [record]).losses == [["whether it is for payments"] + everywhere])
    #expect(PasskeyExportFile.Format.credentialExchange.generalLoss == nil)
    #expect(
      PasskeyExportFile.Format.keePassXC.generalLoss
        == "PRF secrets; data that a site encrypted with them cannot be decrypted with the exported passkeys")
    let other = try self.record(displayName: "Alice")
    #expect(try written(.keePassXC, [other]).losses == [["its display name"]])
  }

  @Test(arguments: 0...4)
  func `base64 is that of RFC 4648`(_ count: Int) {
    let bytes = [UInt8](repeating: 0xFB, count: count)
    let (url, padded) = (ByteWriter(), ByteWriter())
    url.add(base64: bytes)
    padded.add(base64: bytes, isURL: false)
    let text = { (writer: ByteWriter) in writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    #expect(text(url) == ["", "-w", "-_s", "-_v7", "-_v7-w"][count])
    #expect(text(padded) == ["", "+w==", "+/s=", "+/v7", "+/v7+w=="][count])
  }
}
