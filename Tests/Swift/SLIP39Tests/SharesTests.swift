import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

@Suite struct SharesTests {
  /// Why each of the standard's invalid vectors is refused, by its number.
  static let refusals: [Int: SLIP39Error] = [
    2: .checksum, 3: .padding, 5: .tooFewShares(1, needed: 2, group: nil),
    6: .differentSets(1, 2, by: .identifier), 7: .differentSets(1, 2, by: .iterationExponent),
    8: .differentSets(1, 3, by: .groupThreshold), 9: .differentSets(1, 2, by: .groupCount), 10: .groupThreshold,
    11: .samePlace(1, 2), 12: .memberThresholds(1, 2), 13: .digest, 14: .tooFewGroups(1, needed: 2),
    15: .tooFewGroups(1, needed: 2), 16: .tooFewShares(1, needed: 2, group: 4),
    21: .checksum, 22: .padding, 24: .tooFewShares(1, needed: 2, group: nil),
    25: .differentSets(1, 2, by: .identifier), 26: .differentSets(1, 2, by: .iterationExponent),
    27: .differentSets(1, 3, by: .groupThreshold), 28: .differentSets(1, 2, by: .groupCount), 29: .groupThreshold,
    30: .samePlace(1, 2), 31: .memberThresholds(1, 2), 32: .digest, 33: .tooFewGroups(1, needed: 2),
    34: .tooFewGroups(1, needed: 2), 35: .tooFewShares(1, needed: 2, group: 4),
    39: .wordCount(19), 40: .wordCount(21),
  ]

  // Holds: SLIP39-2
  @Test(arguments: 1...45) func `the standard's vectors give their secret, or their error`(_ number: Int) throws {
    let vectors = try Vector("slip39")
    #expect(vectors.official.array.count == 45)
    let vector = vectors.official[number - 1]
    #expect(vector[0].text.hasPrefix("\(number). "))
    let passphrase = SecretBytes(typed: vectors.passphrase.text)
    let combine: () throws -> SecretBytes = {
      let shares = try vector[1].array.map { try Share($0.text) }
      // A share that was read is written with the same words.
      #expect(shares.map(\.text) == vector[1].array.map(\.text))
      return try Shares.combine(shares, passphrase: passphrase)
    }
    if let error = Self.refusals[number] {
      #expect(vector[2].text == "")
      #expect(throws: error, "\(vector[0].text)") { try combine() }
    } else {
      #expect(try combine().revealed == vector[2].hex, "\(vector[0].text)")
      #expect(vector[2].text != "")
    }
  }

  @Test func `a secret is split into the words of the reference implementation`() throws {
    let vectors = try Vector("slip39").computed.array
    #expect(vectors.count == 7)
    for vector in vectors {
      var generator = SplitMix64(state: vector.seed.integer())
      let shares = try Shares.split(
        SecretBytes(vector.secret.bytes), threshold: vector.threshold.integer(), count: vector.count.integer(),
        passphrase: SecretBytes(typed: vector.passphrase.text), iterationExponent: vector.iterationExponent.integer(),
        using: &generator)
      #expect(shares.map(\.text) == vector.shares.array.map(\.text), "\(vector)")
    }
  }

  @Test(.whole("there are very many policies"))
  func `a secret of any size is the same after every policy`() throws {
    var generator = SplitMix64(state: 39)
    for (number, (threshold, count)) in SecretSharingTests.policies.enumerated() {
      let secret = SecretBytes.random(count: Shares.secretSizes[number % 5])
      let shares = try Shares.split(
        secret, threshold: threshold, count: count, iterationExponent: 0, using: &generator)
      #expect(shares.map(\.memberIndex) == Array(0..<count))
      #expect(shares.allSatisfy { $0.memberThreshold == threshold && $0.isExtendable })
      let chosen = try shares.shuffled(using: &generator).prefix(threshold).map { try Share(parsing: $0.utf8) }
      #expect(try Shares.combine(chosen).isEqual(to: secret), "\(threshold)-of-\(count)")
    }
  }

  @Test func `the system's randomness makes a different set each time`() throws {
    var generator = SystemRandomNumberGenerator()
    let secret = SecretBytes.random(count: 32)
    let sets = try (0..<2).map { _ in try Shares.split(secret, threshold: 2, count: 2, using: &generator) }
    #expect(!sets[0][0].value.isEqual(to: sets[1][0].value))
    for shares in sets {
      #expect(shares.allSatisfy { $0.iterationExponent == 1 })
      #expect(try Shares.combine(shares).isEqual(to: secret))
    }
  }

