import CBOR
import TestVectors
import Testing

/// SplitMix64 with a seed, so that a failure can be reproduced.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// Damaged real messages, and random input.
@Suite struct `Hostile CBOR` {
  /// Checks that an item decodes and encodes to the same bytes, or is refused as `invalid`.
  @discardableResult
  private func readsCanonicallyOrThrows(_ bytes: [UInt8]) -> Bool {
    do {
      let again = CBOREncoder.encode(try CBORDecoder.decode(bytes))
      #expect(again == bytes, "\(Hex(bytes)) was read but is not canonical")
      return true
    } catch {
      #expect(error == .invalid(""), "\(Hex(bytes))")
      return false
    }
  }

  // Holds: CBOR-4
  @Test func `truncations and changed bits of real messages are refused or canonical`() throws {
    let messages = try Vector("opensk-ctap2-params-corpus").items.array.map(\.["hex"].bytes)
    for message in messages where (try? CBORDecoder.decode(message)) != nil {
      for count in 0..<message.count {
        #expect(!readsCanonicallyOrThrows(Array(message.prefix(count))), "a part of an item is no item")
      }
      for index in message.indices {
        // In the gate, one bit of each byte.
        for bit in isWhole ? 0..<8 : index % 8..<index % 8 + 1 {
          var damaged = message
          damaged[index] ^= 1 << UInt8(bit)
          readsCanonicallyOrThrows(damaged)
        }
      }
    }
  }

  // Holds: CBOR-4
  @Test func `random bytes are refused or canonical`() {
    var generator = SeededGenerator(state: 2)
    var read = 0
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      if readsCanonicallyOrThrows(bytes) { read += 1 }
    }
    #expect(read > 100, "chance must reach the accepting side too")
  }

  @Test func `random bytes after container heads are refused or canonical`() {
    var generator = SeededGenerator(state: 3)
    for _ in 0..<20_000 {
      var bytes: [UInt8] = [[0x82, 0xa1, 0xa2, 0xb8, 0x98, 0xbb, 0x9b].randomElement(using: &generator) ?? 0x80]
      bytes += (0..<Int.random(in: 1...40, using: &generator)).map { _ in
        [0, 1, 0x20, 0x40, 0x41, 0x61, 0x80, 0x81, 0xa0, 0xa1, 0xf4, 0xff, 0x18].randomElement(using: &generator) ?? 0
      }
      readsCanonicallyOrThrows(bytes)
    }
  }

  // Holds: CBOR-2
  @Test func `a million open arrays cost neither stack nor memory`() {
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode([UInt8](repeating: 0x81, count: 1_000_000)) }
    #expect(throws: CBORError.invalid("")) {
      try CBORDecoder.decode([UInt8](repeating: 0x9b, count: 1_000_000), maximumDepth: .max)
    }
  }
}
