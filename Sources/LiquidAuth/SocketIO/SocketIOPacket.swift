/// One packet of Socket.IO, protocol 5, as a server sends it, without binary attachments.
///
/// On the wire: a digit for the type, the namespace and a comma unless it is `/`, the number that an acknowledgement
/// carries too, then JSON. A client sends two kinds only, ``connect`` and ``text(of:)``.
struct SocketIOPacket: Equatable, Sendable {
  /// What the packet does.
  enum Kind: Equatable, Sendable {
    /// 0: the client is let into the namespace, under this session id.
    case connect(sid: String)
    /// 1: the client is put out of the namespace.
    case disconnect
    /// 2: an event; the number by which an acknowledgement may be asked for is passed over, none is sent.
    case event(SocketIOEvent)
    /// 3: an acknowledgement, a JSON array behind a number; we ask for none.
    case acknowledgement
    /// 4: the client is not let in.
    case connectError(message: String)
  }

  /// The namespace that needs no name.
  static let defaultNamespace = "/"

  /// The namespace, which begins with a slash.
  let namespace: String
  /// The type with its payload.
  let kind: Kind

  /// What asks to be let into the default namespace.
  static let connect = "0"

  /// An event for the default namespace.
  static func text(of event: SocketIOEvent) -> String { "2" + event.array }

  /// Reads a packet; JSON must be of the kind that its type has.
  ///
  /// - Throws: ``SocketIOError/binary`` for the types 5 and 6, ``SocketIOError/malformed(_:)`` for all else.
  init(_ text: String) throws(SocketIOError) {
    var rest = text.utf8[...]
    guard let type = rest.popFirst() else { throw .malformed(.message) }
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

  /// Decimal digits; `nil` when there are none.
  private static func id(from rest: inout Substring.UTF8View) throws(SocketIOError) -> UInt64? {
    let digits = rest.prefix(while: \.isASCIIDigit)
    guard !digits.isEmpty else { return nil }
    guard let id = UInt64(Substring(digits)) else { throw .malformed(.message) }
    rest = rest.dropFirst(digits.count)
    return id
  }

  private struct Session: Decodable { let sid: String }
  private struct Refusal: Decodable { let message: String }

  private static func kind(_ type: UInt8, id: UInt64?, json: String) throws(SocketIOError) -> Kind {
    switch (type, id) {
    case (UInt8(ascii: "0"), nil): return .connect(sid: try JSONText.decode(Session.self, from: json).sid)
    case (UInt8(ascii: "1"), nil) where json.isEmpty: return .disconnect
    case (UInt8(ascii: "2"), _): return .event(try SocketIOEvent(array: json))
    case (UInt8(ascii: "3"), _?):
      _ = try JSONText.decode([Anything].self, from: json)
      return .acknowledgement
    case (UInt8(ascii: "4"), nil): return .connectError(message: try JSONText.decode(Refusal.self, from: json).message)
    case (UInt8(ascii: "5"), _), (UInt8(ascii: "6"), _): throw .binary
    default: throw .malformed(.message)
    }
  }

  /// A JSON value that nobody looks at.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) {}
  }
}
