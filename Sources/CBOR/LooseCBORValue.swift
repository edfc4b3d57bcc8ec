/// One CBOR item of the kinds that JavaScript writes: the data model of JSON, and byte strings.
///
/// The second profile, for what a web page sends to a wallet (ARC-27). No message of CTAP2 is ever read as this, and
/// nothing turns one into the other: ``CBORValue`` has no `null`, and no floating point.
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
  /// A map. Its keys are compared as texts: two that look the same are the same.
  case map([String: LooseCBORValue])
  /// `false` or `true`.
  case bool(Bool)
  /// `null`; JavaScript's `undefined` is read as this too.
  case null
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
  public var map: [String: LooseCBORValue]? {
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
  /// Writes a map; of two pairs with the same key the last one counts.
  public init(dictionaryLiteral pairs: (String, LooseCBORValue)...) {
    self = .map(Dictionary(pairs) { $1 })
  }
}
