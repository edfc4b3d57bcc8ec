/// Decodes values, in the canonical form of CTAP2 only.
public enum CBORDecoder {
  /// How many arrays and maps may be open at once in a CTAP2 message, CTAP §8.
  public static let messageDepth = 4

  /// Decodes exactly one item in CTAP2 canonical form, CTAP §8.
  ///
  /// ``CBOREncoder`` encodes the result to the same bytes.
  ///
  /// - Parameters:
  ///   - bytes: the whole item; nothing may follow it.
  ///   - maximumDepth: how many arrays and maps may be open at once, at most 64. The project's own files may exceed the
  ///     4 of messages.
  /// - Throws: ``CBORError/invalid(_:)`` for everything that is not canonical: a number or length in more bytes than
  ///   needed, keys out of order or twice, an indefinite length, a tag, a float or a simple value other than a boolean,
  ///   text that is not UTF-8, more depth, or trailing bytes.
  public static func decode(_ bytes: [UInt8], maximumDepth: Int = messageDepth) throws(CBORError) -> CBORValue {
    try EncodingWalk.check(bytes, form: .canonical, maximumDepth: min(maximumDepth, 64))
    return try ItemReader.read(bytes, value)
  }

  private static func value(_ reader: inout ItemReader) throws(CBORError) -> CBORValue {
    switch try reader.next() {
    case .unsigned(let number): return .unsigned(number)
    case .negative(let number): return .negative(number)
    case .bytes(let bytes): return .bytes(bytes)
    case .text(let text): return .text(text)
    case .bool(let truth): return .bool(truth)
    case .array(let count):
      var elements: [CBORValue] = []
      elements.reserveCapacity(count)
      for _ in 0..<count { elements.append(try value(&reader)) }
      return .array(elements)
    case .map(let count):
      var map = CBORMap(capacity: count)
      for _ in 0..<count {
        let key = try value(&reader)
        guard map.append(try value(&reader), forKey: key) else {
          throw .invalid("the map's keys are out of order or duplicate")
        }
      }
      return .map(map)
    case .null, .float: throw .invalid("neither false nor true")
    }
  }
}

/// An encoding error, or a missing or wrong member.
///
/// The three cases are three statuses of CTAP2 (CTAP §6.3). Errors are equal by case: the reason is only for messages.
public enum CBORError: Error, Sendable {
  /// The bytes are not CBOR in the required form: `CTAP2_ERR_INVALID_CBOR` (0x12).
  case invalid(String)
  /// A member has another CBOR type: `CTAP2_ERR_CBOR_UNEXPECTED_TYPE` (0x11).
  case unexpectedType(String)
  /// A member is missing: `CTAP2_ERR_MISSING_PARAMETER` (0x14).
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
  /// The reason, and the place in the bytes.
  public var description: String {
    switch self {
    case .invalid(let reason): "invalid CBOR: \(reason)"
    case .unexpectedType(let reason): "unexpected CBOR type: \(reason)"
    case .missing(let reason): "missing CBOR member: \(reason)"
    }
  }
}
