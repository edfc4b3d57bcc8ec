import CBOR

/// The reference of a message, `arc0027:method:type`: ARC-27, Message Reference Naming.
///
/// A reference of another namespace is read too: its request is answered as one for an unknown method, and not with
/// silence, in which a dApp would wait until its own time limit.
struct ARC27Reference: Equatable, CustomStringConvertible {
  /// Whether a message is a request or a response.
  enum Kind: String, CaseIterable {
    case request
    case response
  }

  /// The namespace of ARC-27.
  private static let standard = "arc0027"
  /// The longest namespace or method name that is accepted; the longest of the standard has 26 bytes.
  private static let maximumNameSize = 64

  /// The method's name, which may be unknown; of another namespace, `namespace:name`.
  let method: String
  /// Whether the message is a request or a response.
  let kind: Kind

  init(_ method: String, _ kind: Kind) { (self.method, self.kind) = (method, kind) }

  /// Reads a reference; `nil` for anything else.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard
      parts.count == 3, parts[0...1].allSatisfy(Self.isName),
      let kind = Kind.allCases.first(where: { parts[2].elementsEqual($0.rawValue.utf8) })
    else { return nil }
    let isStandard = parts[0].elementsEqual(Self.standard.utf8)
    let names = isStandard ? parts[1...1] : parts[0...1]
    self.init(names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ":"), kind)
  }

  /// The text in a message.
  var description: String {
    let isStandard = !method.utf8.contains(UInt8(ascii: ":"))
    return "\(isStandard ? "\(Self.standard):" : "")\(method):\(kind.rawValue)"
  }

  /// Whether it is printable ASCII without spaces; the colon was taken as the separator.
  private static func isName(_ part: Substring.UTF8View) -> Bool {
    (1...maximumNameSize).contains(part.count) && part.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

/// The common members of every request: its id, and the method.
///
/// ARC-27, Request Message Schema. A response needs both: it names the request by its id, and repeats the method. If
/// one of them is unreadable, there is no response; any other fault is answered with 4200 or 4003.
struct ARC27Envelope {
  /// The id, returned unchanged: the standard requires a UUIDv4, Liquid Auth's dApps use UUIDv7.
  let id: String
  /// The method's name, which may be unknown; of another namespace, `namespace:name`.
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
      throw .noRequest("its reference is not namespace:method:request")
    }
    guard reference.kind == .request else { throw .response }
    (self.id, method, params) = (id, reference.method, message["params"] ?? .null)
  }
}
