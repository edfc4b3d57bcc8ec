import CryptoPrimitives
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

/// Released secrets and shares leave no copy in memory.
@Suite(.serialized) struct SLIP39MemoryHygieneTests {
  /// Splits a random secret, reads the words of the shares, and combines them.
  private static func use(_ scan: MemoryScan) throws {
    let secret = SecretBytes.random(count: 32)
    scan.remember(secret)
    var generator = SystemRandomNumberGenerator()
    let shares = try Shares.split(secret, threshold: 3, count: 4, iterationExponent: 0, using: &generator)
    var read: [Share] = []
    for share in shares.suffix(3) {
      let words = share.utf8
      scan.remember(share.value)
      scan.remember(words, inPiecesOf: 32)
      read.append(try Share(parsing: words))
    }
    scan.remember(try Shares.combine(read))
  }

  // Holds: SLIP39-8
  @Test func `no copy of a released secret, share or word remains`() throws {
    let scan = try MemoryScan()
    // A first run, because the dynamic linker saves registers on the stack at the first call of a function.
    try MemoryScan().run(Self.use)
    try scan.run(Self.use)
    #expect(try scan.copies() == 0)
  }
}
