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

/// Why bytes are no message, or a message lacks what is asked of it.
///
/// The three cases are the three answers that CTAP2 has for it (CTAP §6.3). Errors are equal by case: the reason is for
/// people, and two roads to the same refusal are the same refusal.
public enum CBORError: Error, Sendable {
  /// The bytes are not CBOR in the form that is asked of them: `CTAP2_ERR_INVALID_CBOR` (0x12).
  case invalid(String)
  /// A member has another CBOR type: `CTAP2_ERR_CBOR_UNEXPECTED_TYPE` (0x11).
  case unexpectedType(String)
  /// A member is not there: `CTAP2_ERR_MISSING_PARAMETER` (0x14).
  case missing(String)
}

extension CBORError: Equatable {
  /// Compares the cases, not their reasons.
  public static func == (left: CBORError, right: CBORError) -> Bool {
    switch (left, right) {
    case (.invalid, .invalid), (.unexpectedType, .unexpectedType), (.missing, .missing): true
    default: false
    }
  }
}

extension CBORError: CustomStringConvertible {
  /// What happened, and where.
  public var description: String {
    switch self {
    case .invalid(let reason): "invalid CBOR: \(reason)"
    case .unexpectedType(let reason): "unexpected CBOR type: \(reason)"
    case .missing(let reason): "missing CBOR member: \(reason)"
    }
  }
}
