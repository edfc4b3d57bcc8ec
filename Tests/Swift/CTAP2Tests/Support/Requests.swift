import CBOR
import CTAP2
import CryptoPrimitives
import Recovery

/// Parameter maps as a client sends them.
enum Requests {
  static let clientDataHash = [UInt8](0..<32)
  static let rpID = "example.com"
  static let userID = Array("alice".utf8)

  /// A registration of alice at example.com with ES256; `changes` replace or, with `nil`, remove members.
  static func makeCredential(
    rk: Bool? = nil, uv: Bool? = nil, up: Bool? = nil, rpID: String = rpID, userID: [UInt8] = userID,
    name: String = "alice", algorithms: [Int] = [-7], changes: [(CBORValue, CBORValue?)] = []
  ) -> CBORMap {
    var parameters: CBORMap = [
      1: .bytes(clientDataHash), 2: ["id": .text(rpID), "name": "Example"],
      3: ["id": .bytes(userID), "name": .text(name), "displayName": "Alice"],
      4: .array(algorithms.map { .map(["alg": CBORValue($0), "type": "public-key"]) }),
    ]
    parameters[7] = options(rk: rk, uv: uv, up: up)
    for (key, value) in changes { parameters[key] = value }
    return parameters
  }

  /// A sign-in at example.com; without ids there is no allowList.
  static func getAssertion(
    allowing ids: [[UInt8]] = [], up: Bool? = nil, uv: Bool? = nil, rpID: String = rpID,
    changes: [(CBORValue, CBORValue?)] = []
  ) -> CBORMap {
    var parameters: CBORMap = [1: .text(rpID), 2: .bytes(clientDataHash)]
    if !ids.isEmpty { parameters[3] = list(ids) }
    parameters[5] = options(uv: uv, up: up)
    for (key, value) in changes { parameters[key] = value }
    return parameters
  }

  /// The changes that give a registration extensions.
  static func registering(_ extensions: CBORMap) -> [(CBORValue, CBORValue?)] { [(6, .map(extensions))] }

  /// The changes that give a sign-in extensions.
  static func signingIn(_ extensions: CBORMap) -> [(CBORValue, CBORValue?)] { [(4, .map(extensions))] }

  /// An allowList or excludeList.
  static func list(_ ids: [[UInt8]]) -> CBORValue {
    .array(ids.map { .map(["id": .bytes($0), "type": "public-key"]) })
  }

  private static func options(rk: Bool? = nil, uv: Bool? = nil, up: Bool? = nil) -> CBORValue? {
    var options = CBORMap()
    options["rk"] = rk.map { .bool($0) }
    options["uv"] = uv.map { .bool($0) }
    options["up"] = up.map { .bool($0) }
    return options.isEmpty ? nil : .map(options)
  }
}

/// Authenticator data as a relying party parses them: WebAuthn §6.1, byte by byte.
struct ParsedAuthenticatorData {
  let rpIDHash: [UInt8]
  let flags: UInt8
  let signCount: [UInt8]
  private(set) var aaguid: [UInt8] = []
  private(set) var credentialID: [UInt8] = []
  private(set) var coseKey: CBORMap = CBORMap()
  private(set) var extensions: CBORMap?

  /// `nil` when a byte is missing or left over.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 37 else { return nil }
    rpIDHash = Array(bytes[..<32])
    flags = bytes[32]
    signCount = Array(bytes[33..<37])
    var rest = Array(bytes[37...])
    if flags & 0x40 != 0 {
      guard rest.count >= 18 else { return nil }
      aaguid = Array(rest[..<16])
      let length = Int(rest[16]) << 8 | Int(rest[17])
      guard rest.count >= 18 + length else { return nil }
      credentialID = Array(rest[18..<18 + length])
      rest = Array(rest[(18 + length)...])
      // The extensions follow the key, so its length is found from its algorithm, which has one form only.
      let keyLength = rest.starts(with: [0xA5, 0x01, 0x02, 0x03, 0x26]) ? 77 : 42
      guard rest.count >= keyLength, let key = try? CBORDecoder.decode(Array(rest[..<keyLength])).map else {
        return nil
      }
      coseKey = key
      rest = Array(rest[keyLength...])
    }
    if flags & 0x80 != 0 {
      guard let map = try? CBORDecoder.decode(rest).map else { return nil }
      extensions = map
      rest = []
    }
    guard rest.isEmpty else { return nil }
  }

  /// Whether the signature over the message is by the attested key.
  func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
    guard let x = coseKey[-2]?.bytes else { return false }
    if coseKey[3] == -8 {
      return coseKey[1] == 1 && coseKey[-1] == 6 && Ed25519.isValidSignature(signature, for: message, publicKey: x)
    }
    guard coseKey[1] == 2, coseKey[3] == -7, coseKey[-1] == 1, let y = coseKey[-3]?.bytes,
      let key = try? P256.PublicKey(x: x, y: y)
    else { return false }
    return key.isValidSignature(signature, for: message)
  }
}
