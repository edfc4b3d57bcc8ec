import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// `pin-uv-auth-protocol.json`, for both protocols, byte for byte.
@Suite struct PINUVAuthProtocolTests {
  private static func cases() throws -> [Vector] {
    try Vector("pin-uv-auth-protocol").vectors.array
  }

  private static func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }

  private static func bytes(_ secret: SecretBytes?) -> [UInt8]? { secret.map { $0.withUnsafeBytes { Array($0) } } }

  private static func block(_ pin: String) -> [UInt8] {
    Array(pin.utf8) + [UInt8](repeating: 0, count: 64 - pin.utf8.count)
  }

  private static func hash(_ pin: String) -> [UInt8] { Array(SHA256.hash(Array(pin.utf8)).prefix(16)) }

  // Holds: PIN-3
  @Test func `both sides agree on Z`() throws {
    let vector = try #require(Self.cases().first)
    let platform = try P256.PrivateKey(scalar: Self.secret(vector.platformPrivateKey.bytes))
    let peer = try P256.PublicKey(
      keyAgreement: [
        1: 2, 3: -25, -1: 1, -2: .bytes(vector.authenticatorPublicX.bytes),
        -3: .bytes(vector.authenticatorPublicY.bytes),
      ])
    #expect(Self.bytes(try platform.sharedSecret(with: peer)) == vector.ecdhZ.bytes)
    #expect(platform.publicKey.keyAgreement[-2] == .bytes(vector.platformPublicX.bytes))
    #expect(platform.publicKey.keyAgreement[-3] == .bytes(vector.platformPublicY.bytes))
    #expect(platform.publicKey.keyAgreement.count == 5)
  }

  // Holds: PIN-3
  @Test func `messages of platforms decrypt and are authentic`() throws {
    #expect(try Self.cases().map { $0.pinUvAuthProtocol.integer() } == [1, 2])
    for vector in try Self.cases() {
      let version = try PINUVAuthProtocol(number: vector.pinUvAuthProtocol.integer())
      let secret = version.sharedSecret(Self.secret(vector.ecdhZ.bytes))
      #expect(Self.bytes(secret.decrypt(vector.setPin.newPinEnc.bytes)) == Self.block(vector.setPin.newPin.text))
      #expect(secret.isAuthentic(vector.setPin.pinUvAuthParam.bytes, over: vector.setPin.newPinEnc.bytes))
      let change = vector.changePin
      #expect(Self.bytes(secret.decrypt(change.newPinEnc.bytes)) == Self.block(change.newPin.text))
      #expect(Self.bytes(secret.decrypt(change.pinHashEnc.bytes)) == Self.hash(change.currentPin.text))
      #expect(
        secret.isAuthentic(change.pinUvAuthParam.bytes, over: change.newPinEnc.bytes + change.pinHashEnc.bytes))
      #expect(Self.bytes(secret.decrypt(vector.getPinToken.tokenEnc.bytes)) == vector.getPinToken.token.bytes)
      if let proof = vector.authenticate.optional {
        #expect(
          version.authenticate(proof.clientDataHash.bytes, key: Self.secret(proof.token.bytes))
            == proof.pinUvAuthParam.bytes)
      }
    }
  }

  // Holds: PIN-3
  @Test func `protocol one encrypts to the published bytes, and two with a fresh IV each time`() throws {
    let one = try #require(Self.cases().first), two = try #require(Self.cases().last)
    let first = PINUVAuthProtocol.one.sharedSecret(Self.secret(one.ecdhZ.bytes))
    #expect(try first.encrypt(Self.secret(Self.block("1234"))) == one.setPin.newPinEnc.bytes)
    #expect(try first.encrypt(Self.secret(one.getPinToken.token.bytes)) == one.getPinToken.tokenEnc.bytes)

    let second = PINUVAuthProtocol.two.sharedSecret(Self.secret(two.ecdhZ.bytes))
    let ciphertexts = try (0..<2).map { _ in try second.encrypt(Self.secret(Self.block("1234"))) }
    #expect(ciphertexts[0] != ciphertexts[1])
    for ciphertext in ciphertexts {
      #expect(ciphertext.count == 80)
      #expect(Self.bytes(second.decrypt(ciphertext)) == Self.block("1234"))
    }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 33]) func `a ciphertext of partial blocks does not decrypt`(count: Int) {
    let bytes = [UInt8](repeating: 1, count: count)
    for version in PINUVAuthProtocol.allCases {
      let secret = version.sharedSecret(Self.secret([UInt8](repeating: 9, count: 32)))
      let isWhole = count.isMultiple(of: 16) && count >= (version == .two ? 16 : 0)
      #expect((secret.decrypt(bytes) != nil) == isWhole)
    }
  }

  // Holds: PIN-3
  @Test func `a MAC of another length, or with any bit changed, is not authentic`() {
    for version in PINUVAuthProtocol.allCases {
      let key = Self.secret([UInt8](repeating: 5, count: 32))
      let mac = version.authenticate([1, 2, 3], key: key)
      #expect(mac.count == (version == .one ? 16 : 32))
      #expect(version.isAuthentic(mac, over: [1, 2, 3], key: key))
      #expect(!version.isAuthentic(mac + [0], over: [1, 2, 3], key: key))
      #expect(!version.isAuthentic(Array(mac.dropLast()), over: [1, 2, 3], key: key))
      for bit in 0..<(8 * mac.count) {
        var changed = mac
        changed[bit / 8] ^= 1 << (bit % 8)
        #expect(!version.isAuthentic(changed, over: [1, 2, 3], key: key))
      }
    }
  }

  static let badKeys: [(CBORMap, CTAPStatus)] = {
    let x = CBORValue.bytes([UInt8](repeating: 1, count: 32))
    return [
      ([:], .missingParameter), ([1: 2, 3: -25, -1: 1, -2: x], .missingParameter),
      ([1: "2", 3: -25, -1: 1, -2: x, -3: x], .cborUnexpectedType),
      ([1: 1, 3: -25, -1: 1, -2: x, -3: x], .invalidParameter),
      ([1: 2, 3: -7, -1: 1, -2: x, -3: x], .invalidParameter),
      ([1: 2, 3: -25, -1: 2, -2: x, -3: x], .invalidParameter),
      ([1: 2, 3: -25, -1: 1, -2: x, -3: x], .invalidParameter),
      ([1: 2, 3: -25, -1: 1, -2: .bytes([]), -3: x], .invalidParameter),
    ]
  }()

  // Holds: PIN-5
  @Test(arguments: badKeys) func `an invalid key agreement key is refused`(map: CBORMap, status: CTAPStatus) {
    let error = #expect(throws: CTAPError.self) { try P256.PublicKey(keyAgreement: map) }
    #expect(error?.status == status)
  }

  @Test(arguments: [(1, 1), (3, -7), (-1, 2)] as [(CBORValue, CBORValue)])
  func `a point of P-256 in another kind of key is refused`(member: CBORValue, value: CBORValue) throws {
    var map = try P256.PrivateKey.random().publicKey.keyAgreement
    #expect(throws: Never.self) { try P256.PublicKey(keyAgreement: map) }
    map[member] = value
    let error = #expect(throws: CTAPError.self) { try P256.PublicKey(keyAgreement: map) }
    #expect(error?.status == .invalidParameter)
  }
}
