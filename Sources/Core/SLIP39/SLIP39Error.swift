/// An error in reading, making or combining shares: the only error of this library.
///
/// Positions of words, shares and groups start at 1. No error contains a typed word: even a mistyped one can reveal a
/// word of the share.
public enum SLIP39Error: Error, Equatable, Sendable {
  /// What differs between shares of different sets.
  public enum Difference: Sendable {
    /// The identifier, 15 bits.
    case identifier
    /// The flag for extendable sets.
    case extendable
    /// The iteration exponent.
    case iterationExponent
    /// The number of groups that are needed.
    case groupThreshold
    /// The number of groups.
    case groupCount
    /// The number of words.
    case wordCount
  }

  // MARK: One share

  /// A wrong number of words.
  case wordCount(Int)
  /// A word that is not in the list.
  case unknownWord(position: Int)
  /// A word with a character that no word of the list has, so more than its spelling is wrong.
  case notASCII(position: Int)
  /// All words are in the list, but the checksum is wrong.
  case checksum
  /// The checksum is valid, but padding bits before the value are not 0.
  case padding
  /// The checksum is valid, but the group threshold is higher than the number of groups.
  case groupThreshold

  // MARK: Several shares

  /// No share at all.
  case noShares
  /// Two shares of different sets.
  case differentSets(Int, Int, by: Difference)
  /// The same share twice.
  case sameShare(Int, Int)
  /// Two shares with the same place in the set, but different words.
  case samePlace(Int, Int)
  /// Two shares of one group with different member thresholds.
  case memberThresholds(Int, Int)
  /// More groups than needed.
  case tooManyGroups(Int, needed: Int)
  /// More shares than needed, in the given group if there are several groups.
  case tooManyShares(Int, needed: Int, group: Int?)
  /// Fewer shares than needed, in the given group if there are several groups.
  case tooFewShares(Int, needed: Int, group: Int?)
  /// Fewer groups than needed.
  case tooFewGroups(Int, needed: Int)
  /// Shares that are not of one polynomial.
  case digest

  // MARK: What is split

  /// A secret of another number of bytes than the entropy of a phrase.
  case secretSize(Int)
  /// A threshold or number of shares that the standard does not allow.
  case policy(threshold: Int, count: Int)
  /// A passphrase with a character other than the printable ones of ASCII.
  case passphrase
}

extension SLIP39Error: CustomStringConvertible {
  /// The reason, and what to do.
  public var description: String {
    switch self {
    case .wordCount(let count):
      "the share has \(Self.number(count, "word")); give all 20, 23, 27, 30 or 33, with spaces between them"
    case .unknownWord(let position):
      "word \(position) is not in the list of SLIP-39; check how it is spelled"
    case .notASCII(let position):
      "word \(position) has a character that no word of SLIP-39 has; type it again"
    case .checksum:
      "the checksum of the share is wrong: all words are in the list, but one of them is wrong, or two are swapped; "
        + "compare them with what was written down"
    case .padding:
      "the checksum of the share is right, but the share is malformed: bits that must be 0 are not; use another share"
    case .groupThreshold:
      "the checksum of the share is right, but the share is malformed: it needs more groups than there are; use "
        + "another share"
    case .noShares: "there are no shares; give as many as are needed"
    case .differentSets(let first, let second, by: let difference):
      "shares \(first) and \(second) are of different sets: \(difference.text); give shares of one set"
    case .sameShare(let first, let second):
      "shares \(first) and \(second) are the same; give a different share instead of one of them"
    case .samePlace(let first, let second):
      "shares \(first) and \(second) have the same place in the set, but different words: one of them was changed, or "
        + "is of another set; give a different share instead of it"
    case .memberThresholds(let first, let second):
      "shares \(first) and \(second) are of one group, but need different numbers of shares: one of them was changed, "
        + "or is of another set; give a different share instead of it"
    case .tooManyGroups(let count, let needed):
      "shares of \(Self.number(count, "group")) are given, and \(needed) \(needed == 1 ? "is" : "are") needed; "
        + "leave out all shares of \(Self.number(count - needed, "group"))"
    case .tooManyShares(let count, let needed, let group):
      "\(Self.number(count, "share"))\(Self.of(group)) are given, and \(needed) \(needed == 1 ? "is" : "are") needed; "
        + "leave out \(count - needed)"
    case .tooFewShares(let count, let needed, let group):
      "\(Self.number(count, "share"))\(Self.of(group)) \(count == 1 ? "is" : "are") given, and \(needed) are needed; "
        + "give \(needed - count) more"
    case .tooFewGroups(let count, let needed):
      "shares of \(Self.number(count, "group")) are given, and \(needed) are needed; give shares of "
        + "\(needed - count) more \(needed - count == 1 ? "group" : "groups")"
    case .digest:
      "the shares do not fit together: each checksum is right, but a share was changed, or is of another set; give "
        + "other shares of the set"
    case .secretSize(let size):
      "the secret has \(Self.number(size, "byte")); only the 16, 20, 24, 28 or 32 bytes of a phrase can be split"
    case .policy(1, let count) where (2...Shares.maximumCount).contains(count):
      "1 of \(count) shares would be the whole secret; choose 2-of-\(count) or more, or make copies of the share of "
        + "1-of-1"
    case .policy(let threshold, let count):
      "\(threshold)-of-\(count) is not possible; choose at most 16 shares, and a threshold from 2 to that number"
    case .passphrase:
      "the passphrase of the shares has a character other than letters, digits, spaces and punctuation of ASCII; "
        + "leave it out"
    }
  }

  private static func number(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

  private static func of(_ group: Int?) -> String { group.map { " of group \($0)" } ?? "" }
}

extension SLIP39Error.Difference {
  fileprivate var text: String {
    switch self {
    case .identifier, .extendable, .iterationExponent: "their first two words differ"
    case .groupThreshold: "they need different numbers of groups"
    case .groupCount: "their numbers of groups differ"
    case .wordCount: "they have different numbers of words"
    }
  }
}
