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
    try CanonicalForm.check(bytes, maximumDepth: min(maximumDepth, 64))
    var result = cbor_load_result()
    // The only place where an item of libcbor exists.
    let item = bytes.withUnsafeBufferPointer { cbor_load($0.baseAddress, $0.count, &result) }
    guard let item else {
      throw .invalid("libcbor refuses it at byte \(result.error.position), error \(result.error.code.rawValue)")
    }
    defer { cbor_door_release(item) }
    return try value(of: item)
  }

  private static func value(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> CBORValue {
    switch cbor_typeof(item) {
    case CBOR_TYPE_UINT: return .unsigned(cbor_get_int(item))
    case CBOR_TYPE_NEGINT: return .negative(cbor_get_int(item))
    case CBOR_TYPE_BYTESTRING:
      return .bytes(
        Array(UnsafeBufferPointer(start: cbor_bytestring_handle(item), count: cbor_bytestring_length(item))))
    case CBOR_TYPE_STRING:
      let utf8 = UnsafeBufferPointer(start: cbor_string_handle(item), count: cbor_string_length(item))
      guard let text = String(validating: utf8, as: UTF8.self) else { throw .invalid("text that is not UTF-8") }
      return .text(text)
    case CBOR_TYPE_ARRAY: return .array(try elements(of: item))
    case CBOR_TYPE_MAP: return .map(try members(of: item))
    default: return .bool(cbor_get_bool(item))
    }
  }

  private static func elements(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> [CBORValue] {
    var elements: [CBORValue] = []
    for element in UnsafeBufferPointer(start: cbor_array_handle(item), count: cbor_array_size(item)) {
      guard let element else { throw .invalid("array without its elements") }
      elements.append(try value(of: element))
    }
    return elements
  }

  private static func members(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> CBORMap {
    var map = CBORMap()
    for pair in UnsafeBufferPointer(start: cbor_map_handle(item), count: cbor_map_size(item)) {
      let key = try value(of: pair.key)
      guard map.append(try value(of: pair.value), forKey: key) else {
        throw .invalid("the map's keys are out of order, or one is there twice")
      }
    }
    return map
  }
}
