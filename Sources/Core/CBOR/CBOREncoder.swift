import CCBOR

/// Encodes values in CTAP2 canonical form.
public enum CBOREncoder {
  /// Encodes a value, CTAP §8: libcbor writes the shortest heads, ``CBORMap`` keeps the order.
  public static func encode(_ value: CBORValue) -> [UInt8] {
    var bytes = Array(repeatElement(0 as UInt8, count: size(of: value)))
    var count = 0
    bytes.withUnsafeMutableBufferPointer { write(value, to: $0, at: &count) }
    return bytes
  }

  /// The head of a byte string of `count` bytes, for content that is too large for one ``CBORValue``.
  public static func head(ofBytes count: Int) -> [UInt8] { head { cbor_encode_bytestring_start(count, $0, $1) } }
  /// The head of an array of `count` elements, whose encodings follow it.
  public static func head(ofArray count: Int) -> [UInt8] { head { cbor_encode_array_start(count, $0, $1) } }
  /// The head of a map of `count` members; the encodings of each key and value follow it, in canonical order.
  public static func head(ofMap count: Int) -> [UInt8] { head { cbor_encode_map_start(count, $0, $1) } }

  private static func head(_ write: (UnsafeMutablePointer<UInt8>?, Int) -> Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 9)
    let count = bytes.withUnsafeMutableBufferPointer { write($0.baseAddress, $0.count) }
    return Array(bytes.prefix(count))
  }

  /// The size of the encoding, in bytes.
  private static func size(of value: CBORValue) -> Int {
    switch value {
    case .unsigned(let number), .negative(let number): headSize(number)
    case .bytes(let content): headSize(UInt64(content.count)) + content.count
    case .text(let text): headSize(UInt64(text.utf8.count)) + text.utf8.count
    case .array(let elements): elements.reduce(headSize(UInt64(elements.count))) { $0 + size(of: $1) }
    case .map(let map):
      map.pairs.indices.reduce(headSize(UInt64(map.count))) {
        $0 + size(of: map.pairs[$1].key) + size(of: map.pairs[$1].value)
      }
    case .bool: 1
    }
  }

  /// The size of a head, in bytes: the argument is in the first byte, or in 1, 2, 4 or 8 bytes after it (RFC 8949 §3).
  private static func headSize(_ argument: UInt64) -> Int {
    switch argument {
    case 0..<24: 1
    case 24...0xFF: 2
    case 0x100...0xFFFF: 3
    case 0x1_0000...0xFFFF_FFFF: 5
    default: 9
    }
  }

  /// Appends to the first `count` bytes of `bytes`, which must have room for the value.
  private static func write(_ value: CBORValue, to bytes: UnsafeMutableBufferPointer<UInt8>, at count: inout Int) {
    let (free, room) = (bytes.baseAddress.map { $0 + count }, bytes.count - count)
    switch value {
    case .unsigned(let number): count += cbor_encode_uint(number, free, room)
    case .negative(let number): count += cbor_encode_negint(number, free, room)
    case .bool(let truth): count += cbor_encode_bool(truth, free, room)
    case .bytes(let content):
      count += cbor_encode_bytestring_start(content.count, free, room)
      count = bytes[count...].update(fromContentsOf: content)
    case .text(let text):
      count += cbor_encode_string_start(text.utf8.count, free, room)
      count = bytes[count...].update(fromContentsOf: text.utf8)
    case .array(let elements):
      count += cbor_encode_array_start(elements.count, free, room)
      for element in elements { write(element, to: bytes, at: &count) }
    case .map(let map):
      count += cbor_encode_map_start(map.count, free, room)
      for index in map.pairs.indices {
        write(map.pairs[index].key, to: bytes, at: &count)
        write(map.pairs[index].value, to: bytes, at: &count)
      }
    }
  }
}
