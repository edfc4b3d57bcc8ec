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
