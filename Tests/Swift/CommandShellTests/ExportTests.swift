import ArgumentParser
import CryptoPrimitives
import Glibc
import PasskeyFiles
import Recovery
import TestSupport
import Testing

@testable import liquid_auth

/// The output of `liquid-auth export`.
@Suite struct `The result of an export` {
  private func passkey(
    _ rpID: String, _ name: String?, displayName: String? = nil
  ) throws -> PasskeyExportFile.Passkey {
    let secret = SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 0x42, count: 32)) }
    return .init(
      record: try .imported(
        rpID: rpID, userID: [1], name: name, displayName: displayName, id: [UInt8](0...15), algorithm: .edDSA,
        created: 0, key: secret),
      credRandoms: (secret, secret))
  }

  /// A passkey with the site `ssh:` cannot be imported, but the authenticator has such keys for SSH.
  private func key(ofSSH name: String) throws -> PasskeyExportFile.Passkey {
    let secret = SecretBytes.random(count: 32)
    return .init(
      record: try #require(
        CredentialSource(
          rpID: "ssh:", userID: [1], name: name, id: [1], algorithm: .edDSA, counter: 0, created: 0, changed: 0,
          origin: .imported, importedKey: secret)),
      credRandoms: (secret, secret))
  }

  private func result(
    _ format: PasskeyExportFile.Format, _ passkeys: [PasskeyExportFile.Passkey]
  ) -> ExportResult {
    let file = PasskeyExportFile(format, id: [UInt8](0...15), now: 0)
    var result = ExportResult(format)
    for passkey in passkeys { result.add(passkey, to: file) }
    return result
  }

  private func lines(_ result: ExportResult) -> [String] {
    var place = PlaceOptions()
    (place.stateDir, place.control) = ("/s", nil)
    return result.text(file: "x\u{1B}", at: place).split(separator: "\n").map(String.init)
  }

  // Holds: EXPORT-6
  @Test func `exported passkeys are named with what is left out, and the others with the reason`() throws {
    let some = result(
      .keePassXC,
      try [passkey("a.example", "al\u{202E}", displayName: "Al"), key(ofSSH: "work"), passkey("b.example", nil)])
    #expect(
      lines(some) == [
        "wrote x\\u{1B}: 2 passkeys in the format KeePassXC", "  a.example  al\\u{202E}",
        "    not exported: its display name", "  b.example", "1 passkey not exported", "  ssh:  work",
        "    it is a key of SSH, and password managers use passkeys of web sites only",
        "the format has no place for PRF secrets; data that a site encrypted with them cannot be decrypted with the "
          + "exported passkeys",
        "x\\u{1B} has unencrypted private keys; delete it when the other program has the passkeys, also from the trash and "
          + "from backups of your disk",
        "the passkeys still work here; to remove one, run: liquid-auth credentials remove ID --state-dir /s",
      ])
    #expect(!some.isComplete)
    let all = result(.credentialExchange, [try passkey("a.example", "al")])
    #expect(all.isComplete && lines(all).count == 4)
    #expect(lines(all)[0] == "wrote x\\u{1B}: 1 passkey in the format CXF")
    let none = result(.credentialExchange, [try key(ofSSH: "work")])
    #expect(
      lines(none) == [
        "nothing was exported, and no file was made", "1 passkey not exported", "  ssh:  work",
        "    it is a key of SSH, and password managers use passkeys of web sites only",
      ] && !none.isComplete)
  }

  // Holds: EXPORT-6
  @Test func `the warning names the file, and says what it means`() {
    #expect(
      ExportResult.warning(file: "x\u{1B}")
        == "x\\u{1B} will have unencrypted private keys: anyone who reads it can sign in as you, and the sites cannot "
        + "tell; neither your passphrase nor your recovery phrase protects it")
  }

  // Holds: EXPORT-6
  @Test func `the result has members for programs`() throws {
    let result = result(.credentialExchange, try [passkey("a.example", nil, displayName: "Al"), key(ofSSH: "w")])
    #expect(
      result.json.line
        == #"{"format": "CXF", "complete": false, "exported": [{"rpId": "a.example", "name": "Al", "losses": []}], "notExported": [{"rpId": "ssh:", "name": "w", "reasons": ["it is a key of SSH, and password managers use passkeys of web sites only"]}]}"#
    )
  }

  // Holds: EXPORT-7
  @Test(
    arguments: [
      [], ["f"], ["--all"], ["--all", "--site", "a.example", "f"], ["--site", "", "f"],
      ["--site", "https://", "f"], ["--site", "a.example", "--site", "http:///a.example", "f"],
      ["--all", "--format", "csv", "f"],
      ["--all", "d/"], ["--all", "-"], ["--all", "f", "g"],
      Array(repeating: ["--site", "a.example"], count: 17).flatMap(\.self) + ["f"],
    ] as [[String]])
  func `a command line without exactly one choice and a file is refused`(_ arguments: [String]) {
    #expect(throws: (any Error).self) { try ExportCommand.parse(arguments) }
  }

  // Holds: EXPORT-7
  @Test(arguments: [
    ("a.example", "a.example"), ("https://a.example", "a.example"), ("https://a.example/", "a.example"),
    ("https://a.example:8443/login?a#b", "a.example"), ("http://localhost:3000", "localhost"), ("ssh:", "ssh:"),
    ("ssh://a.example", "ssh://a.example"), ("a.example/https://b.example", "a.example/https://b.example"),
    ("HTTPS://A.example", "a.example"), ("A.Example", "a.example"), ("ssh:Work", "ssh:Work"), ("https://", ""),
  ]) func `a site is an id, or the host of an origin`(_ site: String, _ id: String) {
    #expect(ExportCommand.relyingPartyID(site) == id)
  }

  // Holds: EXPORT-7
  @Test func `sites and the format are read`() throws {
    let command = try ExportCommand.parse(["--site", "a.example", "--format", "keepassxc", "f", "--site", "b.example"])
    #expect(command.site == ["a.example", "b.example"] && command.format == .keepassxc && command.file == "f")
    #expect(try ExportCommand.parse(["--all", "f"]).format == .cxf)
  }
}

/// A file that has a name only when it is whole.
@Suite struct NewSecretFileTests {
  private func finish(_ file: NewSecretFile, _ text: String) throws {
    let bytes = Array(text.utf8)
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(CommandFailure) in try file.finish(with: bytes) }
    }.get()
  }

  // Holds: EXPORT-5
  @Test func `it has no name until it is complete, and mode 0600`() throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/file"
    let file = try NewSecretFile(path)
    #expect(access(path, F_OK) != 0)
    try finish(file, "secret")
    #expect(try NamedFile(path).read(atMost: 9) == Array("secret".utf8))
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_nlink == 1)
  }

  // Holds: EXPORT-5
  @Test func `an existing file is not replaced, even if it was made meanwhile`() throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/file"
    let file = try NewSecretFile(path)
    try NamedFile(path).create([1])
    let failure = CommandFailure("\(path) exists already and is not overwritten; name another file")
    #expect(throws: failure) { try finish(file, "secret") }
    #expect(throws: failure) { _ = try NewSecretFile(path) }
    #expect(try NamedFile(path).read(atMost: 9) == [1])
    #expect(throws: CommandFailure("cannot create \(directory.path)/none/file: No such file or directory")) {
      _ = try NewSecretFile("\(directory.path)/none/file")
    }
    #expect(throws: CommandFailure("\(directory.path) is a directory; name a file in it")) {
      _ = try NewSecretFile(directory.path)
    }
  }
}
