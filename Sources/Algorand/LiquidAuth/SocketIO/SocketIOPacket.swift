/// One packet of Socket.IO, protocol 5, as a server sends it, without binary attachments.
///
/// On the wire: a digit for the type, the namespace and a comma unless it is `/`, the number for an acknowledgement,
/// then JSON. A client sends two kinds only, ``connect(auth:)`` and ``text(of:)``.
struct SocketIOPacket: Equatable, Sendable {
  /// What the packet does.
  enum Kind: Equatable, Sendable {
    /// 0: the server accepts the client in the namespace, with this session id.
    case connect(sid: String)
    /// 1: the server removes the client from the namespace.
    case disconnect
    /// 2: an event; a number that requests an acknowledgement is ignored, and none is sent.
    case event(SocketIOEvent)
    /// 3: an acknowledgement, a JSON array after a number; this client requests none.
    case acknowledgement
    /// 4: the server refuses the client.
    case connectError(message: String)
  }

  /// The default namespace, which is omitted in packets.
  static let defaultNamespace = "/"

  /// The namespace, which begins with a slash.
  let namespace: String
  /// The type with its payload.
  let kind: Kind

  /// The request to enter the default namespace.
  ///
  /// - Parameter auth: a JSON object that proves who enters; empty for none.
  static func connect(auth: String = "") -> String { "0" + auth }

  /// An event for the default namespace.
  static func text(of event: SocketIOEvent) -> String { "2" + event.array }

  /// Reads a packet; the JSON must match the type.
  ///
  /// - Throws: ``LiquidAuthError/binary`` for the types 5 and 6, ``LiquidAuthError/malformed(_:)`` for other faults.
  init(_ text: String) throws(LiquidAuthError) {
    var rest = text.utf8[...]
    guard let type = rest.popFirst() else { throw .malformed("message") }
    namespace = Self.namespace(from: &rest)
    let id = try Self.id(from: &rest)
    kind = try Self.kind(type, id: id, json: String(decoding: rest, as: UTF8.self))
  }

  // MARK: Parts

  private static func namespace(from rest: inout Substring.UTF8View) -> String {
    guard rest.first == UInt8(ascii: "/") else { return defaultNamespace }
    let name = rest.prefix { $0 != UInt8(ascii: ",") }
    rest = rest.dropFirst(name.count + 1)
    return String(decoding: name, as: UTF8.self)
  }

  /// Reads decimal digits; `nil` if there are none.
  private static func id(from rest: inout Substring.UTF8View) throws(LiquidAuthError) -> UInt64? {
    let digits = rest.prefix(while: \.isASCIIDigit)
    guard !digits.isEmpty else { return nil }
    guard let id = UInt64(Substring(digits)) else { throw .malformed("message") }
    rest = rest.dropFirst(digits.count)
    return id
  }

  private struct Session: Decodable { let sid: String }
  private struct Refusal: Decodable { let message: String }

  private static func kind(_ type: UInt8, id: UInt64?, json: String) throws(LiquidAuthError) -> Kind {
    switch (type, id) {
    case (UInt8(ascii: "0"), nil): return .connect(sid: try SocketIOJSON.decode(Session.self, from: json).sid)
    case (UInt8(ascii: "1"), nil) where json.isEmpty: return .disconnect
    case (UInt8(ascii: "2"), _): return .event(try SocketIOEvent(array: json))
    case (UInt8(ascii: "3"), _?):
      _ = try SocketIOJSON.decode([Anything].self, from: json)
      return .acknowledgement
    case (UInt8(ascii: "4"), nil):
      return .connectError(message: try SocketIOJSON.decode(Refusal.self, from: json).message)
    case (UInt8(ascii: "5"), _), (UInt8(ascii: "6"), _): throw .binary
    default: throw .malformed("message")
    }
  }

  /// A JSON value that is ignored.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) {}
  }
}

/// A name and its arguments: the payload of Socket.IO's packet EVENT, a JSON array whose first element is the name.
struct SocketIOEvent: Equatable, Sendable {
  /// The longest name that is read, in bytes.
  private static let maximumNameSize = 64

  /// The name.
  let name: String
  /// The JSON array as it is sent.
  let array: String

  /// An event with one argument.
  init(_ name: String, _ argument: some Encodable) throws(LiquidAuthError) {
    let elements = [try SocketIOJSON.encode(name), try SocketIOJSON.encode(argument)]
    self.name = name
    array = "[" + elements.joined(separator: ",") + "]"
  }

  /// Reads the array and its name; the arguments are checked, and decoded on demand.
  init(array: String) throws(LiquidAuthError) {
    name = try SocketIOJSON.decode(Name.self, from: array).name
    guard name.utf8.count <= Self.maximumNameSize else { throw .malformed("event") }
    self.array = array
  }

  /// The first argument.
  ///
  /// - Throws: ``LiquidAuthError/malformed(_:)`` if there is none, or it is of another type. Further arguments are
  ///   ignored.
  func argument<Value: Decodable>(_ type: Value.Type) throws(LiquidAuthError) -> Value {
    try SocketIOJSON.decode(Arguments<Value>.self, from: array).first
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

/// JSON in a text of Socket.IO, to and from typed values.
enum SocketIOJSON {
  /// Reads one JSON value; members that the type does not name are ignored.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from text: some StringProtocol
  ) throws(LiquidAuthError) -> Value {
    do { return try JSONCoding.decode(type, from: text.utf8) } catch { throw .malformed("JSON") }
  }

  /// Writes a value.
  static func encode(_ value: some Encodable) throws(LiquidAuthError) -> String {
    do { return String(decoding: try JSONCoding.encode(value), as: UTF8.self) } catch { throw .malformed("JSON") }
  }
}

extension LiquidAuthError {
  private static func violation(_ what: String) -> Self {
    Self("the server violates Socket.IO: it sent \(what)", hint: "report this to the dApp's operator")
  }

  /// A packet, a handshake, a message or JSON is malformed, or arrives at the wrong time.
  static func malformed(_ part: String) -> Self { violation("a malformed \(part)") }

  /// A packet in binary, or with binary attachments.
  static let binary = violation("a binary message")

  /// A message that exceeds the limit.
  static let tooLarge = violation("a message of more than \(SocketIOMachine.maximumMessageSize) bytes")
}
