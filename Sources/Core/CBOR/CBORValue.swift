/// One CBOR item of the kinds that CTAP2 uses.
///
/// There is no `null`, no floating point, no tag and no indefinite length: no message of CTAP2 has one, and the decoder
/// refuses them (CTAP §8). Texts are compared by their UTF-8 bytes: "é" in one code point and "é" in two are different
/// values here, as they are different keys, names and relying parties on the wire.
public enum CBORValue: Sendable {
  /// An unsigned integer, major type 0.
  case unsigned(UInt64)
  /// The integer −1 − n, major type 1.
  case negative(UInt64)
  /// A byte string, major type 2.
  case bytes([UInt8])
  /// A text string, major type 3; the exact UTF-8 bytes are kept.
  case text(String)
  /// An array, major type 4.
  case array([CBORValue])
  /// A map, major type 5.
  case map(CBORMap)
  /// `false` or `true`, major type 7.
  case bool(Bool)

  /// An integer of either sign.
  public init(_ integer: Int64) {
    self = integer < 0 ? .negative(UInt64(-1 - integer)) : .unsigned(UInt64(integer))
  }

  /// An integer of either sign.
  public init(_ integer: Int) { self.init(Int64(integer)) }
}

// MARK: - Reading one value

extension CBORValue {
  /// The number, when this is an unsigned integer.
  public var unsigned: UInt64? {
    if case .unsigned(let number) = self { number } else { nil }
  }

  /// The number, when this is a signed 64-bit integer.
  public var int: Int64? {
    switch self {
    case .unsigned(let number): Int64(exactly: number)
    case .negative(let number): Int64(exactly: number).map { -1 - $0 }
    default: nil
    }
  }

  /// The bytes, when this is a byte string.
  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  /// The text, when this is a text string.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The truth value, when this is one.
  public var bool: Bool? {
    if case .bool(let truth) = self { truth } else { nil }
  }

  /// The elements, when this is an array.
  public var array: [CBORValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The pairs, when this is a map.
  public var map: CBORMap? {
    if case .map(let map) = self { map } else { nil }
  }
}

// MARK: - Equality by bytes

extension CBORValue: Hashable {
  /// Compares the encodings.
  public static func == (left: CBORValue, right: CBORValue) -> Bool {
    switch (left, right) {
    case (.unsigned(let left), .unsigned(let right)): left == right
    case (.negative(let left), .negative(let right)): left == right
    case (.bytes(let left), .bytes(let right)): left == right
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.array(let left), .array(let right)): left == right
    case (.map(let left), .map(let right)): left == right
    case (.bool(let left), .bool(let right)): left == right
    default: false
    }
  }

  /// Hashes the major type and the content.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(majorType)
    switch self {
    case .unsigned(let number), .negative(let number): hasher.combine(number)
    case .bytes(let bytes): hasher.combine(bytes)
    case .text(let text): text.utf8.forEach { hasher.combine($0) }
    case .array(let elements): hasher.combine(elements)
    case .map(let map): hasher.combine(map)
    case .bool(let truth): hasher.combine(truth)
    }
  }
}

// MARK: - Canonical order of keys

extension CBORValue {
  /// The upper three bits of the first byte, RFC 8949 §3.1.
  var majorType: UInt8 {
    switch self {
    case .unsigned: 0
    case .negative: 1
    case .bytes: 2
    case .text: 3
    case .array: 4
    case .map: 5
    case .bool: 7
    }
  }

  /// Whether this key comes before another in a canonical map: by major type, then by encoded length, then by bytes.
  ///
  /// CTAP §8. Within one major type below 4, and for the two truth values, a smaller argument is a shorter or smaller
  /// encoding, so the usual keys of messages are compared without encoding them.
  static func precedes(_ left: CBORValue, _ right: CBORValue) -> Bool {
    switch (left, right) {
    case (.unsigned(let left), .unsigned(let right)), (.negative(let left), .negative(let right)): left < right
    case (.bytes(let left), .bytes(let right)): shorterOrSmaller(left, right)
    case (.text(let left), .text(let right)): shorterOrSmaller(left.utf8, right.utf8)
    case (.array, .array), (.map, .map): shorterOrSmaller(CBOREncoder.encode(left), CBOREncoder.encode(right))
    case (.bool(let left), .bool(let right)): !left && right
    default: left.majorType < right.majorType
    }
  }

  private static func shorterOrSmaller(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
  }
}

// MARK: - Description

extension CBORValue: CustomStringConvertible {
  /// Numbers and truth values as they are; only the kind and size of everything else.
  ///
  /// Descriptions appear in errors and logs, and the content may be secret or name the user.
  public var description: String {
    switch self {
    case .unsigned(let number): "\(number)"
    case .negative(let number): number == .max ? "-18446744073709551616" : "-\(number + 1)"
    case .bytes(let bytes): "bytes(\(bytes.count))"
    case .text(let text): "text(\(text.utf8.count))"
    case .array(let elements): "array(\(elements.count))"
    case .map(let map): "map(\(map.count))"
    case .bool(let truth): "\(truth)"
    }
  }
}

// MARK: - Literals

extension CBORValue: ExpressibleByIntegerLiteral {
  /// Writes a key or a number as in the specification.
  public init(integerLiteral value: Int64) { self.init(value) }
}

extension CBORValue: ExpressibleByStringLiteral {
  /// Writes a text key or a text.
  public init(stringLiteral value: String) { self = .text(value) }
}

extension CBORValue: ExpressibleByBooleanLiteral {
  /// Writes `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension CBORValue: ExpressibleByArrayLiteral {
  /// Writes an array.
  public init(arrayLiteral elements: CBORValue...) { self = .array(elements) }
}

extension CBORValue: ExpressibleByDictionaryLiteral {
  /// Writes a map from pairs in any order.
  public init(dictionaryLiteral pairs: (CBORValue, CBORValue)...) {
    self = .map(CBORMap(pairs))
  }
}
