import CCBOR

/// Values to bytes, in CTAP2 canonical form.
public enum CBOREncoder {
  /// Encodes a value, CTAP §8: libcbor writes the shortest heads, ``CBORMap`` keeps the order.
  public static func encode(_ value: CBORValue) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(512)
    append(value, to: &bytes)
    return bytes
  }

  private static func append(_ value: CBORValue, to bytes: inout [UInt8]) {
    switch value {
    case .unsigned(let number): appendHead(to: &bytes) { cbor_encode_uint(number, $0, $1) }
    case .negative(let number): appendHead(to: &bytes) { cbor_encode_negint(number, $0, $1) }
    case .bytes(let content):
      appendHead(to: &bytes) { cbor_encode_bytestring_start(content.count, $0, $1) }
      bytes += content
    case .text(let text):
      appendHead(to: &bytes) { cbor_encode_string_start(text.utf8.count, $0, $1) }
      var text = text
      text.withUTF8 { bytes.append(contentsOf: $0) }
    case .array(let elements):
      appendHead(to: &bytes) { cbor_encode_array_start(elements.count, $0, $1) }
      for element in elements { append(element, to: &bytes) }
    case .map(let map):
      appendHead(to: &bytes) { cbor_encode_map_start(map.count, $0, $1) }
      for pair in map.pairs {
        append(pair.key, to: &bytes)
        append(pair.value, to: &bytes)
      }
    case .bool(let truth): appendHead(to: &bytes) { cbor_encode_bool(truth, $0, $1) }
    }
  }

  /// Lets libcbor write one head into its nine bytes at most, and takes over as many as it wrote.
  static func appendHead(
    to bytes: inout [UInt8], _ write: (UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 9) { head in
      let count = write(head.baseAddress, head.count)
      // Most heads are one byte.
      if count == 1 { return bytes.append(head[0]) }
      bytes.append(contentsOf: UnsafeBufferPointer(start: head.baseAddress, count: count))
    }
  }
}
