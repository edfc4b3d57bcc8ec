import CBOR
import TestVectors
import Testing

@Suite struct `CBOR encoder` {
  // Holds: MSG-2
  @Test func `integers take their shortest form`() throws {
    for integer in try Vector("cbor-canonical").canonical_integers.array {
      let number = integer[0].integer(Int64.self)
      #expect(Hex(CBOREncoder.encode(CBORValue(number))) == integer[1].hex)
      #expect(try CBORDecoder.decode(integer[1].bytes).int == number)
    }
  }

  @Test(
    arguments: [
      (CBORValue.unsigned(.max), "1bffffffffffffffff"), (.negative(.max), "3bffffffffffffffff"),
      (CBORValue(Int64.min), "3b7fffffffffffffff"), (CBORValue(Int.max), "1b7fffffffffffffff"),
      (.bytes([]), "40"), ("", "60"), ([], "80"), ([:], "a0"), (true, "f5"), (false, "f4"),
      (
        ["b": 1, "aa": 2, 10: 3, -1: 4, .bytes([9]): 5, [0]: 6, [1: 1]: 7, true: 8, false: 9],
        "a90a03200441090561620162616102810006a1010107f409f508"
      ),
    ] as [(CBORValue, String)])
  func `values become exactly these bytes`(value: CBORValue, hex: String) throws {
    #expect(Hex(CBOREncoder.encode(value)).description == hex)
    #expect(try CBORDecoder.decode(CBOREncoder.encode(value)) == value)
  }

  // Holds: MSG-2
  @Test(arguments: [(23, "57"), (24, "5818"), (255, "58ff"), (256, "590100"), (65535, "59ffff"), (65536, "5a00010000")])
  func `lengths take their shortest form`(count: Int, head: String) throws {
    let content = [UInt8](repeating: 7, count: count)
    let bytes = CBOREncoder.encode(.bytes(content))
    #expect(Hex(bytes.dropLast(count)).description == head)
    #expect(try CBORDecoder.decode(bytes) == .bytes(content))
  }
}

/// Content that is written and read item by item.
@Suite struct CBORCursorTests {
  @Test(arguments: [0, 23, 24, 255, 256, 65_535, 65_536, 1 << 32])
  func `heads are the shortest`(count: Int) throws {
    let number = CBOREncoder.encode(.unsigned(UInt64(count)))
    for (head, majorType) in [
      (CBOREncoder.head(ofBytes: count), 0x40), (CBOREncoder.head(ofArray: count), 0x80),
      (CBOREncoder.head(ofMap: count), 0xA0),
    ] as [([UInt8], UInt8)] {
      #expect(head == [number[0] | majorType] + number.dropFirst())
    }
  }

  @Test func `a cursor reads each item of a range, and nothing after it`() throws {
    let bytes = [0xFF] + CBOREncoder.encode([1: .bytes([7, 8]), 2: [-1, "é", true, false]]) + [0x00]
    var cursor = CBORCursor(1..<bytes.count - 1)
    #expect(try cursor.next(in: bytes) == .map(count: 2))
    #expect(try cursor.next(in: bytes) == .unsigned(1))
    #expect(try cursor.next(in: bytes) == .bytes(4..<6))
    #expect(try cursor.next(in: bytes) == .unsigned(2))
    #expect(try cursor.next(in: bytes) == .array(count: 4))
    #expect(try cursor.next(in: bytes) == .negative(0))
    #expect(try cursor.next(in: bytes) == .text(10..<12))
    #expect(try cursor.next(in: bytes) == .bool(true))
    #expect(try cursor.next(in: bytes) == .bool(false) && cursor.isAtEnd)
    #expect(throws: CBORError.invalid("")) { try cursor.next(in: bytes) }
  }

  @Test(
    arguments: [
      [], [0x18], [0x18, 0x17], [0x42, 1], [0x62, 1], [0x82, 0], [0xA1, 0], [0xC0], [0x5F], [0xF6], [0xFA, 0, 0, 0, 0],
      [0x9B, 0, 0, 0, 1, 0, 0, 0, 0], [0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func `what is not canonical or is cut off is refused, and the cursor stays`(bytes: [UInt8]) {
    // The bytes after the range would complete the item.
    let longer = bytes + [UInt8](repeating: 0, count: 16)
    var cursor = CBORCursor(bytes.indices)
    #expect(throws: CBORError.invalid("")) { try cursor.next(in: longer) }
    #expect(cursor.offset == 0)
  }
}
