import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct AlgorandAddressTests {
  struct Vectors: Decodable {
    struct Address: Decodable {
      let address: String
      let publicKey: Hex
      let checksum: Hex?
      let ed25519Seed: Hex?
      let valid: Bool
    }
    struct Check: Decodable {
      let address: String
      let valid: Bool
    }
    struct Program: Decodable { let address: String }
    let addresses: [Address]
    let addressChecks: [Check]
    let programHash: Program
  }

  struct UserIDs: Decodable {
    struct Entry: Decodable {
      let userIdText: String
      let address: Bool
    }
    let algorandAddressUserId: [Entry]
  }

  private let vectors: Vectors
  init() throws { vectors = try VectorFile("algorand").decode(Vectors.self) }

  @Test func `public keys and addresses go both ways`() throws {
    #expect(vectors.addresses.count == 28)
    for vector in vectors.addresses {
      let address = AlgorandAddress(publicKey: vector.publicKey.bytes)
      #expect(address.text == vector.address)
      if let checksum = vector.checksum {
        #expect(Hex(SHA512_256.hash(vector.publicKey.bytes).suffix(4)) == checksum)
      }
      #expect((AlgorandAddress(text: Array(vector.address.utf8)) == address) == vector.valid)
      if let seed = vector.ed25519Seed {
        #expect(Hex(try Ed25519.PrivateKey(seed: SecretBytes(seed.bytes)).publicKey) == vector.publicKey)
      }
    }
  }

  @Test func `the checksum decides`() throws {
    #expect(vectors.addressChecks.map(\.valid) == [true, false])
    let entries = try VectorFile("keys-and-recovery").decode(UserIDs.self).algorandAddressUserId
    #expect(entries.count == 6)
    let checks = vectors.addressChecks + entries.map { Vectors.Check(address: $0.userIdText, valid: $0.address) }
    for check in checks + [Vectors.Check(address: vectors.programHash.address, valid: true)] {
      let address = AlgorandAddress(text: Array(check.address.utf8))
      #expect((address != nil) == check.valid, "\(check.address)")
      #expect(address.map { $0.text == check.address } ?? true)
    }
  }

  @Test func `only the canonical text is read`() throws {
    let text = Array(vectors.addresses[0].address.utf8)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    #expect(AlgorandAddress(text: text) != nil)
    #expect(AlgorandAddress(text: []) == nil)
    #expect(AlgorandAddress(text: Array(text.dropLast())) == nil)
    #expect(AlgorandAddress(text: text + Array("A".utf8)) == nil)
    #expect(AlgorandAddress(text: text + Array("======".utf8)) == nil)
    for position in text.indices {
      for character in [UInt8]("a018=\0 ~".utf8) + [0xff] {
        var changed = text
        changed[position] = character
        #expect(AlgorandAddress(text: changed) == nil)
      }
      for character in alphabet where character != text[position] {
        var changed = text
        changed[position] = character
        #expect(AlgorandAddress(text: changed) == nil)
      }
    }
  }
}
