import CryptoPrimitives
import TestVectors
import Testing

/// RFC 4231 §4.2, §4.3 and §4.7: keys shorter and longer than a block.
@Suite struct HMACTests {
  struct Sample: Sendable {
    let key: [UInt8]
    let message: [UInt8]
    let sha256: String
    let sha512: String
  }

  static let samples = [
    Sample(
      key: Array(repeating: 0x0b, count: 20), message: Array("Hi There".utf8),
      sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
      sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
        + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"),
    Sample(
      key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
      sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"),
    Sample(
      key: Array(repeating: 0xaa, count: 131),
      message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
      sha512: "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
        + "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"),
  ]

  @Test(arguments: samples) func `tags match RFC 4231`(_ sample: Sample) {
    let key = SecretBytes(sample.key)
    #expect(HMACSHA256.authenticate(sample.message, key: key) == hex(sample.sha256))
    #expect(HMACSHA512.authenticate(sample.message, key: key) == hex(sample.sha512))
    let kept = HMACSHA512.Key(key)
    for _ in 0..<2 { #expect(kept.authenticate(sample.message) == hex(sample.sha512)) }
  }

  @Test(arguments: samples) func `a secret tag is a prefix of the tag`(_ sample: Sample) {
    let key = SecretBytes(sample.key)
    for count in [0, 16, 32] {
      #expect(
        HMACSHA512.Key(key).deriveSecret(sample.message, count: count).revealed == Hex(hex(sample.sha512).prefix(count))
      )
    }
  }

  @Test func `an empty key and an empty message have a tag`() {
    // hmac.new(b"", b"", "sha512") of Python's standard library.
    #expect(
      HMACSHA512.authenticate([], key: SecretBytes([]))
        == hex(
          "b936cee86c9f87aa5d3c6f2e84cb5a4239a5fe50480a6ec66b70ab5b1f4ac673"
            + "0c6c515421b327ec1d69402e53dfb49ad7381eb067b338fd7b0cb22247225d47"))
  }
}
