import CBOR
import CTAP2
import CryptoPrimitives

/// A pinUvAuthToken of protocol one, as a platform holds it: CTAP §6.5.
struct Token {
  private let secret: SecretBytes

  /// The permission of a token: CTAP §6.5.5.7.
  enum Permission: UInt64 {
    case makeCredential = 0x01
    case getAssertion = 0x02
    case credentialManagement = 0x04
  }

  /// Requests a token by verification, which shows a dialog.
  init(for permission: Permission, rpID: String? = nil, of client: inout Client) throws {
    let key = try P256.PrivateKey.random()
    let answer = try client.ask(client.reports(ClientPIN.code, [1: 1, 2: 0x02])).parameters
    let peer = try answer.requiredMap(1)
    let agreed = try key.sharedSecret(
      with: P256.PublicKey(x: try peer.requiredBytes(-2), y: try peer.requiredBytes(-3)))
    let shared = SHA256.deriveSecret(agreed)
    var request: CBORMap = [
      1: 1, 2: 0x06,
      3: .map([1: 2, 3: -25, -1: 1, -2: .bytes(key.publicKey.x), -3: .bytes(key.publicKey.y)]),
      9: .unsigned(permission.rawValue),
    ]
    request[10] = rpID.map { .text($0) }
    let encrypted = try client.ask(client.reports(ClientPIN.code, request)).parameters.requiredBytes(2)
    secret = try AESCBC.decrypt(
      encrypted, key: shared, initializationVector: [UInt8](repeating: 0, count: AESCBC.blockSize))
  }

  /// pinUvAuthParam over a message.
  func param(_ message: [UInt8]) -> CBORValue {
    .bytes(Array(HMACSHA256.authenticate(message, key: secret).prefix(16)))
  }

  /// A request of credentialManagement.
  func manage(_ subcommand: UInt8, _ parameters: CBORMap? = nil) -> CBORMap {
    let encoded = parameters.map { CBOREncoder.encode(.map($0)) } ?? []
    var request: CBORMap = [1: .unsigned(UInt64(subcommand)), 3: 1, 4: param([subcommand] + encoded)]
    request[2] = parameters.map { .map($0) }
    return request
  }
}
