import Testing

@testable import AlgorandTransaction

@Suite struct MessagePackTests {
  /// The lowest and highest value of each head of the msgpack specification.
  @Test(
    arguments: [
      (UInt64(0), [0x00]), (0x7F, [0x7F]), (0x80, [0xCC, 0x80]), (0xFF, [0xCC, 0xFF]), (0x100, [0xCD, 1, 0]),
      (0xFFFF, [0xCD, 0xFF, 0xFF]), (0x1_0000, [0xCE, 0, 1, 0, 0]), (0xFFFF_FFFF, [0xCE, 0xFF, 0xFF, 0xFF, 0xFF]),
      (0x1_0000_0000, [0xCF, 0, 0, 0, 1, 0, 0, 0, 0]), (.max, [0xCF] + [UInt8](repeating: 0xFF, count: 8)),
    ] as [(UInt64, [UInt8])])
  func `numbers have the shortest head`(number: UInt64, bytes: [UInt8]) throws {
    #expect(MessagePack.unsigned(number).encoded == bytes)
    guard case .unsigned(number) = try MessagePackDecoder.decode(bytes) else {
      Issue.record("\(bytes) are another value")
      return
    }
  }

  @Test(
    arguments: [
      (0, [0xC4, 0], [0xA0], [0x90]), (1, [0xC4, 1], [0xA1], [0x91]), (15, [0xC4, 15], [0xAF], [0x9F]),
      (16, [0xC4, 16], [0xB0], [0xDC, 0, 16]), (31, [0xC4, 31], [0xBF], [0xDC, 0, 31]),
      (32, [0xC4, 32], [0xD9, 32], [0xDC, 0, 32]), (255, [0xC4, 255], [0xD9, 255], [0xDC, 0, 255]),
      (256, [0xC5, 1, 0], [0xDA, 1, 0], [0xDC, 1, 0]),
      (65_530, [0xC5, 0xFF, 0xFA], [0xDA, 0xFF, 0xFA], [0xDC, 0xFF, 0xFA]),
    ] as [(Int, [UInt8], [UInt8], [UInt8])])
  func `lengths have the shortest head`(count: Int, bytes: [UInt8], text: [UInt8], array: [UInt8]) throws {
    let values: [(MessagePack, [UInt8])] = [
      (.bytes([UInt8](repeating: 0, count: count)), bytes),
      (.text(String(repeating: "\0", count: count)), text),
      (.array([MessagePack](repeating: .unsigned(0), count: count)), array),
    ]
    for (value, head) in values {
      let expected = head + [UInt8](repeating: 0, count: count)
      #expect(value.encoded == expected)
      #expect(try MessagePackDecoder.decode(expected).encoded == expected)
    }
  }

  @Test(
    arguments: [
      ([0xC5, 0x00, 0xFF], 255), ([0xC6, 0, 0, 0xFF, 0xFF], 65_535), ([0xD9, 31], 31), ([0xDA, 0, 0xFF], 255),
      ([0xDB, 0, 0, 0xFF, 0xFF], 65_535), ([0xDC, 0, 15], 15), ([0xDD, 0, 0, 0xFF, 0xFF], 65_535), ([0xDE, 0, 15], 15),
      ([0xDF, 0, 0, 0xFF, 0xFF], 65_535), ([0xCC, 0x7F], 0), ([0xCD, 0, 0xFF], 0), ([0xCE, 0, 0, 0xFF, 0xFF], 0),
      ([0xCF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], 0),
    ] as [([UInt8], Int)])
  func `the largest value of a shorter head is refused with a longer head`(head: [UInt8], count: Int) {
    #expect(throws: TransactionError.notShortest) {
      try MessagePackDecoder.decode(head + [UInt8](repeating: 0, count: min(count, 65_000)))
    }
  }

  @Test(
    arguments: [
      (1, [0x81]), (15, [0x8F]), (16, [0xDE, 0, 16]), (255, [0xDE, 0, 255]), (256, [0xDE, 1, 0]),
    ] as [(Int, [UInt8])])
  func `maps have the shortest head`(count: Int, head: [UInt8]) throws {
    let members = (1000..<1000 + count).map { MessagePack.Member(key: "\($0)", value: .bool(true)) }
    let encoded = MessagePack.map(members).encoded
    #expect(Array(encoded.prefix(head.count)) == head && encoded.count == head.count + 6 * count)
    #expect(try MessagePackDecoder.decode(encoded).encoded == encoded)
  }

  /// No transaction is long enough to have one.
  @Test func `lengths above 65,535 have four bytes`() {
    let (count, zero) = (65_536, MessagePack.unsigned(0))
    let values: [(MessagePack, UInt8, Int)] = [
      (.bytes([UInt8](repeating: 0, count: count)), 0xC6, count),
      (.text(String(repeating: "\0", count: count)), 0xDB, count),
      (.array([MessagePack](repeating: zero, count: count)), 0xDD, count),
      (.map([MessagePack.Member](repeating: MessagePack.Member(key: "", value: zero), count: count)), 0xDF, 2 * count),
    ]
    for (value, head, size) in values {
      let encoded = value.encoded
      #expect(Array(encoded.prefix(5)) == [head, 0, 1, 0, 0] && encoded.count == 5 + size)
    }
  }

  @Test(arguments: [0xC0...0xC1, 0xC7...0xCB, 0xD0...0xD8, 0xE0...0xFF] as [ClosedRange<UInt8>])
  func `nil, negative numbers, floating point and extensions are refused`(heads: ClosedRange<UInt8>) {
    for head in heads {
      #expect(throws: TransactionError.unsupportedValue(head)) {
        try MessagePackDecoder.decode([head] + [UInt8](repeating: 0, count: 20))
      }
    }
  }

  @Test func `an array element may be zero; a map member may not`() throws {
    for zero in [[0x00], [0xC2], [0xA0], [0xC4, 0x00], [0x80], [0x90]] as [[UInt8]] {
      #expect(try MessagePackDecoder.decode([0x91] + zero).encoded == [0x91] + zero)
      #expect(throws: TransactionError.zeroMember("a")) { try MessagePackDecoder.decode([0x81, 0xA1, 0x61] + zero) }
    }
  }

  @Test func `values nest eight levels deep and no more`() throws {
    for head in [[0x91], [0x81, 0xA1, 0x61]] as [[UInt8]] {
      let eight = Array([[UInt8]](repeating: head, count: 8).joined()) + [1]
      #expect(try MessagePackDecoder.decode(eight).encoded == eight)
      #expect(throws: TransactionError.tooDeep) { try MessagePackDecoder.decode(head + eight) }
      // Sequential arrays do not add depth.
      let beside = [0x9F] + [[UInt8]](repeating: [0x91, 0x00], count: 15).joined()
      #expect(try MessagePackDecoder.decode(beside).encoded == beside)
      // Nor do they take any away.
      #expect(throws: TransactionError.tooDeep) { try MessagePackDecoder.decode([0x92] + head + [1] + eight) }
    }
  }
}
