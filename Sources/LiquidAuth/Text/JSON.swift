import FoundationEssentials

/// JSON, RFC 8259: this room's one door to it, and to Foundation.
///
/// A text is looked at before it is decoded: it must be UTF-8, at most ``maximumDepth`` deep, and no object may have a name
/// twice (RFC 7493 §2.3), of which one reader takes the first and another the last. Foundation takes a comma after the
/// last value, which RFC 8259 (§4, §5) does not have. Members that a type does not name are passed over. How many bytes
/// come is limited by the ports.
enum JSON {
  /// Arrays and objects in one another, at most; servers of Liquid Auth and Keyri have 4.
  static let maximumDepth = 32

  /// Writes a value on one line, members in the order of their names, slashes as they are: one value has one form.
  ///
  /// - Throws: ``JSONError/unwritable`` for a number that JSON does not have.
  static func encode(_ value: some Encodable) throws(JSONError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { return Array(try encoder.encode(value)) } catch { throw .unwritable }
  }

  /// Reads one value.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from json: some Collection<UInt8>
  ) throws(JSONError) -> Value {
    let json = Array(json)
    try check(json)
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

  /// Where a member stands, such as `rp.id`; the names are our own types', never a server's.
  private static func member(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "the answer" : path.map(\.stringValue).joined(separator: ".")
  }
}

/// What is wrong with a JSON text, or keeps a value from being one.
enum JSONError: Error, Equatable, CustomStringConvertible {
  /// It is not JSON in UTF-8, or a number in it is out of its type's range.
  case noJSON
  /// It is deeper than is read.
  case tooDeep
  /// A name stands in an object twice.
  case repeatedName
  /// A member that must be there is not; where.
  case missing(String)
  /// A member is of another kind, or `null`; where.
  case otherKind(String)
  /// A member is of the right kind and means nothing; where.
  case invalid(String)
  /// A value has no form in JSON.
  case unwritable

  /// What is wrong, as part of a sentence; nothing of the text is in it.
  var description: String {
    switch self {
    case .noJSON: "it is not JSON"
    case .tooDeep: "it is nested more than \(JSON.maximumDepth) deep"
    case .repeatedName: "it has a duplicate name"
    case .missing(let member): "\(member) is missing"
    case .otherKind(let member): "\(member) has a wrong type"
    case .invalid(let member): "\(member) is malformed"
    case .unwritable: "it cannot be written as JSON"
    }
  }
}

// MARK: - What the decoder does not look at

extension JSON {
  /// Checks encoding, depth, names and trailing commas; whether it is JSON at all, the decoder says.
  private static func check(_ json: [UInt8]) throws(JSONError) {
    // A zero would have the decoder try UTF-16 and UTF-32, which RFC 8259 §8.1 does not have.
    guard !json.contains(0), String(validating: json, as: UTF8.self) != nil else { throw .noJSON }
    var rest = json[...]
    /// Of each object that is open, the names so far; `nil` for an array.
    var open: [Set<String>?] = []
    var isName = false
    var previous: UInt8 = 0
    while let byte = rest.popFirst() {
      if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { continue }
      defer { previous = byte }
      switch byte {
      case UInt8(ascii: "["): open.append(nil)
      case UInt8(ascii: "{"): open.append([])
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        guard previous != UInt8(ascii: ",") else { throw .noJSON }
        _ = open.popLast()
      case UInt8(ascii: ","): break
      case UInt8(ascii: "\""):
        let string = popString(&rest)
        if isName, open[open.count - 1]?.insert(try name(string)).inserted == false { throw .repeatedName }
        isName = false
        continue
      default: continue
      }
      guard open.count <= maximumDepth else { throw .tooDeep }
      isName = (open.last ?? nil) != nil
    }
  }

  /// A string with its quotation marks, of which the first has been read.
  private static func popString(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    var string = [UInt8(ascii: "\"")]
    while let byte = rest.popFirst() {
      string.append(byte)
      if byte == UInt8(ascii: "\"") { break }
      if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { string.append(escaped) }
    }
    return string
  }

  /// A name with its escapes read: `"a"` and `"\u0061"` are one.
  private static func name(_ string: [UInt8]) throws(JSONError) -> String {
    do { return try JSONDecoder().decode(String.self, from: Data(string)) } catch { throw .noJSON }
  }
}
