import CBOR
import TestVectors
import Testing

/// `cbor-canonical.json`: python-fido2's vectors, and invalid items written from CTAP §8.
private func canonical(_ kind: String) throws -> [Vector] { try Vector("cbor-canonical")[kind].array }

@Suite struct `CBOR decoder` {
  @Test(arguments: try canonical("valid_ctap2"))
  func `a valid item decodes and encodes to the same bytes`(item: Vector) throws {
    #expect(Hex(CBOREncoder.encode(try CBORDecoder.decode(item.bytes))) == item.hex)
  }

  @Test(arguments: try canonical("canonical_maps_reencode_identically"))
  func `a canonical map decodes and encodes to the same bytes`(item: Vector) throws {
    #expect(Hex(CBOREncoder.encode(try CBORDecoder.decode(item.bytes))) == item.hex)
  }

  // Holds: CBOR-1, MSG-1
  @Test(arguments: try canonical("valid_cbor_but_unused_or_not_canonical_in_ctap2"))
  func `valid CBOR that CTAP2 does not use is refused`(item: Vector) {
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode(item.bytes) }
  }

  // Holds: CBOR-1, CBOR-3, MSG-1
  @Test(arguments: try canonical("reject"))
  func `an item that is not canonical is refused`(reject: Vector) {
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode(reject["hex"].bytes) }
  }

  @Test func `every type decodes to its value`() throws {
    let bytes = try #require(Hex("a601182a0238290343010203046375c3bc05820182a080f5f4"))
    #expect(
      try CBORDecoder.decode(bytes.bytes)
        == [1: 42, 2: -42, 3: .bytes([1, 2, 3]), 4: "uü", 5: [1, [[:], []]], true: false])
  }

  // Holds: CBOR-2, MSG-1
  @Test(arguments: [
    ("", "nothing"), ("1bffffffff", "half an argument"), ("1900", "half an argument"),
    ("9bffffffffffffffff00", "an array of 2^64 - 1"), ("bb8000000000000000", "a map of 2^63 pairs: 2^64 items"),
    ("ba7fffffff0000", "a map of 2^31 pairs"), ("9a00ffffff00", "an array of 16 million"),
    ("5bffffffffffffffff", "bytes of 2^64 - 1"), ("7b7fffffffffffffff61", "text of 2^63 - 1"),
    ("a10000a0", "a second item"), ("1cff", "reserved 28"), ("3d", "reserved 29"), ("5e", "reserved 30"),
    ("f800", "simple 0 in two bytes"), ("f814", "false in two bytes"), ("f3", "simple 19"),
    ("63eda080", "a surrogate"), ("62c080", "an overlong NUL"), ("64f4908080", "beyond U+10FFFF"),
    ("a241320041310041", "a map cut off in a key"), ("a2613100", "a map cut off between pairs"),
    ("a242000000410000", "a longer key before a shorter one"), ("a2f500f400", "true before false"),
    ("a2810000810000", "the same array twice as a key"),
  ])
  func `hostile heads are refused`(item: (hex: String, why: String)) throws {
    let bytes = try #require(Hex(item.hex)).bytes
    #expect(throws: CBORError.invalid(""), "\(item.why)") { try CBORDecoder.decode(bytes) }
  }

  // Holds: CBOR-1, MSG-1
  @Test func `four levels of nesting are read, and a fifth is refused`() throws {
    #expect(try CBORDecoder.decode([0x81, 0xa1, 0x01, 0x81, 0x81, 0x00]) == [[1: [[0]]]])
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode([0x81, 0xa1, 0x01, 0x81, 0x81, 0x80]) }
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode([0xa1, 0x81, 0x81, 0x81, 0x81, 0x00, 0x00]) }
  }

  @Test func `a closed level does not count`() throws {
    let siblings: CBORValue = [[[[0]], [[1]]], [[[2]]], 3]
    #expect(try CBORDecoder.decode(CBOREncoder.encode(siblings)) == siblings)
  }

  @Test func `files of our own may be nested deeper`() throws {
    let five: [UInt8] = [0x81, 0x81, 0x81, 0x81, 0x81, 0x00]
    #expect(try CBORDecoder.decode(five, maximumDepth: 5) == [[[[[0]]]]])
    #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode([0x80], maximumDepth: 0) }
    #expect(throws: CBORError.invalid("")) {
      try CBORDecoder.decode([UInt8](repeating: 0x81, count: 65) + [0], maximumDepth: .max)
    }
  }

  @Test func `text keeps its exact bytes`() throws {
    let composed: [UInt8] = [0x62, 0xc3, 0xa9]
    let decomposed: [UInt8] = [0x63, 0x65, 0xcc, 0x81]
    let (first, second) = (try CBORDecoder.decode(composed), try CBORDecoder.decode(decomposed))
    #expect(first.text == second.text, "Swift's own equality is canonical equivalence")
    #expect(first != second)
    #expect(CBOREncoder.encode(first) == composed)
    #expect(CBOREncoder.encode(second) == decomposed)
  }

  @Test func `keys that are canonically equivalent are different`() throws {
    let bytes = try #require(Hex("a262c3a9016365cc8102")).bytes
    let map = try #require(try CBORDecoder.decode(bytes).map)
    #expect(map["\u{e9}"] == 1)
    #expect(map["e\u{301}"] == 2)
  }
}

@Suite struct `OpenSK's corpus` {
  /// Indexes in the file: numbers, strings, the definite map, and the command parameters except one that is cut off.
  static let canonical: Set = [0, 1, 8, 9, 10, 11, 16, 18, 19, 20, 21, 22, 23, 25, 26, 27, 28, 29]

  @Test func `each item is read or refused, as by an independent decoder`() throws {
    let items = try Vector("opensk-ctap2-params-corpus").items.array.map(\.["hex"].bytes)
    #expect(items.count == 30)
    for (index, item) in items.enumerated() {
      if Self.canonical.contains(index) {
        #expect(Hex(CBOREncoder.encode(try CBORDecoder.decode(item))) == Hex(item), "item \(index)")
      } else {
        #expect(throws: CBORError.invalid(""), "item \(index)") { try CBORDecoder.decode(item) }
      }
    }
  }
}
