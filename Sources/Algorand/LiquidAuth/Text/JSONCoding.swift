import FoundationEssentials

/// JSON, RFC 8259: the only code in this module that uses it and Foundation.
///
/// ``JSONGrammar`` checks a text before it is decoded: it must be UTF-8, at most ``maximumDepth`` deep, and no object may
/// have a name twice (RFC 7493 §2.3), since readers differ on which one counts. Names are compared by their bytes
/// (RFC 8259 §8.3). Members that a type does not name are checked too, and then ignored. The ports limit the number of
/// bytes.
package enum JSONCoding {
  /// The most nested arrays and objects; servers of Liquid Auth and Keyri have 4.
  static let maximumDepth = 32

  /// Writes a value on one line with sorted members and unescaped slashes, so that one value has one form.
  ///
  /// - Throws: ``JSONError/unwritable`` for a number that JSON does not have.
  package static func encode(_ value: some Encodable) throws(JSONError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { return Array(try encoder.encode(value)) } catch { throw .unwritable }
  }

  /// Reads one value.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from json: some Collection<UInt8>
  ) throws(JSONError) -> Value {
    let json = Array(json)
    try JSONGrammar.check(json)
    do {
      return try JSONDecoder().decode(type, from: Data(json))
    } catch DecodingError.keyNotFound(let key, let context) {
      throw .missing(member(context.codingPath + [key]))
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
      throw .otherKind(member(context.codingPath))
    } catch DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty {
      throw .invalid(member(context.codingPath))
    } catch {
      throw .noJSON
    }
  }

  /// The path of a member, such as `rp.id`; the names come from our own types, never from a server.
  private static func member(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "the answer" : path.map(\.stringValue).joined(separator: ".")
  }
}

/// Why a text is not acceptable JSON, or a value cannot be written as JSON.
package enum JSONError: Error, Equatable, CustomStringConvertible {
  /// The text is not JSON in UTF-8, or a number in it is out of its type's range.
  case noJSON
  /// The text is nested too deeply.
  case tooDeep
  /// An object has a name twice.
  case repeatedName
  /// A name is longer than ``JSONGrammar/maximumNameSize``.
  case longName
  /// A name has a character that readers take for one of ASCII.
  case ambiguousName
  /// A required member is missing; its path.
  case missing(String)
  /// A member is of another kind, or `null`; its path.
  case otherKind(String)
  /// A member is of the right kind and has an invalid value; its path.
  case invalid(String)
  /// The value cannot be written as JSON.
  case unwritable

  /// What is wrong, as part of a sentence; without any of the text.
  package var description: String {
    switch self {
    case .noJSON: "it is not JSON"
    case .tooDeep: "it is nested more than \(JSONCoding.maximumDepth) deep"
    case .repeatedName: "it has a duplicate name"
    case .longName: "it has a name of more than \(JSONGrammar.maximumNameSize) bytes"
    case .ambiguousName: "it has a name that can be read as another one"
    case .missing(let member): "\(member) is missing"
    case .otherKind(let member): "\(member) has a wrong type"
    case .invalid(let member): "\(member) is malformed"
    case .unwritable: "it cannot be written as JSON"
    }
  }
}
