import FoundationEssentials

/// JSON in text, to and from typed values: RFC 8259.
enum JSONText {
  /// Reads one JSON value; members that the type does not name are passed over.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from text: some StringProtocol
  ) throws(SocketIOError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(text.utf8))
    } catch {
      throw .malformed(.json)
    }
  }

  /// Writes a value on one line, members in alphabetical order.
  static func encode(_ value: some Encodable) throws(SocketIOError) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(value), as: UTF8.self)
    } catch {
      throw .malformed(.json)
    }
  }
}
