/// A seeded generator, which makes failures repeatable: Knuth's MMIX, its upper half twice.
struct SeededRandomness: RandomNumberGenerator {
  var state: UInt64 = 1

  mutating func next() -> UInt64 {
    func half() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 32
    }
    return half() << 32 | half()
  }
}

/// A generator that repeats one number: 0 gives the shortest delays, `UInt64.max` the longest.
struct ConstantRandomness: RandomNumberGenerator {
  let number: UInt64

  func next() -> UInt64 { number }
}
