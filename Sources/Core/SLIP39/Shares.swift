public import CryptoPrimitives

/// Splits the entropy of a BIP39 phrase into shares, and combines them again (SLIP-39).
///
/// The shares contain the entropy, and not the BIP32 seed that other wallets expect in shares: such a wallet reads
/// them, and derives other keys.
public enum Shares {
  /// The numbers of bytes that a secret may have: the entropy of 12, 15, 18, 21 or 24 words.
  public static let secretSizes = [16, 20, 24, 28, 32]
  /// The largest number of shares in a set.
  public static let maximumCount = 16

  /// Makes one group of `count` extendable shares: any `threshold` of them give the secret.
  ///
  /// - Parameters:
  ///   - secret: 16, 20, 24, 28 or 32 bytes.
  ///   - threshold: 1 to `count`; 1 only if `count` is 1.
  ///   - count: 1 to 16.
  ///   - passphrase: printable ASCII. It is not stored. With another one, the shares give another secret, without an
  ///     error.
  ///   - iterationExponent: 0 to 15: a guess of the passphrase takes 10,000 × 2^e HMACs.
  ///   - generator: a source of randomness that is suitable for keys, such as the system's.
  /// - Throws: ``SLIP39Error/secretSize(_:)``, ``SLIP39Error/policy(threshold:count:)`` or ``SLIP39Error/passphrase``.
  public static func split(
    _ secret: SecretBytes, threshold: Int, count: Int, passphrase: SecretBytes = SecretBytes(count: 0) { _ in },
    iterationExponent: Int = 1, using generator: inout some RandomNumberGenerator
  ) throws(SLIP39Error) -> [Share] {
    precondition((0...15).contains(iterationExponent), "an iteration exponent has 4 bits")
    guard secretSizes.contains(secret.count) else { throw .secretSize(secret.count) }
    try check(threshold: threshold, count: count)
    try check(passphrase)

    let identifier = UInt16(generator.next() >> 48) & 0x7fff
    let cipher = MasterSecretCipher(
      identifier: identifier, isExtendable: true, iterationExponent: iterationExponent, passphrase: passphrase)
    let values = SecretSharing.split(
      cipher.encrypt(secret), threshold: threshold, count: count, using: &generator)
    return values.enumerated().map { index, value in
      Share(
        identifier: identifier, isExtendable: true, iterationExponent: iterationExponent, groupIndex: 0,
        groupThreshold: 1, groupCount: 1, memberIndex: index, memberThreshold: threshold, value: value)
    }
  }

  /// Refuses a threshold and number of shares that the standard does not allow.
  ///
  /// - Throws: ``SLIP39Error/policy(threshold:count:)`` unless 2 ≤ `threshold` ≤ `count` ≤ 16, or both are 1.
  public static func check(threshold: Int, count: Int) throws(SLIP39Error) {
    guard (1...maximumCount).contains(count), (1...count).contains(threshold), threshold > 1 || count == 1 else {
      throw .policy(threshold: threshold, count: count)
    }
  }

  /// Combines exactly as many shares as are needed, in any order, and returns the secret (16, 20, 24, 28 or 32 bytes).
  ///
  /// The shares may be of several groups, as other programs make them. ``SLIP39Error/tooFewShares(_:needed:group:)``
  /// and ``SLIP39Error/tooFewGroups(_:needed:)`` are thrown only if the given shares can be in one set. So a program
  /// that asks for one share after another can call this after each, and ask for the next one after these two errors.
  /// - Parameter passphrase: the one of ``split(_:threshold:count:passphrase:iterationExponent:using:)``. Another one
  ///   gives another secret: the standard has no way to check it.
  /// - Throws: ``SLIP39Error``, with the positions of the shares in the array, from 1.
  public static func combine(
    _ shares: [Share], passphrase: SecretBytes = SecretBytes(count: 0) { _ in }
  ) throws(SLIP39Error) -> SecretBytes {
    try check(passphrase)
    guard let first = shares.first else { throw .noShares }
    let groups = try Self.groups(of: shares, needed: first.groupThreshold)

    var groupShares: [SecretSharing.Point] = []
    for group in groups {
      let members = group.map { SecretSharing.Point(index: UInt8($0.memberIndex), value: $0.value) }
      let value = try SecretSharing.recover(members, threshold: group[0].memberThreshold)
      groupShares.append(.init(index: UInt8(group[0].groupIndex), value: value))
    }
    let encrypted = try SecretSharing.recover(groupShares, threshold: first.groupThreshold)
    let cipher = MasterSecretCipher(
      identifier: first.identifier, isExtendable: first.isExtendable, iterationExponent: first.iterationExponent,
      passphrase: passphrase)
    return cipher.decrypt(encrypted)
  }

  /// Groups the shares, if they are exactly as many as are needed (SLIP-39, "Combining the shares").
  private static func groups(of shares: [Share], needed: Int) throws(SLIP39Error) -> [[Share]] {
    for (second, share) in shares.enumerated() {
      for (first, other) in shares[..<second].enumerated() {
        if let error = conflict(of: other, first + 1, with: share, second + 1) { throw error }
      }
    }
    let groups = Dictionary(grouping: shares, by: \.groupIndex).sorted { $0.key < $1.key }
    guard groups.count <= needed else { throw .tooManyGroups(groups.count, needed: needed) }
    for (index, group) in groups where group.count > group[0].memberThreshold {
      throw .tooManyShares(
        group.count, needed: group[0].memberThreshold, group: group[0].groupCount > 1 ? index + 1 : nil)
    }
    for (index, group) in groups where group.count < group[0].memberThreshold {
      throw .tooFewShares(
        group.count, needed: group[0].memberThreshold, group: group[0].groupCount > 1 ? index + 1 : nil)
    }
    guard groups.count == needed else { throw .tooFewGroups(groups.count, needed: needed) }
    return groups.map(\.value)
  }

  /// The reason why two shares cannot be in one set, if there is one.
  private static func conflict(of a: Share, _ first: Int, with b: Share, _ second: Int) -> SLIP39Error? {
    let differences: [(SLIP39Error.Difference, Bool)] = [
      (.identifier, a.identifier != b.identifier), (.extendable, a.isExtendable != b.isExtendable),
      (.iterationExponent, a.iterationExponent != b.iterationExponent), (.wordCount, a.value.count != b.value.count),
      (.groupThreshold, a.groupThreshold != b.groupThreshold), (.groupCount, a.groupCount != b.groupCount),
    ]
    if let difference = differences.first(where: \.1)?.0 { return .differentSets(first, second, by: difference) }
    guard a.groupIndex == b.groupIndex else { return nil }
    let isSameMember = a.memberIndex == b.memberIndex
    guard a.memberThreshold == b.memberThreshold else {
      return isSameMember ? .samePlace(first, second) : .memberThresholds(first, second)
    }
    guard isSameMember else { return nil }
    return a.value.isEqual(to: b.value) ? .sameShare(first, second) : .samePlace(first, second)
  }

  /// Refuses a passphrase with anything but printable ASCII (SLIP-39, "Passphrase").
  private static func check(_ passphrase: SecretBytes) throws(SLIP39Error) {
    guard passphrase.withUnsafeBytes({ $0.allSatisfy { (32...126).contains($0) } }) else { throw .passphrase }
  }
}
