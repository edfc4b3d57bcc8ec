import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import liquid_auth

@Suite struct DeriveTests {
  struct Vectors: Decodable {
    struct Upstream: Decodable {
      let phrase: String
    }
    struct Computed: Decodable {
      let domainKeys: [DomainKey]
    }
    struct DomainKey: Decodable, Sendable, CustomTestStringConvertible {
      let origin: String
      let userHandle: String
      let counter: UInt32
      let publicKeyRawXY: Hex
      let credentialId_sha256_of_rawXY: Hex
      var testDescription: String { "\(origin), \(userHandle), \(counter)" }
    }
    let upstream: Upstream
    let computed: Computed
  }

  static let vectors = Result { try VectorFile("deterministic-p256").decode(Vectors.self) }

  @Test(arguments: try vectors.get().computed.domainKeys)
  func `deterministic-p256: the public key and the id are those of the vector`(_ key: Vectors.DomainKey) throws {
    let derived = try DeriveCommand.derive(
      from: Self.phrase(), origin: key.origin, userHandle: Array(key.userHandle.utf8), counter: key.counter)
    #expect(Hex(derived.publicKey) == key.publicKeyRawXY)
    #expect(Hex(derived.credentialID) == key.credentialId_sha256_of_rawXY)
    #expect(
      derived.text == """
        public key     \(key.publicKeyRawXY)
        credential id  \(key.credentialId_sha256_of_rawXY)
        """)
    #expect(
      derived.json.description == """
        {
          "publicKey": "\(key.publicKeyRawXY)",
          "credentialId": "\(key.credentialId_sha256_of_rawXY)"
        }
        """)
  }

  @Test func `a handle that is no UTF-8 is taken as its base64url`() throws {
    let raw = try DeriveCommand.derive(from: Self.phrase(), origin: "a", userHandle: [0xFF, 0xFE], counter: 0)
    let text = try DeriveCommand.derive(from: Self.phrase(), origin: "a", userHandle: Array("__4".utf8), counter: 0)
    #expect(raw == text)
  }

  static func phrase() throws -> BIP39Phrase {
    try BIP39Phrase(
      parsing: Array(vectors.get().upstream.phrase.utf8).withUnsafeBytes { SecretBytes(copying: $0) })
  }
}
