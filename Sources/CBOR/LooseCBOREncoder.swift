import CCBOR

/// Values to bytes, in the one form that every reader takes: shortest heads, keys in CTAP2's canonical order.
public enum LooseCBOREncoder {
  /// Encodes a value; a floating-point number always takes 9 bytes.
  public static func encode(_ value: LooseCBORValue) -> [UInt8] {
    var bytes: [UInt8] = []
    append(value, to: &bytes)
    return bytes
  }

  private static func append(_ value: LooseCBORValue, to bytes: inout [UInt8]) {
    switch value {
    case .unsigned(let number): bytes += CBOREncoder.encode(.unsigned(number))
    case .negative(let number): bytes += CBOREncoder.encode(.negative(number))
    case .float(let number): CBOREncoder.appendHead(to: &bytes) { cbor_encode_double(number, $0, $1) }
    case .bytes(let content): bytes += CBOREncoder.encode(.bytes(content))
    case .text(let text): bytes += CBOREncoder.encode(.text(text))
    case .array(let elements):
      CBOREncoder.appendHead(to: &bytes) { cbor_encode_array_start(elements.count, $0, $1) }
      for element in elements { append(element, to: &bytes) }
    case .map(let members):
      CBOREncoder.appendHead(to: &bytes) { cbor_encode_map_start(members.count, $0, $1) }
      let pairs = members.map { (key: CBORValue.text($0.key), value: $0.value) }
      for pair in pairs.sorted(by: { CBORValue.precedes($0.key, $1.key) }) {
        bytes += CBOREncoder.encode(pair.key)
        append(pair.value, to: &bytes)
      }
    case .bool(let truth): bytes += CBOREncoder.encode(.bool(truth))
    case .null: CBOREncoder.appendHead(to: &bytes) { cbor_encode_null($0, $1) }
    }
  }
}
