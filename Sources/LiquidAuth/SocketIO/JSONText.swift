/// JSON in a text of Socket.IO, to and from typed values.
enum JSONText {
  /// Reads one JSON value; members that the type does not name are passed over.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from text: some StringProtocol
  ) throws(SocketIOError) -> Value {
    do { return try JSON.decode(type, from: text.utf8) } catch { throw .malformed(.json) }
  }

  /// Writes a value.
  static func encode(_ value: some Encodable) throws(SocketIOError) -> String {
    do { return String(decoding: try JSON.encode(value), as: UTF8.self) } catch { throw .malformed(.json) }
  }
}
