import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import CTAP2

/// The platform's side of clientPIN.
final class TestPlatform {
  let version: PINUVAuthProtocol
  private let key: P256.PrivateKey
  /// The secret after the last key agreement.
  private(set) var secret: PINUVAuthSecret?

  init(_ version: PINUVAuthProtocol) throws {
    self.version = version
    key = try P256.PrivateKey.random()
  }

  var number: CBORValue { .unsigned(version.rawValue) }
  var keyAgreement: CBORValue { .map(key.publicKey.keyAgreement) }

  /// Agrees on a secret with the authenticator's current key.
  func agree(with world: inout TestWorld) async throws {
    try agree(by: await world.send(0x06, [1: number, 2: 0x02]))
  }

  /// Agrees on a secret by the answer to getKeyAgreement.
  func agree(by answer: Answer) throws {
    let map = try #require(answer.map?[1]?.map)
    secret = version.sharedSecret(try key.sharedSecret(with: P256.PublicKey(keyAgreement: map)))
  }

  /// A MAC with the shared secret.
  func mac(_ message: [UInt8]) throws -> [UInt8] {
    version.authenticate(message, key: try #require(secret).authenticationKey)
  }

  /// newPinEnc for any bytes, padded to 64.
  func padded(_ pin: [UInt8]) throws -> [UInt8] {
    try encrypt(pin + [UInt8](repeating: 0, count: max(0, 64 - pin.count)))
  }

  /// pinHashEnc.
  func hash(_ pin: String) throws -> [UInt8] { try encrypt(Array(SHA256.hash(Array(pin.utf8)).prefix(16))) }

  func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
    try #require(secret).encrypt(bytes.withUnsafeBytes(SecretBytes.init(copying:)))
  }

  func decrypt(_ bytes: [UInt8]) throws -> [UInt8] {
    let plaintext = try #require(secret?.decrypt(bytes))
    return plaintext.withUnsafeBytes { Array($0) }
  }

  /// The input of hmac-secret and hmac-secret-mc for salts of any length, after a new key agreement.
  func saltInput(_ salts: [UInt8], in world: inout TestWorld) async throws -> CBORMap {
    try await agree(with: &world)
    return try saltInput(salts)
  }

  /// The same, after the last key agreement.
  func saltInput(_ salts: [UInt8]) throws -> CBORMap {
    let saltEnc = try encrypt(salts)
    return [1: keyAgreement, 2: .bytes(saltEnc), 3: .bytes(try mac(saltEnc)), 4: number]
  }

  // MARK: Complete exchanges, each after a new key agreement

  func setPIN(_ pin: String, in world: inout TestWorld) async throws -> Answer {
    try await setPIN(Array(pin.utf8), in: &world)
  }

  func setPIN(_ pin: [UInt8], in world: inout TestWorld) async throws -> Answer {
    try await agree(with: &world)
    let encrypted = try padded(pin)
    return await world.send(
      0x06, [1: number, 2: 0x03, 3: keyAgreement, 4: .bytes(try mac(encrypted)), 5: .bytes(encrypted)])
  }

  func changePIN(_ old: String, to new: String, in world: inout TestWorld) async throws -> Answer {
    try await agree(with: &world)
    let (encrypted, hash) = (try padded(Array(new.utf8)), try hash(old))
    return await world.send(
      0x06,
      [
        1: number, 2: 0x04, 3: keyAgreement, 4: .bytes(try mac(encrypted + hash)), 5: .bytes(encrypted),
        6: .bytes(hash),
      ])
  }

  /// getPinToken without permissions, else getPinUvAuthTokenUsingPinWithPermissions.
  func askToken(
    pin: String, _ permissions: TokenPermissions? = nil, rpID: String? = nil, in world: inout TestWorld
  ) async throws -> Answer {
    try await agree(with: &world)
    var members: CBORMap = [
      1: number, 2: permissions == nil ? 0x05 : 0x09, 3: keyAgreement, 6: .bytes(try hash(pin)),
    ]
    members[9] = permissions.map { .unsigned($0.rawValue) }
    members[10] = rpID.map { .text($0) }
    return await world.send(0x06, members)
  }

  /// getPinUvAuthTokenUsingUvWithPermissions.
  func askTokenByVerification(
    _ permissions: TokenPermissions, rpID: String? = nil, in world: inout TestWorld
  ) async throws -> Answer {
    try await agree(with: &world)
    var members: CBORMap = [1: number, 2: 0x06, 3: keyAgreement, 9: .unsigned(permissions.rawValue)]
    members[10] = rpID.map { .text($0) }
    return await world.send(0x06, members)
  }

  /// The token of an answer.
  func token(_ answer: Answer) throws -> TestToken {
    let encrypted = try #require(answer.map?[2]?.bytes)
    return TestToken(version: version, secret: try #require(secret?.decrypt(encrypted)))
  }
}

/// A pinUvAuthToken as a platform holds it.
struct TestToken {
  let version: PINUVAuthProtocol
  let secret: SecretBytes

  /// pinUvAuthParam over a message.
  func param(_ message: [UInt8]) -> [UInt8] { version.authenticate(message, key: secret) }

  /// The members of a registration or sign-in that this token authorizes.
  func makeCredential(_ hash: [UInt8] = Requests.clientDataHash) -> [(CBORValue, CBORValue?)] {
    [(8, .bytes(param(hash))), (9, .unsigned(version.rawValue))]
  }
  func getAssertion(_ hash: [UInt8] = Requests.clientDataHash) -> [(CBORValue, CBORValue?)] {
    [(6, .bytes(param(hash))), (7, .unsigned(version.rawValue))]
  }

  /// A request of credentialManagement; the MAC also covers the encoded `params`.
  func manage(_ subcommand: UInt8, _ params: CBORMap? = nil) -> CBORMap {
    authorized([subcommand], subcommand, params)
  }

  /// A request of authenticatorConfig.
  func configure(_ subcommand: UInt8, _ params: CBORMap? = nil) -> CBORMap {
    authorized([UInt8](repeating: 0xFF, count: 32) + [0x0D, subcommand], subcommand, params)
  }

  private func authorized(_ message: [UInt8], _ subcommand: UInt8, _ params: CBORMap?) -> CBORMap {
    let encoded = params.map { CBOREncoder.encode(.map($0)) } ?? []
    var request: CBORMap = [
      1: .unsigned(UInt64(subcommand)), 3: .unsigned(version.rawValue), 4: .bytes(param(message + encoded)),
    ]
    request[2] = params.map { .map($0) }
    return request
  }
}
