import Testing

@testable import CryptoPrimitives

@Suite struct `SipHash with 128 bits` {
  /// From the reference implementation's `vectors_sip128`: the key is 00 to 0f, the message 00 to n - 1.
  @Test(
    arguments: [
      (0, 0x930255c71472f66de6a825ba047f81a3), (1, 0x45fc229b1159763444af996bd8c187da),
      (15, 0xd9c3cf970fec087e11a8b03399e99354),
    ] as [(Int, UInt128)])
  func `hashes match the reference implementation`(count: Int, hash: UInt128) {
    #expect(SipHash(key: Array(0..<16)).hash(Array(0..<UInt8(count))) == hash)
  }

  @Test func `each hasher draws its own key`() {
    #expect(SipHash().hash([1]) != SipHash().hash([1]))
  }
}
