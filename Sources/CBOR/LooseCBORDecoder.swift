import CCBOR

/// Bytes to values as cbor-x and its like write them; never used for CTAP2.
public enum LooseCBORDecoder {
  /// How many arrays and maps may be open at once.
  ///
  /// A request of ARC-27 has six: message, params, txns, one of them, its msig, its addrs.
  public static let maximumDepth = 8

  /// Decodes exactly one item.
  ///
  /// Beyond what ``CBORDecoder`` takes: heads wider than needed (cbor-x writes each map's count in 16 bits), keys in any
  /// order, `null`, `undefined` and floating point.
  ///
  /// - Parameters:
  ///   - bytes: the whole item; nothing may follow it.
  ///   - maximumSize: how many bytes are looked at in all.
  /// - Throws: ``CBORError/invalid(_:)`` for more bytes or depth, a key that is no text or is there twice, an indefinite
  ///   length, a tag, a simple value without a meaning, text that is not UTF-8, or bytes behind the item.
  public static func decode(_ bytes: [UInt8], maximumSize: Int) throws(CBORError) -> LooseCBORValue {
    guard bytes.count <= maximumSize else { throw .invalid("\(bytes.count) bytes, of \(maximumSize) at most") }
    try EncodingWalk.check(bytes, form: .loose, maximumDepth: maximumDepth)
    return try ParsedItem.of(bytes, read: value)
  }

  /// Whether bytes are the beginning of one item and not all of it; what is no beginning of any is not.
  public static func isCutOff(_ bytes: [UInt8]) -> Bool {
    EncodingWalk.isCutOff(bytes, form: .loose, maximumDepth: maximumDepth)
  }

  private static func value(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> LooseCBORValue {
    switch cbor_typeof(item) {
    case CBOR_TYPE_UINT: return .unsigned(cbor_get_int(item))
    case CBOR_TYPE_NEGINT: return .negative(cbor_get_int(item))
    case CBOR_TYPE_BYTESTRING: return .bytes(ParsedItem.bytes(of: item))
    case CBOR_TYPE_STRING: return .text(try ParsedItem.text(of: item))
    case CBOR_TYPE_ARRAY: return .array(try ParsedItem.elements(of: item, read: value))
    case CBOR_TYPE_MAP: return .map(try members(of: item))
    default:
      // First of all: libcbor asserts that only what is no number is asked whether it is a truth value.
      guard cbor_float_ctrl_is_ctrl(item) else { return .float(cbor_float_get_float(item)) }
      return cbor_is_bool(item) ? .bool(cbor_get_bool(item)) : .null
    }
  }

  private static func members(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> [String: LooseCBORValue]
  {
    var members: [String: LooseCBORValue] = [:]
    for pair in ParsedItem.pairs(of: item) {
      guard case .text(let key) = try value(of: pair.key) else { throw .invalid("a map's key is no text") }
      guard members.updateValue(try value(of: pair.value), forKey: key) == nil else {
        throw .invalid("a map has a key twice")
      }
    }
    return members
  }
}
