import CBOR

/// The reference of a message, `arc0027:method:type`: ARC-27, Message Reference Naming.
struct ARC27Reference: Equatable, CustomStringConvertible {
  /// Whether a message is a request or a response.
  enum Kind: String, CaseIterable {
    case request
    case response
  }

  private static let namespace = "arc0027"
  /// The longest method name that is accepted; the longest of the standard has 26 bytes.
  private static let maximumNameSize = 64

  /// The method's name in snake case; it may be unknown.
  let method: String
  /// Whether the message is a request or a response.
  let kind: Kind

  init(_ method: String, _ kind: Kind) { (self.method, self.kind) = (method, kind) }

  /// Reads a reference; `nil` for anything else, including another namespace.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard
      parts.count == 3, parts[0].elementsEqual(Self.namespace.utf8),
      let kind = Kind.allCases.first(where: { parts[2].elementsEqual($0.rawValue.utf8) }),
      (1...Self.maximumNameSize).contains(parts[1].count), parts[1].allSatisfy(Self.isOfName)
    else { return nil }
    self.init(String(decoding: parts[1], as: UTF8.self), kind)
  }

  /// The text in a message.
  var description: String { "\(Self.namespace):\(method):\(kind.rawValue)" }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }
}

/// The common members of every request: its id, and the method.
///
/// ARC-27, Request Message Schema. A response needs both: it names the request by its id, and repeats the method. If
/// one of them is unreadable, there is no response; any other fault is answered with 4200 or 4003.
struct ARC27Envelope {
  /// The id, returned unchanged: the standard requires a UUIDv4, Liquid Auth's dApps use UUIDv7.
  let id: String
  /// The method's name; it may be unknown.
  let method: String
  /// The member `params`, of any type.
  let params: LooseCBORValue

  /// The longest id that is returned; a UUID has 36 bytes.
  private static let maximumIDSize = 128

  init(_ message: [LooseCBORName: LooseCBORValue]) throws(UnansweredFrame) {
    guard let id = message["id"]?.text, (1...Self.maximumIDSize).contains(id.utf8.count) else {
      throw .noRequest("it has no id of 1 to \(Self.maximumIDSize) bytes")
    }
    guard let text = message["reference"]?.text, let reference = ARC27Reference(text) else {
      throw .noRequest("its reference is not an ARC-27 method")
    }
    guard reference.kind == .request else { throw .response }
    (self.id, method, params) = (id, reference.method, message["params"] ?? .null)
  }
}
