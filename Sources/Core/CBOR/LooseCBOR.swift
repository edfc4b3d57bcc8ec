import CCBOR

/// One CBOR item of the kinds that JavaScript writes: the data model of JSON, and byte strings.
///
/// The second profile, for what a web page sends to a wallet (ARC-27). CTAP2 messages are never read as this, and
/// neither type converts to the other: ``CBORValue`` has no `null`, and no floating point.
public enum LooseCBORValue: Equatable, Sendable {
  /// An unsigned integer.
  case unsigned(UInt64)
  /// The integer −1 − n.
  case negative(UInt64)
  /// A number with a fraction, or one that JavaScript keeps outside of 32 bits.
  case float(Double)
  /// A byte string.
  case bytes([UInt8])
  /// A text string; the exact UTF-8 bytes are kept.
  case text(String)
  /// An array.
  case array([LooseCBORValue])
  /// A map.
  case map([LooseCBORName: LooseCBORValue])
  /// `false` or `true`.
  case bool(Bool)
  /// `null`; JavaScript's `undefined` is read as this too.
  case null
}

/// The name of a member of a map, compared and hashed by its UTF-8 bytes (RFC 8259 §8.3).
///
/// `String` compares and hashes normal forms. To make one takes a time that grows with the square of the number of
/// combining marks in a row.
public struct LooseCBORName: Sendable {
  /// The longest name that the decoder accepts, in bytes.
  public static let maximumSize = 64

  /// The exact text.
  public let text: String

  /// Takes a text.
  public init(_ text: String) { self.text = text }
}

extension LooseCBORName: Hashable {
  /// Compares the bytes.
  public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension LooseCBORName: ExpressibleByStringLiteral {
  /// Writes a name.
  public init(stringLiteral value: String) { self.init(value) }
}

// MARK: - Reading one value

extension LooseCBORValue {
  /// The text, when this is a text string.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The elements, when this is an array.
  public var array: [LooseCBORValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The members, when this is a map.
  public var map: [LooseCBORName: LooseCBORValue]? {
    if case .map(let members) = self { members } else { nil }
  }
}

// MARK: - Literals

extension LooseCBORValue: ExpressibleByStringLiteral {
  /// Writes a text.
  public init(stringLiteral value: String) { self = .text(value) }
}

extension LooseCBORValue: ExpressibleByArrayLiteral {
  /// Writes an array.
  public init(arrayLiteral elements: LooseCBORValue...) { self = .array(elements) }
}

extension LooseCBORValue: ExpressibleByDictionaryLiteral {
  /// Writes a map; of two pairs with the same key, the last is kept.
  public init(dictionaryLiteral pairs: (LooseCBORName, LooseCBORValue)...) {
    self = .map(Dictionary(pairs) { $1 })
  }
}

/// Decodes what cbor-x and similar encoders write; never used for CTAP2.
public enum LooseCBORDecoder {
  /// How many arrays and maps may be open at once.
  ///
  /// A request of ARC-27 has six: message, params, txns, one of them, its msig, its addrs.
  public static let maximumDepth = 8

  /// Decodes exactly one item.
  ///
  /// It accepts more than ``CBORDecoder``: heads wider than needed (cbor-x writes each map's count in 16 bits), keys in
  /// any order, `null`, `undefined` and floating point.
  ///
  /// - Parameters:
  ///   - bytes: the whole item; nothing may follow it.
  ///   - maximumSize: the limit of the input, in bytes.
  /// - Throws: ``CBORError/invalid(_:)`` for more bytes or depth, a key that is not a text, is a duplicate or is longer
  ///   than ``LooseCBORName/maximumSize``, an indefinite length, a tag, an unassigned simple value, text that is not
  ///   UTF-8, or trailing bytes.
  public static func decode(_ bytes: [UInt8], maximumSize: Int) throws(CBORError) -> LooseCBORValue {
    guard bytes.count <= maximumSize else { throw .invalid("\(bytes.count) bytes; the limit is \(maximumSize)") }
    try EncodingWalk.check(bytes, form: .loose, maximumDepth: maximumDepth)
    return try ItemReader.read(bytes, value)
  }

  /// Whether bytes are an incomplete prefix of one item.
  public static func isCutOff(_ bytes: [UInt8]) -> Bool {
    EncodingWalk.isCutOff(bytes, form: .loose, maximumDepth: maximumDepth)
  }

  private static func value(_ reader: inout ItemReader) throws(CBORError) -> LooseCBORValue {
    switch try reader.next() {
    case .unsigned(let number): return .unsigned(number)
    case .negative(let number): return .negative(number)
    case .float(let number): return .float(number)
    case .bytes(let bytes): return .bytes(bytes)
    case .text(let text): return .text(text)
    case .bool(let truth): return .bool(truth)
    case .null: return .null
    case .array(let count):
      var elements: [LooseCBORValue] = []
      elements.reserveCapacity(count)
      for _ in 0..<count { elements.append(try value(&reader)) }
      return .array(elements)
    case .map(let count):
      var members: [LooseCBORName: LooseCBORValue] = [:]
      for _ in 0..<count {
        guard case .text(let key) = try reader.next() else { throw .invalid("a map key is not a text") }
        guard key.utf8.count <= LooseCBORName.maximumSize else {
          throw .invalid("a map key has \(key.utf8.count) bytes; the limit is \(LooseCBORName.maximumSize)")
        }
        guard members.updateValue(try value(&reader), forKey: LooseCBORName(key)) == nil else {
          throw .invalid("a map has a duplicate key")
        }
      }
      return .map(members)
    }
  }
}

/// Encodes values in the form that every decoder accepts: shortest heads, keys in CTAP2's canonical order.
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
    case .float(let number): appendHead(to: &bytes) { cbor_encode_double(number, $0, $1) }
    case .bytes(let content): bytes += CBOREncoder.encode(.bytes(content))
    case .text(let text): bytes += CBOREncoder.encode(.text(text))
    case .array(let elements):
      appendHead(to: &bytes) { cbor_encode_array_start(elements.count, $0, $1) }
      for element in elements { append(element, to: &bytes) }
    case .map(let members):
      appendHead(to: &bytes) { cbor_encode_map_start(members.count, $0, $1) }
      let pairs = members.map { (key: CBORValue.text($0.key.text), value: $0.value) }
      for pair in pairs.sorted(by: { CBORValue.precedes($0.key, $1.key) }) {
        bytes += CBOREncoder.encode(pair.key)
        append(pair.value, to: &bytes)
      }
    case .bool(let truth): bytes += CBOREncoder.encode(.bool(truth))
    case .null: appendHead(to: &bytes) { cbor_encode_null($0, $1) }
    }
  }

  /// Appends a head, at most nine bytes, that libcbor encodes.
  private static func appendHead(
    to bytes: inout [UInt8], _ write: (UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 9) { head in
      let count = write(head.baseAddress, head.count)
      bytes.append(contentsOf: UnsafeBufferPointer(start: head.baseAddress, count: count))
    }
  }
}
