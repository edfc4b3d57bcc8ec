import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import liquid_auth

@Suite struct DeriveTests {
  @Test(arguments: try Vector("deterministic-p256").computed.domainKeys.array)
  func `deterministic-p256: the public key and the id match the vector`(_ key: Vector) throws {
    let derived = try DeriveCommand.derive(
      from: Self.phrase(), origin: key.origin.text, userHandle: Array(key.userHandle.text.utf8),
      counter: key.counter.integer())
    #expect(Hex(derived.publicKey) == key.publicKeyRawXY.hex)
    #expect(Hex(derived.credentialID) == key.credentialId_sha256_of_rawXY.hex)
    #expect(
      derived.text == """
        public key     \(key.publicKeyRawXY.hex)
        credential id  \(key.credentialId_sha256_of_rawXY.hex)
        """)
    #expect(
      derived.json.description == """
        {
          "publicKey": "\(key.publicKeyRawXY.hex)",
          "credentialId": "\(key.credentialId_sha256_of_rawXY.hex)"
        }
        """)
  }

  @Test func `a user handle that is not UTF-8 is used as its base64url`() throws {
    let raw = try DeriveCommand.derive(from: Self.phrase(), origin: "a", userHandle: [0xFF, 0xFE], counter: 0)
    let text = try DeriveCommand.derive(from: Self.phrase(), origin: "a", userHandle: Array("__4".utf8), counter: 0)
    #expect(raw == text)
  }

  @Test(arguments: [
    "example.com", "localhost", "a", "login.example.com", "ssh:", "ssh:work", "ssh:443", "ssh:Work",
    "ssh:b\u{FC}ro", "ssh:anna@host.example", "com.example.app:key", "com.example.App:443b", "a.b+c-d:Key/1",
    "pam://host.example.com", "pam://Host-001", "pam://host.example.com:22", "pam://host/path",
    "io.systemd.cryptsetup", "MyApp",
  ])
  func `a relying party id is accepted`(origin: String) throws {
    let command = try LiquidAuthCommand.parseAsRoot(["derive", "--rp", origin, "--user-handle", "a"])
    #expect((command as? DeriveCommand)?.rp == origin)
  }

  @Test func `the capitals of a domain are folded, and a note says so`() throws {
    let command = try LiquidAuthCommand.parseAsRoot(["derive", "--rp", "GitHub.com", "--user-handle", "a"])
    #expect((command as? DeriveCommand)?.rp == "github.com")
    #expect(RelyingPartyID.note(on: "My.App", readAs: "my.app") == "note: My.App is read as my.app")
    #expect(RelyingPartyID.note(on: "my.app", readAs: "my.app") == nil)
  }

  // Holds: INPUT-8
  @Test(arguments: [
    ["derive", "--rp", "测试.example.com", "--user-handle", "a"],
    ["derive", "--rp", "b\u{FC}ro", "--user-handle", "a"],
    ["recover", "--rp", "B\u{FC}cher.example", "--user-handle", "a"],
    ["config", "min-pin-length", "6", "--rp", "b\u{FC}cher.example"], ["policy", "ssh:b\u{FC}ro", "deny"],
  ])
  func `an id with other letters is refused, with advice`(_ arguments: [String]) throws {
    let error = try #require(throws: (any Error).self) { try LiquidAuthCommand.parseAsRoot(arguments) }
    let sentence = LiquidAuthCommand.mistake(error, in: arguments).description
    #expect(sentence.hasSuffix(": the id of a site is ASCII; encode other letters, as in xn--bcher-kva.example"))
  }

  // Holds: INPUT-8
  @Test(arguments: [
    " ", "https://example.com", "HTTPS://example.com", "http://localhost", "https://example.com/login", "https://",
    "example.com/", "example.com/login", "/", "//example.com", "example.com:8443", "localhost:3000", "example.com:",
    "example.com?a=b", "example.com#top", "anna@example.com", "example.com ", " example.com", "example\n.com",
    "example.com.", "example.com:443/login", "example.com:/login", "example.com:443?a=b", "[::1]:80",
    "pam://", "example\u{7F}", "",
  ])
  func `an address is refused as a relying party id`(origin: String) throws {
    let error = #expect(throws: (any Error).self) {
      try LiquidAuthCommand.parseAsRoot(["derive", "--rp", origin, "--user-handle", "a"])
    }
    let mistake = LiquidAuthCommand.mistake(try #require(error), in: [])
    #expect(mistake.text.hasPrefix("liquid-auth: the value '\(origin.printable)' is invalid for '--rp <id>': "))
    #expect(mistake.description.contains(" relying party id"))
    #expect(mistake.code == .usage)
  }

  static func phrase() throws -> BIP39Phrase {
    let text = try Vector("deterministic-p256").upstream.phrase.text
    return try BIP39Phrase(parsing: Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) })
  }
}
