import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

extension Share {
  /// Parses known words.
  init(_ text: String) throws { try self.init(parsing: SecretBytes(typed: text)) }

  /// A share with chosen fields, whose checksum is right.
  static func made(
    identifier: UInt16 = 1, isExtendable: Bool = true, iterationExponent: Int = 0, groupIndex: Int = 0,
    groupThreshold: Int = 1, groupCount: Int = 1, memberIndex: Int = 0, memberThreshold: Int = 2,
    value: [UInt8] = Array(repeating: 7, count: 16)
  ) -> Share {
    Share(
      identifier: identifier, isExtendable: isExtendable, iterationExponent: iterationExponent, groupIndex: groupIndex,
      groupThreshold: groupThreshold, groupCount: groupCount, memberIndex: memberIndex,
      memberThreshold: memberThreshold, value: SecretBytes(value))
  }

  /// The words as text, for comparison.
  var text: String { utf8.revealedText }
}

/// The numbers of words of the list.
func numbers(of text: String) throws -> [UInt16] {
  try text.split(separator: " ").map { word in
    try #require(Array(word.utf8).withUnsafeBytes { WordList.slip39.number(of: $0) })
  }
}

/// The words of the list with these numbers.
func text(of numbers: [UInt16]) -> String {
  numbers.withUnsafeBufferPointer { WordList.slip39.text(of: $0).revealedText }
}

/// Numbers of words with their last three replaced by the checksum of the others.
func completed(_ numbers: [UInt16], isExtendable: Bool) -> [UInt16] {
  var numbers = numbers
  numbers.withUnsafeMutableBufferPointer { RS1024.complete($0, isExtendable: isExtendable) }
  return numbers
}
