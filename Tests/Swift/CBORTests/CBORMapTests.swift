import CBOR
import Testing

@Suite struct `CBOR map` {
  let map: CBORMap = [
    1: 7, 2: -7, 3: .bytes([1]), 4: "text", 5: [1], 6: [1: 1], 7: true, -1: .unsigned(.max), "id": "text key",
  ]

  // Holds: MSG-2
  @Test func `pairs are in canonical order, whatever their order in the input`() {
    let sorted: [CBORValue] = [
      10, 100, 256, -1, -256, .bytes([200]), .bytes([1, 1]), "b", "aa", [0], [:], false, true,
    ]
    for shift in sorted.indices {
      let keys = Array(sorted[shift...] + sorted[..<shift])
      #expect(CBORMap(keys.map { ($0, 0) }).pairs.map(\.key) == sorted)
    }
  }

  @Test func `array keys are ordered by encoded length before bytes`() {
    let map: CBORMap = [[1000]: 0, [1, 2]: 0, [100]: 0]
    #expect(map.pairs.map(\.key) == [[100], [1, 2], [1000]])
  }

  @Test func `the last of two pairs with the same key counts, and nil removes`() {
    var map = CBORMap([(1, "first"), (1, "second")])
    #expect(map.count == 1)
    #expect(map[1] == "second")
    map[2] = 2
    map[1] = nil
    map[9] = nil
    #expect(map == [2: 2])
    #expect(!map.isEmpty)
    #expect(map[1] == nil)
  }

  @Test func `members are found by type`() throws {
    #expect(try map.requiredUnsigned(1) == 7)
    #expect(try map.requiredUnsigned(-1) == .max)
    #expect(try map.requiredInt(2) == -7)
    #expect(try map.requiredBytes(3) == [1])
    #expect(try map.requiredText(4) == "text")
    #expect(try map.requiredArray(5) == [1])
    #expect(try map.requiredMap(6) == [1: 1])
    #expect(try map.requiredBool(7))
    #expect(try map.optionalText("id") == "text key")
  }

  @Test func `an absent member is nil or missing`() throws {
    #expect(try map.optionalUnsigned(99) == nil)
    #expect(try map.optionalInt(99) == nil)
    #expect(try map.optionalBytes(99) == nil)
    #expect(try map.optionalText(99) == nil)
    #expect(try map.optionalArray(99) == nil)
    #expect(try map.optionalMap(99) == nil)
    #expect(try map.optionalBool(99) == nil)
    #expect(throws: CBORError.missing("")) { try map.requiredUnsigned(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredInt(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredBytes(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredText(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredArray(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredMap(99) }
    #expect(throws: CBORError.missing("")) { try map.requiredBool("absent") }
  }

  @Test func `a member of another type is an error, even if it is optional`() {
    #expect(throws: CBORError.unexpectedType("")) { try map.optionalUnsigned(2) }
    #expect(throws: CBORError.unexpectedType("")) { try map.optionalInt(-1) }
    #expect(throws: CBORError.unexpectedType("")) { try map.optionalBytes(4) }
    #expect(throws: CBORError.unexpectedType("")) { try map.optionalText(3) }
    #expect(throws: CBORError.unexpectedType("")) { try map.requiredArray(6) }
    #expect(throws: CBORError.unexpectedType("")) { try map.requiredMap(5) }
    #expect(throws: CBORError.unexpectedType("")) { try map.requiredBool(1) }
  }

  @Test func `errors name the member, not its content`() {
    #expect(throws: CBORError.self) { try CBORMap().requiredBytes(2) }
    let missing = #expect(throws: CBORError.self) { try CBORMap().requiredText("rp") }
    #expect(missing?.description == "missing CBOR member: member \"rp\"")
    let wrong = #expect(throws: CBORError.self) { try map.requiredBytes(4) }
    #expect(wrong?.description == "unexpected CBOR type: member 4 is not a byte string")
    #expect(CBORValue.bytes([1, 2]).description == "bytes(2)")
    #expect(CBORValue.text("secret").description == "text(6)")
  }
}
