import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct AlgorandAddressTests {
  // Holds: WALLET-28
  @Test func `an address in groups has four characters in each, and six in the last`() {
    let address = AlgorandAddress(publicKey: [UInt8](repeating: 7, count: 32))
    let groups = address.grouped.split(separator: " ")
    #expect(groups.map(\.count) == Array(repeating: 4, count: 13) + [6])
    #expect(groups.joined() == address.text)
  }

  private let vectors: Vector
  init() throws { vectors = try Vector("algorand") }

  @Test func `public keys and addresses are converted both ways`() throws {
    #expect(vectors.addresses.array.count == 28)
    for vector in vectors.addresses.array {
      let address = AlgorandAddress(publicKey: vector.publicKey.bytes)
      #expect(address.text == vector.address.text)
      if let checksum = vector.checksum.optional?.hex {
        #expect(Hex(SHA512_256.hash(vector.publicKey.bytes).suffix(4)) == checksum)
      }
      #expect((AlgorandAddress(text: Array(vector.address.text.utf8)) == address) == vector.valid.isTrue)
      if let seed = vector.ed25519Seed.optional?.hex {
        #expect(Hex(try Ed25519.PrivateKey(seed: SecretBytes(seed.bytes)).publicKey) == vector.publicKey.hex)
      }
    }
  }

  @Test func `text is an address only with a valid checksum`() throws {
    let checks = vectors.addressChecks.array.map { ($0.address.text, isValid: $0.valid.isTrue) }
    #expect(checks.map(\.isValid) == [true, false])
    let entries = try Vector("keys-and-recovery").algorandAddressUserId.array
    #expect(entries.count == 6)
    let userIDs = entries.map { ($0.userIdText.text, isValid: $0.address.isTrue) }
    for (text, isValid) in checks + userIDs + [(vectors.programHash.address.text, isValid: true)] {
      let address = AlgorandAddress(text: Array(text.utf8))
      #expect((address != nil) == isValid, "\(text)")
      #expect(address.map { $0.text == text } ?? true)
    }
  }

  @Test func `only the canonical text is read`() throws {
    let text = Array(vectors.addresses[0].address.text.utf8)
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
