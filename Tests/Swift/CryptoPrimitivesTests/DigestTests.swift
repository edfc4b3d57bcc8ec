import CryptoPrimitives
import TestVectors
import Testing

/// The samples of FIPS 180-4 ("abc" and the empty message), and inputs in parts.
@Suite struct DigestTests {
  private let abc = Array("abc".utf8)

  @Test func `SHA-256 gives the standard's samples`() {
    #expect(SHA256.hash(abc) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(SHA256.hash([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
  }

  @Test func `SHA-1 gives the standard's samples`() {
    #expect(SHA1.hash(abc) == hex("a9993e364706816aba3e25717850c26c9cd0d89d"))
    #expect(SHA1.hash([]) == hex("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
  }

  @Test func `SHA-384 gives the standard's samples`() {
    #expect(
      SHA384.hash(abc)
        == hex(
          "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
            + "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"))
    #expect(
      SHA384.hash([])
        == hex(
          "38b060a751ac96384cd9327eb1b1e36a21fdb71114be0743"
            + "4c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"))
  }

  @Test func `SHA-512 gives the standard's samples`() {
    #expect(
      SHA512.hash(abc)
        == hex(
          "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"))
    #expect(
      SHA512.hash()
        == hex(
          "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"))
  }

  @Test func `SHA-512_256 gives the standard's sample`() {
    #expect(SHA512_256.hash(abc) == hex("53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"))
    #expect(SHA512_256.hash() == hex("c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"))
  }

  @Test func `parts are hashed as if joined`() {
    let (a, b) = ([UInt8](repeating: 1, count: 127), [UInt8](repeating: 2, count: 2))
    #expect(SHA256.hash(a, [], b) == SHA256.hash(a + b))
    #expect(SHA512.hash(a, [], b) == SHA512.hash(a + b))
    #expect(SHA512_256.hash(a, [], b) == SHA512_256.hash(a + b))
  }

  @Test func `a secret is hashed before the rest and the digest is cut`() {
    let secret = SHA512.deriveSecret(SecretBytes(abc), [1, 2, 3], count: 33)
    #expect(secret.revealed == Hex(SHA512.hash(abc + [1, 2, 3]).prefix(33)))
  }
}
