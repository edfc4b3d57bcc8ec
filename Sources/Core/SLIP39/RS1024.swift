/// The checksum of a share: a Reed-Solomon code over GF(1024), three words long (SLIP-39, "Checksum").
///
/// It detects every error in at most three words. Its time depends only on the number of words.
enum RS1024 {
  /// The number of words of the checksum, which are the last of a share.
  static let wordCount = 3

  /// Whether the last three numbers are the checksum of the others.
  static func isValid(_ numbers: UnsafeMutableBufferPointer<UInt16>, isExtendable: Bool) -> Bool {
    remainder(of: numbers, isExtendable: isExtendable) == 1
  }

  /// Overwrites the last three numbers with the checksum of the others.
  static func complete(_ numbers: UnsafeMutableBufferPointer<UInt16>, isExtendable: Bool) {
    let places = numbers.indices.suffix(wordCount)
    for place in places { numbers[place] = 0 }
    let checksum = remainder(of: numbers, isExtendable: isExtendable) ^ 1
    for (place, shift) in zip(places, [20, 10, 0] as [UInt32]) {
      numbers[place] = UInt16(truncatingIfNeeded: checksum >> shift) & 0x3ff
    }
  }

  /// The standard's `rs1024_polymod` of the customization string and the numbers: 30 bits.
  private static func remainder(of numbers: UnsafeMutableBufferPointer<UInt16>, isExtendable: Bool) -> UInt32 {
    var remainder: UInt32 = 1
    let customization = isExtendable ? "shamir_extendable" : "shamir"
    for letter in customization.utf8 { append(UInt32(letter), to: &remainder) }
    for number in numbers { append(UInt32(number), to: &remainder) }
    return remainder
  }

  private static func append(_ value: UInt32, to remainder: inout UInt32) {
    let top = remainder >> 20
    remainder = (remainder & 0xfffff) << 10 ^ value
    for (bit, term) in generator.enumerated() { remainder ^= term & (0 &- (top >> UInt32(bit) & 1)) }
  }

  private static let generator: [UInt32] = [
    0xe0e040, 0x1c1c080, 0x3838100, 0x7070200, 0xe0e0009, 0x1c0c2412, 0x38086c24, 0x3090fc48, 0x21b1f890, 0x3f3f120,
  ]
}
