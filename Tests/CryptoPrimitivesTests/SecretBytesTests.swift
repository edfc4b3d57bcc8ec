import CryptoPrimitives
import TestVectors
import Testing

@Suite struct SecretBytesTests {
  @Test func `what the closure writes is what is lent`() {
    let secret = SecretBytes(count: 4) { $0.copyBytes(from: [1, 2, 3, 4]) }
    #expect(secret.count == 4)
    #expect(secret.revealed == Hex([1, 2, 3, 4]))
  }

  @Test func `bytes that the closure leaves alone are zero`() {
    #expect(SecretBytes(count: 5) { $0[2] = 7 }.revealed == Hex([0, 0, 7, 0, 0]))
  }

  @Test func `a secret may be empty`() {
    #expect(SecretBytes([]).count == 0)
    #expect(SecretBytes([]).isEqual(to: SecretBytes([])))
  }

  @Test func `the error of the closure is thrown on`() {
    #expect(throws: CryptoError.invalidLength) {
      try SecretBytes(count: 8) { _ throws(CryptoError) in throw .invalidLength }
    }
  }

  @Test func `consuming an array empties it`() {
    var entered: [UInt8] = [1, 2, 3]
    let secret = SecretBytes(consuming: &entered)
    #expect(entered == [])
    #expect(secret.revealed == Hex([1, 2, 3]))
  }

  @Test func `equality is by all bytes and by length`() {
    let secret = SecretBytes([1, 2, 3])
    #expect(secret.isEqual(to: SecretBytes([1, 2, 3])))
    #expect(!secret.isEqual(to: SecretBytes([1, 2, 4])))
    #expect(!secret.isEqual(to: SecretBytes([0, 2, 3])))
    #expect(!secret.isEqual(to: SecretBytes([1, 2])))
  }

  @Test func `a printed secret shows its length only`() {
    let secret = SecretBytes([0x61, 0x62, 0x63])
    var dumped = ""
    dump(secret, to: &dumped)
    #expect("\(secret)" == "SecretBytes(3)")
    #expect(String(reflecting: secret) == "SecretBytes(3)")
    #expect(dumped == "- SecretBytes(3) #0\n")
  }

  @Test func `chance gives other bytes each time`() {
    #expect(!SecretBytes.random(count: 32).isEqual(to: SecretBytes.random(count: 32)))
    #expect(randomBytes(32) != randomBytes(32))
    #expect(randomBytes(0) == [])
  }

  @Test(arguments: [([1, 2], [1, 2], true), ([1, 2], [1, 3], false), ([1, 2], [1], false), ([], [], true)])
  func `public bytes are compared by all bytes and by length`(_ a: [UInt8], _ b: [UInt8], _ expected: Bool) {
    #expect(constantTimeEqual(a, b) == expected)
  }
}
