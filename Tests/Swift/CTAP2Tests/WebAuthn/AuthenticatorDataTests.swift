import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import TestVectors
import Testing

@Suite struct AuthenticatorDataTests {
  private func key(_ algorithm: String) throws -> CredentialPublicKey {
    let credentials = try Vector("keys-and-recovery").credentials.array
    let bytes = try #require(credentials.first { $0.algorithm.text == algorithm }).publicKey.bytes
    return algorithm == "EdDSA"
      ? .edDSA(bytes) : .es256(try P256.PublicKey(x: Array(bytes[..<32]), y: Array(bytes[32...])))
  }

  @Test func `authenticator data without credential and extensions have 37 bytes`() throws {
    let hash = try #require(RPIDHash(bytes: [UInt8](repeating: 0xAA, count: 32)))
    let data = AuthenticatorData(rpIDHash: hash, flags: [.userPresent, .userVerified], signCount: 0x0102_0304)
    #expect(Hex(data.bytes).description == String(repeating: "aa", count: 32) + "0501020304")
  }

  // Holds: MC-17
  @Test func `the flags AT and ED follow from the content`() throws {
    let hash = try #require(RPIDHash(bytes: [UInt8](repeating: 0xAA, count: 32)))
    let data = AuthenticatorData(
      rpIDHash: hash, flags: [.userPresent, .attestedCredentialData, .extensionData], signCount: 0)
    #expect(data.flags.rawValue == 0x01)
    let extended = AuthenticatorData(
      rpIDHash: hash, flags: [.userPresent], signCount: 0, extensions: ["credProtect": 2])
    #expect(
      Hex(extended.bytes).description == String(repeating: "aa", count: 32) + "8100000000a16b6372656450726f7465637402")
  }

  // Holds: MC-25
  @Test func `attested credential data are aaguid, length, id and key`() throws {
    let key = try key("ES256")
    let attested = AttestedCredentialData(aaguid: .liquidAuth, credentialID: [1, 2, 3], publicKey: COSEKey(key))
    let coordinates = (Hex(key.bytes.prefix(32)), Hex(key.bytes.suffix(32)))
    let expected =
      "83e27e5d962b474dbe2c9c194dd147a90003010203a5010203262001215820\(coordinates.0)225820\(coordinates.1)"
    #expect(Hex(attested.bytes).description == expected)

    let hash = try #require(RPIDHash(bytes: [UInt8](repeating: 0, count: 32)))
    let data = AuthenticatorData(
      rpIDHash: hash, flags: [.backupEligible, .backupState], signCount: 0, attestedCredentialData: attested)
    #expect(data.flags.rawValue == 0x58)
    #expect(Hex(data.bytes.dropFirst(37)).description == expected)
  }

  // Holds: MC-25
  @Test func `an EdDSA key has four members`() throws {
    let key = try key("EdDSA")
    #expect(Hex(COSEKey(key).bytes).description == "a4010103272006215820\(Hex(key.bytes))")
  }
}
