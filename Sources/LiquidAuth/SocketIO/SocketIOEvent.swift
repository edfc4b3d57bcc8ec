/// A name with what was said under it: the payload of Socket.IO's packet EVENT, a JSON array whose first element is the
/// name.
struct SocketIOEvent: Equatable, Sendable {
  /// The name.
  let name: String
  /// The JSON array as it is sent.
  let array: String

  /// An event with one argument.
  init(_ name: String, _ argument: some Encodable) throws(SocketIOError) {
    let elements = [try JSONText.encode(name), try JSONText.encode(argument)]
    self.name = name
    array = "[" + elements.joined(separator: ",") + "]"
  }

  /// Reads the array and its name; the arguments wait until somebody asks for them.
  init(array: String) throws(SocketIOError) {
    name = try JSONText.decode(Name.self, from: array).name
    self.array = array
  }

  /// The first argument.
  ///
  /// - Throws: ``SocketIOError/malformed(_:)`` when there is none, or it is of another type. What follows it is passed
  ///   over.
  func argument<Value: Decodable>(_ type: Value.Type) throws(SocketIOError) -> Value {
    try JSONText.decode(Arguments<Value>.self, from: array).first
  }

  private struct Name: Decodable {
    let name: String

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      name = try elements.decode(String.self)
    }
  }

  private struct Arguments<Value: Decodable>: Decodable {
    let first: Value

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      _ = try elements.decode(String.self)
      first = try elements.decode(Value.self)
    }
  }
}
