import CBOR
import TestVectors
import Testing

@Suite struct `Loose CBOR` {
  struct Case: Sendable, CustomTestStringConvertible {
    let hex: String
    let value: LooseCBORValue
    var testDescription: String { hex }
    init(_ hex: String, _ value: LooseCBORValue) { (self.hex, self.value) = (hex, value) }
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let hex: String
    let why: String
    var testDescription: String { "\(why): \(hex)" }
    init(_ hex: String, _ why: String) { (self.hex, self.why) = (hex, why) }
  }

  private func decode(_ hex: String, maximumSize: Int = 255_000) throws -> LooseCBORValue {
    try LooseCBORDecoder.decode(#require(Hex(hex)).bytes, maximumSize: maximumSize)
  }

  @Test(arguments: [
    Case("b90000", [:]), Case("b90001616101", ["a": .unsigned(1)]),
    Case("b9000262626201616102", ["a": .unsigned(2), "bb": .unsigned(1)]),
    Case("ba0000000161613800", ["a": .negative(0)]), Case("bb00000000000000016161f4", ["a": .bool(false)]),
    Case("1b0000000000000007", .unsigned(7)), Case("1bffffffffffffffff", .unsigned(.max)),
    Case("3bffffffffffffffff", .negative(.max)), Case("790002c3a9", .text("\u{e9}")),
    Case("5900020102", .bytes([1, 2])), Case("990002f5f4", [.bool(true), .bool(false)]),
    Case("82f6f7", [.null, .null]), Case("f93e00", .float(1.5)), Case("fa47c35000", .float(100_000)),
    Case("fb4270000000000000", .float(1_099_511_627_776)), Case("f97c00", .float(.infinity)),
    Case("8181818181818180", [[[[[[[[]]]]]]]]),
  ])
  func `heads of any width, keys in any order, null and floating point are read`(item: Case) throws {
    #expect(try decode(item.hex) == item.value)
  }

  @Test func `a truncated item is distinguished from a complete one and from an invalid one`() throws {
    let whole = LooseCBOREncoder.encode([
      "a": .text(String(repeating: "x", count: 300)), "b": [.unsigned(70_000), .null], "c": .bytes([1, 2, 3]),
    ])
    for count in whole.indices { #expect(LooseCBORDecoder.isCutOff(Array(whole[..<count])), "\(count)") }
    for bytes in [whole, whole + [0], whole + whole] { #expect(!LooseCBORDecoder.isCutOff(bytes)) }
    for hex in ["c0", "9f", "1c", "f8", "a161619f", "81818181818181818181"] {
      #expect(!LooseCBORDecoder.isCutOff(try #require(Hex(hex)).bytes), "\(hex)")
    }
  }

  // Holds: ARC27-1
  @Test(arguments: [
    Refusal("", "nothing"), Refusal("b900", "half a head"), Refusal("b90001", "a map without its member"),
    Refusal("b900016161", "a key without its value"), Refusal("b9000100f6", "a number as a key"),
    Refusal("b900014161f6", "a byte string as a key"), Refusal("a1f6f6", "null as a key"),
    Refusal("b90002616101616102", "a key twice"),
    Refusal("818181818181818180", "nine levels"), Refusal("a00000", "bytes behind the item"),
    Refusal("bf616101ff", "a map of indefinite length"), Refusal("9fff", "an array of indefinite length"),
    Refusal("7f6161ff", "a text of indefinite length"), Refusal("5f4101ff", "bytes of indefinite length"),
    Refusal("ff", "a break"), Refusal("c11a514b67b0", "a tag: cbor-x's Date"),
    Refusal("d90103a0", "a tag: cbor-x's Map"),
    Refusal("d9dfff8300816161", "a tag: cbor-x's record"), Refusal("d8404101", "a tag: Node's Uint8Array"),
    Refusal("e0", "a simple value without a meaning"), Refusal("f820", "a simple value in two bytes"),
    Refusal("f815", "true in two bytes"), Refusal("fc", "a reserved head"), Refusal("1c", "a reserved head"),
    Refusal("fb00", "half a number"), Refusal("61ff", "text that is not UTF-8"),
    Refusal("63eda080", "a lone surrogate"),
    Refusal("a161ff01", "a key that is not UTF-8"), Refusal("9b00000000ffffffff", "an array of four thousand million"),
    Refusal("bb7fffffffffffffff", "a map of more than memory"), Refusal("bbffffffffffffffff", "a map beyond all"),
    Refusal("5bffffffffffffffff00", "bytes beyond all"), Refusal("7affffffff61", "a text of four gigabytes"),
  ])
  func `damaged, hostile and unsupported items are refused`(item: Refusal) {
    #expect(throws: CBORError.invalid("")) { try decode(item.hex) }
  }

  // Holds: ARC27-9
  @Test func `names are compared by their bytes`() throws {
    let composed: LooseCBORName = "\u{e9}"
    let decomposed: LooseCBORName = "e\u{301}"
    #expect(composed != decomposed && composed.text == decomposed.text)
    #expect(
      try decode("a262c3a9016365cc8102")
        == .map([composed: .unsigned(1), decomposed: .unsigned(2)]))
    // KELVIN SIGN.
    #expect(try decode("a163e284aa01").map?["K"] == nil)
  }

  // Holds: ARC27-9
  @Test func `a name of 64 bytes is read; a longer one is refused`() throws {
    let longest = String(repeating: "\u{300}\u{316}", count: 16)
    #expect(
      try LooseCBORDecoder.decode(Self.map(longest), maximumSize: .max) == .map([LooseCBORName(longest): .unsigned(1)]))
    for name in [longest + "a", String(repeating: "a", count: 65)] { refuses(name) }
  }

  // Holds: ARC27-9
  @Test(.whole("it measures a time"), .timeLimit(.minutes(1)))
  func `a long name is refused before it is hashed`() {
    // Its normal form takes minutes.
    refuses(String(repeating: "\u{300}\u{316}", count: 500_000))
  }

  private static func map(_ name: String) -> [UInt8] { CBOREncoder.encode(.map([.text(name): 1])) }

  private func refuses(_ name: String) {
    #expect(throws: CBORError.invalid("")) { try LooseCBORDecoder.decode(Self.map(name), maximumSize: .max) }
  }

  @Test func `more bytes than the given maximum are refused`() throws {
    #expect(try decode("43010203", maximumSize: 4) == .bytes([1, 2, 3]))
    #expect(throws: CBORError.invalid("")) { try decode("43010203", maximumSize: 3) }
  }

  // Holds: CBOR-2
  @Test func `a million open arrays cost neither stack nor memory`() {
    #expect(throws: CBORError.invalid("")) {
      try LooseCBORDecoder.decode([UInt8](repeating: 0x81, count: 1_000_000), maximumSize: .max)
    }
    #expect(throws: CBORError.invalid("")) {
      try LooseCBORDecoder.decode([UInt8](repeating: 0x9b, count: 1_000_000), maximumSize: .max)
    }
  }

  // Holds: PEERSIGNIN-3
  @Test(arguments: [
    Case("a0", [:]), Case("a2616102626262f6", ["bb": .null, "a": .unsigned(2)]),
    Case("a3616102616203626161f5", ["aa": .bool(true), "b": .unsigned(3), "a": .unsigned(2)]),
    Case("83f6190fa120", [.null, .unsigned(4001), .negative(0)]), Case("6161", "a"), Case("4101", .bytes([1])),
    Case("fb3ff8000000000000", .float(1.5)),
  ])
  func `encoding uses the shortest heads and canonical key order`(item: Case) throws {
    #expect(Hex(LooseCBOREncoder.encode(item.value)).description == item.hex)
    #expect(try decode(item.hex) == item.value)
  }

  @Test func `the CTAP2 decoder refuses items that only the loose one reads`() throws {
    for hex in ["b90000", "82f6f7", "f93e00", "1b0000000000000007", "a2626262016161f5", "8181818180"] {
      #expect(throws: Never.self) { try decode(hex) }
      let bytes = try #require(Hex(hex)).bytes
      #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode(bytes) }
    }
  }

  @Test func `random bytes are refused, or decode to a value that encodes and decodes again`() throws {
    var generator = SeededGenerator(state: 27)
    var read = 0
    for _ in 0..<20_000 {
      var bytes: [UInt8] = [[0xb9, 0x99, 0xa1, 0x82, 0x60].randomElement(using: &generator) ?? 0x80]
      bytes += (0..<Int.random(in: 0...24, using: &generator)).map { _ in
        [0, 1, 2, 0x20, 0x41, 0x61, 0x62, 0x81, 0xa1, 0xb9, 0xf6, 0xf7, 0xf9, 0xff].randomElement(using: &generator)
          ?? 0
      }
      guard let value = try? LooseCBORDecoder.decode(bytes, maximumSize: 255_000) else { continue }
      read += 1
      let again = LooseCBOREncoder.encode(value)
      #expect(
        LooseCBOREncoder.encode(try LooseCBORDecoder.decode(again, maximumSize: 255_000)) == again, "\(Hex(bytes))")
    }
    #expect(read > 100, "chance must reach the accepting side too")
  }
}
