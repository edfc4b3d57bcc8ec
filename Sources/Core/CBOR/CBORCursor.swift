/// A place in bytes of CTAP2 canonical form, for content that is too large for one ``CBORValue``.
///
/// The caller reads item by item, and so checks what the decoder checks in a value: the order of a map's keys, and that
/// texts are UTF-8.
public struct CBORCursor: Sendable {
  /// One item: a number or boolean, the place of a string's content, or the head of an array or map, whose elements are
  /// the items that follow.
  public enum Item: Equatable, Sendable {
    case unsigned(UInt64)
    /// The integer −1 − n.
    case negative(UInt64)
    case bytes(Range<Int>)
    case text(Range<Int>)
    case array(count: Int)
    case map(count: Int)
    case bool(Bool)
  }

  /// The index of the next item.
  public private(set) var offset: Int
  private let end: Int

  /// Begins at the start of a range; nothing after it is read.
  public init(_ range: Range<Int>) { (offset, end) = (range.lowerBound, range.upperBound) }

  /// Whether every byte of the range was read.
  public var isAtEnd: Bool { offset == end }

  /// Reads the next item of `bytes`, which must contain the range of this cursor.
  ///
  /// - Throws: ``CBORError/invalid(_:)`` for what is not canonical (CTAP §8), and for a string, array or map that cannot be
  ///   in the bytes that are left.
  public mutating func next(in bytes: [UInt8]) throws(CBORError) -> Item {
    var walk = EncodingWalk(bytes, .canonical, from: offset, to: end)
    let (majorType, argument) = try walk.next()
    offset = walk.offset
    switch majorType {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return .bytes(offset - Int(argument)..<offset)
    case 3: return .text(offset - Int(argument)..<offset)
    case 4: return .array(count: Int(argument))
    case 5: return .map(count: Int(argument))
    default: return .bool(argument == 21)
    }
  }
}
