import CBOR

/// What a message says of itself, `arc0027:method:type`: ARC-27, Message Reference Naming.
struct ARC27Reference: Equatable, CustomStringConvertible {
  /// Whether a message asks or answers.
  enum Kind: String {
    case request
    case response
  }

  private static let namespace = "arc0027"
  /// The longest name of a method that is read; the longest of the standard has 26 bytes.
  private static let maximumNameSize = 64

  /// The method's name in snake case, known to us or not.
  let method: String
  /// Whether it asks or answers.
  let kind: Kind

  init(_ method: String, _ kind: Kind) { (self.method, self.kind) = (method, kind) }

  /// Reads a reference; `nil` for anything else, also for another namespace.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard
      parts.count == 3, parts[0].elementsEqual(Self.namespace.utf8),
      let kind = Kind(rawValue: String(decoding: parts[2], as: UTF8.self)),
      (1...Self.maximumNameSize).contains(parts[1].count), parts[1].allSatisfy(Self.isOfName)
    else { return nil }
    self.init(String(decoding: parts[1], as: UTF8.self), kind)
  }

  /// The text of a message.
  var description: String { "\(Self.namespace):\(method):\(kind.rawValue)" }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }
}

/// What stands around every request: who it is, and what is asked.
///
/// ARC-27, Request Message Schema. An answer needs both: it names the request by its id, and repeats the method. Where one of them cannot be read there is
/// no answer; whatever is wrong beyond them is answered with 4200 or 4003.
struct ARC27Envelope {
  /// The id, to be given back as it came: the standard wants a UUIDv4, Liquid Auth's dApps draw UUIDv7.
  let id: String
  /// The method's name, known to us or not.
  let method: String
  /// The member `params`, of whatever kind.
  let params: LooseCBORValue

  /// The longest id that is given back; a UUID has 36 bytes.
  private static let maximumIDSize = 128

  init(_ message: [String: LooseCBORValue]) throws(UnansweredFrame) {
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
