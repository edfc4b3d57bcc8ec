import CryptoPrimitives
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

// Holds: SLIP39-7
@Suite struct SLIP39ErrorTests {
  static let texts: [(SLIP39Error, String)] = [
    (
      .wordCount(1), "the share has 1 word; give all 20, 23, 27, 30 or 33, with spaces between them"
    ),
    (.wordCount(19), "the share has 19 words; give all 20, 23, 27, 30 or 33, with spaces between them"),
    (.unknownWord(position: 3), "word 3 is not in the list of SLIP-39; check how it is spelled"),
    (.notASCII(position: 2), "word 2 has a character that no word of SLIP-39 has; type it again"),
    (
      .checksum,
      "the checksum of the share is wrong: all words are in the list, but one of them is wrong, or two are "
        + "swapped; compare them with what was written down"
    ),
    (
      .padding,
      "the checksum of the share is right, but the share is malformed: bits that must be 0 are not; use another share"
    ),
    (
      .groupThreshold,
      "the checksum of the share is right, but the share is malformed: it needs more groups than there are; use "
        + "another share"
    ),
    (.noShares, "there are no shares; give as many as are needed"),
    (
      .differentSets(1, 2, by: .identifier),
      "shares 1 and 2 are of different sets: their first two words differ; give shares of one set"
    ),
    (
      .differentSets(1, 2, by: .extendable),
      "shares 1 and 2 are of different sets: their first two words differ; give shares of one set"
    ),
    (
      .differentSets(1, 2, by: .iterationExponent),
      "shares 1 and 2 are of different sets: their first two words differ; give shares of one set"
    ),
    (
      .differentSets(2, 3, by: .groupThreshold),
      "shares 2 and 3 are of different sets: they need different numbers of groups; give shares of one set"
    ),
    (
      .differentSets(2, 3, by: .groupCount),
      "shares 2 and 3 are of different sets: their numbers of groups differ; give shares of one set"
    ),
    (
      .differentSets(2, 3, by: .wordCount),
      "shares 2 and 3 are of different sets: they have different numbers of words; give shares of one set"
    ),
    (.sameShare(1, 3), "shares 1 and 3 are the same; give a different share instead of one of them"),
    (
      .samePlace(1, 3),
      "shares 1 and 3 have the same place in the set, but different words: one of them was changed, or is of another "
        + "set; give a different share instead of it"
    ),
    (
      .memberThresholds(1, 3),
      "shares 1 and 3 are of one group, but need different numbers of shares: one of them was changed, or is of "
        + "another set; give a different share instead of it"
    ),
    (
      .tooManyGroups(3, needed: 2),
      "shares of 3 groups are given, and 2 are needed; leave out all shares of 1 group"
    ),
    (
      .tooManyGroups(3, needed: 1),
      "shares of 3 groups are given, and 1 is needed; leave out all shares of 2 groups"
    ),
    (.tooManyShares(3, needed: 2, group: nil), "3 shares are given, and 2 are needed; leave out 1"),
    (.tooManyShares(2, needed: 1, group: 4), "2 shares of group 4 are given, and 1 is needed; leave out 1"),
    (.tooFewShares(1, needed: 3, group: nil), "1 share is given, and 3 are needed; give 2 more"),
    (.tooFewShares(2, needed: 3, group: 4), "2 shares of group 4 are given, and 3 are needed; give 1 more"),
    (
      .tooFewGroups(1, needed: 2), "shares of 1 group are given, and 2 are needed; give shares of 1 more group"
    ),
    (
      .digest,
      "the shares do not fit together: each checksum is right, but a share was changed, or is of another set; give "
        + "other shares of the set"
    ),
    (
      .secretSize(17), "the secret has 17 bytes; only the 16, 20, 24, 28 or 32 bytes of a phrase can be split"
    ),
    (
      .policy(threshold: 1, count: 3),
      "1 of 3 shares would be the whole secret; choose 2-of-3 or more, or make copies of the share of 1-of-1"
    ),
    (
      .policy(threshold: 3, count: 2),
      "3-of-2 is not possible; choose at most 16 shares, and a threshold from 2 to that number"
    ),
    (
      .policy(threshold: 1, count: 17),
      "1-of-17 is not possible; choose at most 16 shares, and a threshold from 2 to that number"
    ),
    (
      .passphrase,
      "the passphrase of the shares has a character other than letters, digits, spaces and punctuation of ASCII; "
        + "leave it out"
    ),
  ]

  @Test(arguments: texts) func `an error gives the reason and the remedy`(_ error: SLIP39Error, _ text: String) {
    #expect(error.description == text)
  }

  @Test(arguments: ["duckling secretivewörd", "duckling secretiveword", "secretiveword"])
  func `no error contains a typed word`(_ typed: String) {
    let error = #expect(throws: SLIP39Error.self) { try Share(typed) }
    for form in ["\(error as Any)", String(reflecting: error as Any)] {
      #expect(!form.contains("secretive") && !form.contains("duckling"))
    }
  }
}
