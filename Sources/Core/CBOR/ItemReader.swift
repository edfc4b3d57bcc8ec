import CCBOR

/// Reads an encoding that ``EncodingWalk`` has accepted, item by item; only this type decodes with libcbor.
struct ItemReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var offset = 0

  /// Calls `value` to read all items of `bytes`.
  static func read<Value>(
    _ bytes: [UInt8], _ value: (inout ItemReader) throws(CBORError) -> Value
  ) throws(CBORError) -> Value {
    try bytes.withUnsafeBufferPointer { bytes in
      Result { () throws(CBORError) in
        var reader = ItemReader(bytes: bytes)
        return try value(&reader)
      }
    }.get()
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The next item; for an array or map its head, and its elements are the items that follow.
  mutating func next() throws(CBORError) -> Item {
    var item = cbor_shim_item()
    let count = cbor_shim_next(bytes.baseAddress.map { $0 + offset }, bytes.count - offset, &item)
    guard count > 0 else { throw .invalid("libcbor refuses the item at byte \(offset)") }
    let start = offset
    offset += count
    switch item.kind {
    case CBOR_SHIM_UNSIGNED: return .unsigned(item.number)
    case CBOR_SHIM_NEGATIVE: return .negative(item.number)
    case CBOR_SHIM_BYTES: return .bytes(Array(Self.content(of: item)))
    case CBOR_SHIM_TEXT:
      let content = Self.content(of: item)
      // `String(decoding:)` repairs invalid UTF-8, so the bytes then differ. `String(validating:)` takes four times as
      // long.
      var text = String(decoding: content, as: UTF8.self)
      guard text.withUTF8({ $0.elementsEqual(content) }) else {
        throw .invalid("text that is not UTF-8 at byte \(start)")
      }
      return .text(text)
    case CBOR_SHIM_ARRAY: return .array(count: Int(item.number))
    case CBOR_SHIM_MAP: return .map(count: Int(item.number))
    case CBOR_SHIM_BOOL: return .bool(item.number != 0)
    case CBOR_SHIM_NULL: return .null
    case CBOR_SHIM_FLOAT: return .float(item.real)
    default: throw .invalid("a tag or an indefinite length at byte \(start)")
    }
  }

  private static func content(of string: cbor_shim_item) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: string.content, count: Int(string.number))
  }

  /// One item, or the head of an array or map.
  enum Item {
    case unsigned(UInt64)
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array(count: Int)
    case map(count: Int)
    case bool(Bool)
    /// `null` or `undefined`.
    case null
    case float(Double)
  }
}
