import CCBOR

/// The one place where bytes become an item of libcbor, and where that item ends.
enum ParsedItem {
  /// Parses bytes that ``EncodingWalk`` has let through, and reads the item while it exists.
  static func of<Value>(
    _ bytes: [UInt8], read: (UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> Value
  ) throws(CBORError) -> Value {
    var result = cbor_load_result()
    let item = bytes.withUnsafeBufferPointer { cbor_load($0.baseAddress, $0.count, &result) }
    guard let item else {
      throw .invalid("libcbor refuses it at byte \(result.error.position), error \(result.error.code.rawValue)")
    }
    defer { cbor_door_release(item) }
    return try read(item)
  }

  /// The content of a byte string.
  static func bytes(of item: UnsafeMutablePointer<cbor_item_t>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: cbor_bytestring_handle(item), count: cbor_bytestring_length(item)))
  }

  /// The content of a text string.
  static func text(of item: UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> String {
    let utf8 = UnsafeBufferPointer(start: cbor_string_handle(item), count: cbor_string_length(item))
    guard let text = String(validating: utf8, as: UTF8.self) else { throw .invalid("text that is not UTF-8") }
    return text
  }

  /// The elements of an array, each read in its turn.
  static func elements<Value>(
    of item: UnsafeMutablePointer<cbor_item_t>,
    read: (UnsafeMutablePointer<cbor_item_t>) throws(CBORError) -> Value
  ) throws(CBORError) -> [Value] {
    var elements: [Value] = []
    for element in UnsafeBufferPointer(start: cbor_array_handle(item), count: cbor_array_size(item)) {
      guard let element else { throw .invalid("array without its elements") }
      elements.append(try read(element))
    }
    return elements
  }

  /// The pairs of a map, as they stand on the wire.
  static func pairs(of item: UnsafeMutablePointer<cbor_item_t>) -> UnsafeBufferPointer<cbor_pair> {
    UnsafeBufferPointer(start: cbor_map_handle(item), count: cbor_map_size(item))
  }
}