  // Holds: SLIP39-6
  @Test func `another passphrase gives another secret, the same from every extendable set`() throws {
    let secret = SecretBytes(Array(0..<16))
    let (right, wrong) = (SecretBytes(typed: "correct horse"), SecretBytes(typed: "correct house"))
    let others = try ([1, 2] as [UInt64]).map { seed in
      var generator = SplitMix64(state: seed)
      let shares = try Shares.split(
        secret, threshold: 2, count: 2, passphrase: right, iterationExponent: 0, using: &generator)
      #expect(try Shares.combine(shares, passphrase: right).isEqual(to: secret))
      return try (Shares.combine(shares, passphrase: wrong), Shares.combine(shares))
    }
    #expect(!others[0].0.isEqual(to: secret) && !others[0].1.isEqual(to: secret))
    #expect(others[0].0.isEqual(to: others[1].0) && others[0].1.isEqual(to: others[1].1))
  }

  // Holds: SLIP39-3
  @Test(arguments: ["ä", "tab\there", "line\n", "\u{0}", "\u{1f}", "\u{7f}", "\u{a0}"])
  func `a passphrase with anything but printable ASCII is refused`(_ typed: String) throws {
    var generator = SplitMix64(state: 39)
    let passphrase = SecretBytes(typed: typed)
    #expect(throws: SLIP39Error.passphrase) {
      try Shares.split(
        SecretBytes(Array(0..<16)), threshold: 1, count: 1, passphrase: passphrase, using: &generator)
    }
    #expect(throws: SLIP39Error.passphrase) { try Shares.combine([Share(ShareTests.valid)], passphrase: passphrase) }
  }

  // Holds: SLIP39-3
  @Test(arguments: [0, 1, 8, 14, 15, 17, 18, 22, 26, 30, 31, 33, 34, 64])
  func `a secret of another size than a phrase's entropy is refused`(_ size: Int) {
    var generator = SplitMix64(state: 39)
    #expect(throws: SLIP39Error.secretSize(size)) {
      try Shares.split(.random(count: size), threshold: 2, count: 3, using: &generator)
    }
  }

  // Holds: SLIP39-3
  @Test(arguments: [(0, 0), (0, 1), (1, 0), (-1, 3), (1, 2), (1, 16), (3, 2), (2, 17), (17, 17), (1, 17), (2, -2)])
  func `a policy that the standard does not allow is refused`(_ threshold: Int, _ count: Int) {
    var generator = SplitMix64(state: 39)
    #expect(throws: SLIP39Error.policy(threshold: threshold, count: count)) {
      try Shares.split(.random(count: 16), threshold: threshold, count: count, using: &generator)
    }
  }

  struct Refusal: Sendable {
    let shares: [Share]
    let error: SLIP39Error
  }

  static let misfits = [
    Refusal(shares: [], error: .noShares),
    // Another set.
    Refusal(
      shares: [.made(), .made(identifier: 2, memberIndex: 1)], error: .differentSets(1, 2, by: .identifier)),
    Refusal(
      shares: [.made(), .made(isExtendable: false, memberIndex: 1)], error: .differentSets(1, 2, by: .extendable)),
    Refusal(
      shares: [.made(), .made(iterationExponent: 1, memberIndex: 1)],
      error: .differentSets(1, 2, by: .iterationExponent)),
    Refusal(
      shares: [.made(), .made(memberIndex: 1, value: Array(repeating: 7, count: 32))],
      error: .differentSets(1, 2, by: .wordCount)),
    Refusal(
      shares: [.made(groupCount: 2), .made(groupThreshold: 2, groupCount: 2, memberIndex: 1)],
      error: .differentSets(1, 2, by: .groupThreshold)),
    Refusal(
      shares: [.made(memberThreshold: 3), .made(memberIndex: 1, memberThreshold: 3), .made(identifier: 2)],
      error: .differentSets(1, 3, by: .identifier)),
    // One share twice, or two with one place.
    Refusal(shares: [.made(), .made()], error: .sameShare(1, 2)),
    Refusal(
      shares: [.made(memberIndex: 1), .made(), .made(memberIndex: 1)], error: .sameShare(1, 3)),
    Refusal(
      shares: [.made(), .made(value: Array(repeating: 7, count: 15) + [6])], error: .samePlace(1, 2)),
    Refusal(shares: [.made(), .made(memberThreshold: 3)], error: .samePlace(1, 2)),
    Refusal(shares: [.made(), .made(memberIndex: 1, memberThreshold: 3)], error: .memberThresholds(1, 2)),
    Refusal(
      shares: [.made(memberThreshold: 1), .made(memberIndex: 1)], error: .memberThresholds(1, 2)),
    // Too many.
    Refusal(
      shares: [.made(), .made(memberIndex: 1), .made(memberIndex: 2)],
      error: .tooManyShares(3, needed: 2, group: nil)),
    Refusal(
      shares: [.made(memberThreshold: 1), .made(memberIndex: 1, memberThreshold: 1)],
      error: .tooManyShares(2, needed: 1, group: nil)),
    Refusal(
      shares: [
        .made(groupIndex: 2, groupThreshold: 2, groupCount: 3, memberThreshold: 1),
        .made(groupIndex: 2, groupThreshold: 2, groupCount: 3, memberIndex: 1, memberThreshold: 1),
      ], error: .tooManyShares(2, needed: 1, group: 3)),
    Refusal(
      shares: [
        .made(groupCount: 2, memberThreshold: 1), .made(groupIndex: 1, groupCount: 2, memberThreshold: 1),
      ], error: .tooManyGroups(2, needed: 1)),
    // Too few.
    Refusal(shares: [.made()], error: .tooFewShares(1, needed: 2, group: nil)),
    Refusal(
      shares: [.made(memberThreshold: 16), .made(memberIndex: 15, memberThreshold: 16)],
      error: .tooFewShares(2, needed: 16, group: nil)),
    Refusal(
      shares: [.made(groupThreshold: 2, groupCount: 2)], error: .tooFewShares(1, needed: 2, group: 1)),
    Refusal(
      shares: [.made(groupThreshold: 3, groupCount: 3, memberThreshold: 1)], error: .tooFewGroups(1, needed: 3)),
    // Values that are of no polynomial.
    Refusal(shares: [.made(), .made(memberIndex: 1)], error: .digest),
    Refusal(
      shares: [
        .made(groupThreshold: 2, groupCount: 2, memberThreshold: 1),
        .made(groupIndex: 1, groupThreshold: 2, groupCount: 2, memberThreshold: 1),
      ], error: .digest),
  ]

  // Holds: SLIP39-4
  @Test(arguments: misfits) func `shares that do not make one set are refused with the reason`(_ refusal: Refusal) {
    #expect(throws: refusal.error) { try Shares.combine(refusal.shares) }
  }

  // Holds: SLIP39-4
  @Test func `while shares are added one by one, each attempt says how many are missing`() throws {
    var generator = SplitMix64(state: 39)
    let secret = SecretBytes.random(count: 20)
    let shares = try Shares.split(secret, threshold: 5, count: 7, iterationExponent: 0, using: &generator).shuffled()
    for given in 1..<5 {
      #expect(throws: SLIP39Error.tooFewShares(given, needed: 5, group: nil)) {
        try Shares.combine(Array(shares.prefix(given)))
      }
    }
    #expect(try Shares.combine(Array(shares.prefix(5))).isEqual(to: secret))
    #expect(throws: SLIP39Error.tooManyShares(6, needed: 5, group: nil)) {
      try Shares.combine(Array(shares.prefix(6)))
    }
  }

  // Holds: SLIP39-5
  @Test func `a forged share with a right checksum is refused by the digest`() throws {
    var generator = SplitMix64(state: 39)
    let secret = SecretBytes.random(count: 32)
    let shares = try Shares.split(secret, threshold: 3, count: 3, iterationExponent: 0, using: &generator)
    for bit in stride(from: 0, to: 256, by: 5) {
      var bytes = shares[1].value.revealed.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let forged = Share.made(
        identifier: shares[1].identifier, memberIndex: 1, memberThreshold: 3, value: bytes)
      #expect(throws: SLIP39Error.digest) {
        try Shares.combine([shares[0], Share(parsing: forged.utf8), shares[2]])
      }
    }
  }
}
