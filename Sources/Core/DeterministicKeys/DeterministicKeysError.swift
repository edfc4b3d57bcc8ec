/// An error in reading a phrase or deriving a key: the only error of this library besides `CryptoError`.
///
/// Word positions start at 1. No error contains a typed word: even a mistyped one can reveal a word of the phrase.
public enum DeterministicKeysError: Error, Equatable, Sendable {
  /// The kind of the typed words.
  public enum Typed: Sendable {
    /// A BIP39 phrase.
    case phrase
    /// An Algorand account's mnemonic.
    case mnemonic
  }

  // MARK: Words

  /// A wrong number of words.
  case wordCount(Int, of: Typed)
  /// A word that is not in the list.
  case unknownWord(position: Int)
  /// A word with a character that no word of the list has, so more than its spelling is wrong.
  case notASCII(position: Int)
  /// Words of the list with a wrong checksum.
  case checksum(of: Typed)

  // MARK: Keys of the tree

  /// Bytes that are not a root.
  case invalidRoot
  /// An account, change or index number of 2^31 or more.
  case indexOutOfRange
  /// A hardened child of a public node; only the private node has hardened children.
  case hardenedIndex
  /// A child with a kL of 2^255 or more.
  case keyOverflow
  /// A node that is not a point of the curve.
  case invalidPoint
}

extension DeterministicKeysError {
  /// A word that is not in the list.
  static func word(_ position: Int, isASCII: Bool) -> Self {
    isASCII ? .unknownWord(position: position) : .notASCII(position: position)
  }
}

extension DeterministicKeysError: CustomStringConvertible {
  /// The reason, and what to do, if anything.
  public var description: String {
    switch self {
    case .wordCount(25, of: .phrase):
      "the phrase has 25 words, like an Algorand mnemonic; give a BIP39 phrase of 12, 15, 18, 21 or 24"
    case .wordCount(let count, of: .phrase):
      "the phrase has \(count) \(count == 1 ? "word" : "words"); give all 12, 15, 18, 21 or 24, with spaces between them"
    case .wordCount(let count, of: .mnemonic):
      "the mnemonic has \(count) \(count == 1 ? "word" : "words"); give the 25 words of an Algorand account"
    case .unknownWord(let position):
      "word \(position) is not in the English BIP39 list; check how it is spelled"
    case .notASCII(let position):
      "word \(position) has a character that no English BIP39 word has; type it again"
    case .checksum(of: .phrase):
      "the checksum of the phrase is wrong: all words are in the list, but one of them is wrong, or two are swapped; "
        + "compare them with what was written down"
    case .checksum(of: .mnemonic):
      "the checksum of the mnemonic is wrong: all words are in the list, but one of them is wrong; compare them with "
        + "what was written down"
    case .invalidRoot: "the Ed25519 root is damaged; make the vault again from the phrase or its shares"
    case .indexOutOfRange: "an account, change or index number is 2147483648 or more; use a smaller one"
    case .hardenedIndex: "a hardened key cannot be derived from a public one; derive it from the private one"
    case .keyOverflow: "the path is deeper than this root reaches; use a shorter one"
    case .invalidPoint: "the node is not a point of the curve"
    }
  }
}
