import CCBOR

/// Bytes to values, and nothing but the canonical form of CTAP2.
public enum CBORDecoder {
  /// How many arrays and maps may be open at once in a CTAP2 message, CTAP §8.
  public static let messageDepth = 4

  /// Decodes exactly one item in CTAP2 canonical form, CTAP §8.
  ///
  /// What it answers, ``CBOREncoder`` turns into the very same bytes.
  ///
  /// - Parameters:
  ///   - bytes: the whole item; nothing may follow it.
  ///   - maximumDepth: how many arrays and maps may be open at once, at most 64. Our own files may go beyond a message's 4.
  /// - Throws: ``CBORError/invalid(_:)`` for everything that is not canonical: a number or length in more bytes than
  ///   needed, keys out of order or twice, an indefinite length, a tag, a float or a simple value other than a boolean,
  ///   text that is not UTF-8, more depth, or bytes behind the item.
  public static func decode(_ bytes: [UInt8], maximumDepth: Int = messageDepth) throws(CBORError) -> CBORValue {
    try EncodingWalk.check(bytes, form: .canonical, maximumDepth: min(maximumDepth, 64))
    return try ParsedItem.of(bytes, read: value)
  }

  private static func value(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> CBORValue {
    switch cbor_typeof(item) {
    case CBOR_TYPE_UINT: return .unsigned(cbor_get_int(item))
    case CBOR_TYPE_NEGINT: return .negative(cbor_get_int(item))
    case CBOR_TYPE_BYTESTRING: return .bytes(ParsedItem.bytes(of: item))
    case CBOR_TYPE_STRING: return .text(try ParsedItem.text(of: item))
    case CBOR_TYPE_ARRAY: return .array(try ParsedItem.elements(of: item, read: value))
    case CBOR_TYPE_MAP: return .map(try members(of: item))
    default: return .bool(cbor_get_bool(item))
    }
  }

  private static func members(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> CBORMap {
    var map = CBORMap()
    for pair in ParsedItem.pairs(of: item) {
      let key = try value(of: pair.key)
      guard map.append(try value(of: pair.value), forKey: key) else {
        throw .invalid("the map's keys are out of order, or one is there twice")
      }
    }
    return map
  }
}
