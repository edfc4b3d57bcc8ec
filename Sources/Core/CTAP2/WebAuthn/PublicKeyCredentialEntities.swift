public import CBOR
public import Recovery

/// The one type of credential: WebAuthn §5.8.2.
enum PublicKeyCredentialType {
  static let publicKey = "public-key"

  /// Compares the UTF-8 bytes.
  static func isPublicKey(_ type: String) -> Bool { type.utf8.elementsEqual(publicKey.utf8) }
}

/// The relying party of a registration: WebAuthn §5.4.2.
public struct PublicKeyCredentialRPEntity: Sendable {
  /// rp.id as received.
  public let id: String

  /// Reads `id`; `name` is checked and not stored; `icon` and unknown members are ignored.
  public init(_ map: CBORMap) throws(CBORError) {
    id = try map.requiredText("id")
    _ = try map.optionalText("name")
  }
}

extension PublicKeyCredentialUserEntity {
  /// The most bytes of a name that are kept: WebAuthn §6.4.1.
  static let maximumNameLength = 64

  /// Reads `id`, and `name` and `displayName`, cut to 64 bytes; `icon` and unknown members are ignored.
  public init(_ map: CBORMap) throws(CBORError) {
    self.init(
      id: try map.requiredBytes("id"),
      name: try map.optionalText("name")?.truncated(toUTF8Count: Self.maximumNameLength),
      displayName: try map.optionalText("displayName")?.truncated(toUTF8Count: Self.maximumNameLength))
  }

  /// The user entity of an answer: `id`, and the names if present.
  var cbor: CBORMap {
    var map: CBORMap = ["id": .bytes(id)]
    map["name"] = name.map { .text($0) }
    map["displayName"] = displayName.map { .text($0) }
    return map
  }
}

/// One acceptable kind of key: WebAuthn §5.3.
public struct PublicKeyCredentialParameters: Sendable {
  /// `public-key`, or something that is ignored.
  public let type: String
  /// A COSE algorithm identifier.
  public let alg: Int64

  /// Reads `type` and `alg`; both must be there.
  public init(_ map: CBORMap) throws(CBORError) {
    type = try map.requiredText("type")
    alg = try map.requiredInt("alg")
  }

  /// The algorithm, if it is supported.
  var algorithm: COSEAlgorithm? {
    PublicKeyCredentialType.isPublicKey(type) ? COSEAlgorithm(rawValue: alg) : nil
  }
}

/// One credential of an allowList or excludeList: WebAuthn §5.8.3.
public struct PublicKeyCredentialDescriptor: Sendable {
  /// `public-key`, or something that is ignored.
  public let type: String
  /// The credential id as received.
  public let id: [UInt8]

  /// Reads `type` and `id`; `transports` is checked and not kept.
  public init(_ map: CBORMap) throws(CBORError) {
    type = try map.requiredText("type")
    id = try map.requiredBytes("id")
    for transport in try map.optionalArray("transports") ?? [] where transport.text == nil {
      throw .unexpectedType("a transport is not a text")
    }
  }

  /// Makes the descriptor of a credential of this authenticator.
  init(id: [UInt8]) {
    type = PublicKeyCredentialType.publicKey
    self.id = id
  }

  /// The descriptor in an answer.
  var cbor: CBORMap { ["id": .bytes(id), "type": .text(type)] }
}

extension [CBORValue] {
  /// Reads a whole list of maps; any invalid entry fails.
  func entries<Entry>(_ read: (CBORMap) throws(CBORError) -> Entry) throws(CBORError) -> [Entry] {
    var entries: [Entry] = []
    for element in self {
      guard let map = element.map else { throw .unexpectedType("a list entry is not a map") }
      entries.append(try read(map))
    }
    return entries
  }
}

extension [PublicKeyCredentialDescriptor] {
  /// The ids of the entries of a known type.
  var credentialIDs: [[UInt8]] { filter { PublicKeyCredentialType.isPublicKey($0.type) }.map(\.id) }
}
