import CBOR
import TestVectors

/// CBOR in the form of CTAP2, and as web pages write it.
enum CBORTargets {
  static let all: [Target] = [
    Target(
      "cbor", of: "an item of CBOR in CTAP2's canonical form", atMost: 1800, seeds: { try items() }, read: readItem),
    Target(
      "cbor-loose", of: "an item of CBOR as web pages write it", atMost: 1800,
      seeds: {
        try items() + [[0xF6], [0xF7], [0xFB] + [UInt8](repeating: 1, count: 8), [0xB9, 0, 1, 0x61, 0x61, 0xF9, 0, 0]]
      },
      read: readLooseItem),
  ]

  /// A decoder accepts only the bytes that the encoder writes; a cursor finds the same items.
  private static func readItem(_ input: [UInt8]) throws {
    let value: CBORValue
    do throws(CBORError) { value = try CBORDecoder.decode(input, maximumDepth: 64) } catch {
      expect(error == .invalid(""), "\(error) instead of invalid CBOR")
      expect((try? CBORDecoder.decode(input)) == nil, "a lower limit of depth accepts more")
      return
    }
    expect(CBOREncoder.encode(value) == input, "bytes that are not canonical were read")
    var cursor = CBORCursor(input.indices)
    while !cursor.isAtEnd {
      let before = cursor.offset
      _ = try cursor.next(in: input)
      expect(
        cursor.offset > before && cursor.offset <= input.count, "the cursor goes from \(before) to \(cursor.offset)")
    }
  }

  private static func readLooseItem(_ input: [UInt8]) throws {
    guard let value = try? LooseCBORDecoder.decode(input, maximumSize: input.count) else { return }
    expect(!LooseCBORDecoder.isCutOff(input), "a whole item counts as cut off")
    for count in [0, input.count / 2, input.count - 1] {
      expect(
        LooseCBORDecoder.isCutOff(Array(input.prefix(count))),
        "\(count) bytes of \(input.count) do not count as cut off")
    }
    // NaN differs from itself, so the bytes are compared.
    let encoded = LooseCBOREncoder.encode(value)
    let again = LooseCBOREncoder.encode(try LooseCBORDecoder.decode(encoded, maximumSize: .max))
    expect(again == encoded, "another value")
  }

  private static func items() throws -> [[UInt8]] {
    let corpus = try Vector("opensk-ctap2-params-corpus").items.array.map(\.["hex"].bytes)
    return try corpus + Vector("cbor-canonical").valid_ctap2.array.map(\.bytes)
  }
}
