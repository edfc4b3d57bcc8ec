import CBOR
import CryptoPrimitives
import Foundation

@testable import PasskeyFiles
@testable import Recovery

/// Files of other programs with passkeys, and the list in which an import sends them to the authenticator.
enum PasskeyFileTargets {
  static let all: [Target] = [
    Target(
      "import-cxf", of: "a file in FIDO's Credential Exchange Format", atMost: 8192, words: json + cxf,
      seeds: {
        [
          try file(.credentialExchange, [passkey(1), passkey(2, algorithm: .edDSA, credBlob: [1, 2, 3])]),
          Array(
            #"{"version":{"major":1,"minor":0},"accounts":[{"items":[{"title":"N","credentials":[{"type":"note"}]}]}]}"#
              .utf8),
          Array(#"{"items":[{"title":"N","credentials":[{"type":"passkey"}]}],"id":"AQ","collections":[]}"#.utf8),
        ]
      }, read: readFile),
    Target(
      "import-bitwarden", of: "a JSON export of Bitwarden", atMost: 8192, words: json + bitwarden,
      seeds: {
        [Array(try bitwardenFile.utf8), Array(#"{"encrypted":false,"items":[{"name":"N","login":{}}]}"#.utf8)]
      },
      read: readFile),
    Target(
      "import-keepassxc", of: "an XML export of KeePassXC", atMost: 8192, words: xml,
      seeds: { [try file(.keePassXC, [passkey(1), passkey(2, algorithm: .edDSA)]), Array(keePassFile.utf8)] },
      read: readFile),
    Target(
      "import-passkey", of: "a file of KeePassXC with one passkey", words: json + keePassXC,
      seeds: { [Array(try keePassXCPasskey.utf8)] }, read: readFile),
    Target(
      "private-key", of: "a private key in PKCS #8", atMost: 256,
      seeds: { try [COSEAlgorithm.es256, .edDSA].map { try pkcs8($0) } }, read: readPrivateKey),
    Target(
      "import-list", of: "the list of passkeys that an import sends to the authenticator", atMost: 4096,
      seeds: {
        let credRandoms = TestPhrase.keys.credRandoms(RPIDHash(rpID: "other.example"), id: [3])
        return [
          try list([passkey(1), passkey(2, algorithm: .edDSA, credBlob: [7]), passkey(3, credRandoms: credRandoms)]),
          try list([]),
        ]
      }, read: readList),
  ]

  // MARK: - Reading

  private static let now: UInt64 = 1_800_000_000_000

  /// Reads a file, imports its passkeys, and writes and reads them again in each format.
  ///
  /// All of a file is read, or an error is thrown. A passkey that was read can always be imported and exported.
  private static func readFile(_ input: [UInt8]) throws {
    let file: PasskeyFile
    do throws(PasskeyFileError) { file = try PasskeyFile(input, now: now) } catch {
      expect(!error.description.isEmpty, "an error without words")
      return
    }
    let records = try records(in: file.list)
    expect(records.count == file.passkeys.count, "\(file.passkeys.count) passkeys, and \(records.count) in the list")
    for format in PasskeyExportFile.Format.allCases { try exportAgain(records, format) }
  }

  /// The records of a list, which is imported into a new store.
  private static func records(in list: PasskeyList) throws -> [CredentialSource] {
    try importAll(list.encoded)
    return try (CBORDecoder.decode(list.encoded).array ?? []).compactMap { element in
      try AccountEntry(plaintext: element.bytes ?? []).record
    }
  }

  private static func exportAgain(_ records: [CredentialSource], _ format: PasskeyExportFile.Format) throws {
    let output = PasskeyExportFile(format, id: [UInt8](0...15), now: now)
    for record in records { _ = try output.append(.init(record: record, credRandoms: credRandoms(of: record))) }
    expect(output.count == records.count, "\(output.count) passkeys of \(records.count) were written")
    let again = try PasskeyFile(output.finish { [UInt8]($0) }, now: now)
    expect(again.format == format.imported, "another format: \(again.format)")
    expect(again.skipped.isEmpty && again.withoutPasskey.isEmpty, "passkeys are lost: \(again.skipped)")
    let copies = try self.records(in: again.list)
    let expected = try records.map { try $0.exported(to: format) }
    expect(copies == expected, "\(copies) instead of \(expected)")
  }

  /// Those of the record, or else derived ones.
  private static func credRandoms(of record: CredentialSource) -> (withUV: SecretBytes, withoutUV: SecretBytes) {
    let credential = Credential(record: record)
    return (
      TestPhrase.keys.credRandom(of: credential, userVerified: true),
      TestPhrase.keys.credRandom(of: credential, userVerified: false)
    )
  }

  private static func readPrivateKey(_ input: [UInt8]) throws {
    guard let key = try? PrivateKeyInfo.read(input) else { return }
    let again = try PrivateKeyInfo.read(PrivateKeyInfo.write(key).der.withUnsafeBytes { Array($0) })
    expect(again.algorithm == key.algorithm && again.secret.isEqual(to: key.secret), "another key")
  }

  private static func readList(_ input: [UInt8]) throws {
    guard (try? PasskeyImport(list: input, keys: TestPhrase.keys)) != nil else { return }
    try importAll(input)
  }

  /// Imports a valid list into a new store, twice.
  private static func importAll(_ list: [UInt8]) throws {
    let (keys, store) = (TestPhrase.keys, InMemoryCredentialStore(keys: TestPhrase.keys))
    let first = try PasskeyImport(list: list, keys: keys).run(on: store, keys: keys, now: now)
    let added = first.count(where: { $0 == .added })
    expect(try store.credentialCount() == added, "the store does not have the passkeys that were added")
    expect(first.allSatisfy { [.added, .repeated, .derived].contains($0) }, "\(first) in an empty store")
    let second = try PasskeyImport(list: list, keys: keys).run(on: store, keys: keys, now: now)
    expect(second == first.map { $0 == .added ? .present : $0 }, "\(second) after \(first)")
  }

  // MARK: - Seeds

  private static let secret = [UInt8](repeating: 0x42, count: 32)
  private static let credRandoms = (
    withUV: SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 1, count: 32)) },
    withoutUV: SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 2, count: 32)) }
  )

  private static func passkey(
    _ number: UInt8, algorithm: COSEAlgorithm = .es256, credBlob: [UInt8]? = nil, credRandoms: SecretBytes? = nil
  ) throws -> CredentialSource {
    try .imported(
      rpID: "example.com", userID: [number], name: "b\"öb <\(number)>", displayName: nil,
      id: [UInt8](repeating: number, count: 16), algorithm: algorithm, created: now - 1000, credBlob: credBlob,
      key: secret.withUnsafeBytes { SecretBytes(copying: $0) }, credRandoms: credRandoms)
  }

  private static func file(_ format: PasskeyExportFile.Format, _ records: [CredentialSource]) throws -> [UInt8] {
    let output = PasskeyExportFile(format, id: [UInt8](0...15), now: now)
    for record in records { _ = try output.append(.init(record: record, credRandoms: credRandoms)) }
    return output.finish { [UInt8]($0) }
  }

  private static func list(_ records: [CredentialSource]) throws -> [UInt8] {
    let list = PasskeyList()
    for record in records { list.append(record) }
    return list.encoded
  }

  private static func pkcs8(_ algorithm: COSEAlgorithm) throws -> [UInt8] {
    let key = (algorithm, secret.withUnsafeBytes { SecretBytes(copying: $0) })
    return try PrivateKeyInfo.write(key).der.withUnsafeBytes { Array($0) }
  }

  private static var bitwardenFile: String {
    get throws {
      """
      {"encrypted":false,"items":[{"name":"Example","login":{"fido2Credentials":[{"credentialId":\
      "00010203-0405-0607-0809-0a0b0c0d0e0f","keyType":"public-key","keyAlgorithm":"ECDSA","keyCurve":"P-256",\
      "keyValue":"\(Base64URL.encode(try pkcs8(.es256)))","rpId":"example.com","userHandle":"AQI","userName":"alice",\
      "counter":"0","userDisplayName":"Alice","discoverable":"true","creationDate":"2024-02-29T12:34:56.000Z"}]}}]}
      """
    }
  }

  private static var keePassXCPasskey: String {
    get throws {
      let base64 = Data(try pkcs8(.es256)).base64EncodedString()
      return """
        {"credentialId":"AAECAwQFBgcICQoLDA0ODw","privateKey":"-----BEGIN PRIVATE KEY-----\\n\(base64)\\n\
        -----END PRIVATE KEY-----\\n","relyingParty":"example.com","url":"https://example.com",\
        "userHandle":"AQI","username":"alice"}
        """
    }
  }

  private static let keePassFile = """
    <KeePassFile><Meta><RecycleBinUUID>Ymlu</RecycleBinUUID></Meta><Root><Group><UUID>cm9vdA</UUID><!-- a --><Entry>\
    <Times><CreationTime>2024-02-29T12:34:56Z</CreationTime></Times><String><Key>Title</Key><Value>a&amp;b</Value>\
    </String><History><Entry></Entry></History></Entry><Group><UUID>Ymlu</UUID></Group></Group></Root></KeePassFile>
    """

  // MARK: - Words

  static let json = ["\"", "\\\"", "\\u0041", "\\ud83d\\ude00", "null", "true", "false", "[]", "{}", ":", ",", "1e9"]
  private static let cxf = names(
    "version", "major", "minor", "accounts", "items", "title", "creationAt", "credentials", "type", "passkey",
    "credentialId", "rpId", "username", "userName", "userDisplayName", "userHandle", "key", "fido2Extensions",
    "hmacCredentials", "algorithm", "hmac-sha256", "credWithUV", "credWithoutUV", "hmacSecret", "credBlob", "largeBlob",
    "payments")
  private static let bitwarden =
    names(
      "encrypted", "items", "name", "login", "fido2Credentials", "credentialId", "keyType", "public-key",
      "keyAlgorithm", "ECDSA", "keyCurve", "P-256", "keyValue", "rpId", "userHandle", "userName", "userDisplayName",
      "counter", "creationDate") + ["b64."]
  private static let keePassXC =
    names("credentialId", "privateKey", "relyingParty", "userHandle", "username")
    + ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\\n"]
  private static let xml = [
    "<?xml version=\"1.0\"?>", "<KeePassFile>", "</KeePassFile>", "<Meta>", "<RecycleBinUUID>", "<Root>", "<Group>",
    "</Group>", "<UUID>", "</UUID>", "<Entry>", "</Entry>", "<Times>", "<CreationTime>", "<String>", "</String>",
    "<Key>",
    "</Key>", "<Value>", "</Value>", "<Value Protected=\"True\">", "ProtectInMemory=\"True\"", "<History>",
    "</History>",
    "<a/>", "<!--", "-->", "<![CDATA[", "<!DOCTYPE", "&amp;", "&lt;", "&#65;", "&#x41;", "&#0;", "Title",
    "KPEX_PASSKEY_PRIVATE_KEY_PEM", "KPEX_PASSKEY_CREDENTIAL_ID", "KPEX_PASSKEY_GENERATED_USER_ID",
    "KPEX_PASSKEY_USER_HANDLE", "KPEX_PASSKEY_RELYING_PARTY", "KPEX_PASSKEY_USERNAME", "KPXC_PASSKEY_USERNAME",
  ]

  private static func names(_ names: String...) -> [String] { names.map { "\"\($0)\"" } }
}

extension CredentialSource {
  /// The record after it was written to a file of another program and read again.
  fileprivate func exported(to format: PasskeyExportFile.Format) throws -> CredentialSource {
    guard let key = importedKey else { throw RecoveryError(.key, "an imported passkey without a key") }
    let hasAll = format == .credentialExchange
    return try .imported(
      rpID: rpID, userID: userID, name: hasAll ? name : (name ?? displayName)?.withoutControls,
      displayName: hasAll ? displayName : nil, id: id, algorithm: algorithm,
      isForThirdPartyPayment: hasAll && policy.thirdPartyPayment, created: created / 1000 * 1000,
      credBlob: hasAll ? credBlob : nil, key: key,
      credRandoms: hasAll ? TestPhrase.keys.credRandoms(of: self) : nil)
  }
}

extension String {
  /// The text without the characters that XML cannot have.
  fileprivate var withoutControls: String {
    String(
      UnicodeScalarView(
        unicodeScalars.filter { scalar in
          ![0xFFFE, 0xFFFF].contains(scalar.value) && (scalar.value >= 0x20 || "\t\n\r".unicodeScalars.contains(scalar))
        }))
  }
}
