import CBOR
import CryptoPrimitives

/// A PIN/UV auth protocol: how platform and authenticator share a secret, encrypt and authenticate with it, CTAP
/// §6.5.4.
enum PINUVAuthProtocol: UInt64, CaseIterable, Sendable {
  /// CTAP §6.5.6.
  case one = 1
  /// CTAP §6.5.7.
  case two = 2

  /// In the order of preference, as getInfo lists them.
  static let byPreference: [Self] = [.two, .one]

  /// Reads a `pinUvAuthProtocol` member.
  ///
  /// - Throws: `invalidParameter` for an unsupported protocol.
  init(number: UInt64) throws(CTAPError) {
    guard let version = Self(rawValue: number) else {
      throw CTAPError(.invalidParameter, "pinUvAuthProtocol \(number) is not supported")
    }
    self = version
  }

  /// Bytes of the initialization vector before a ciphertext.
  fileprivate var vectorSize: Int { self == .one ? 0 : AESCBC.blockSize }

  /// kdf(Z): the secret that both sides have after the key agreement.
  func sharedSecret(_ z: SecretBytes) -> PINUVAuthSecret {
    switch self {
    case .one:
      let key = SHA256.deriveSecret(z)
      return PINUVAuthSecret(version: self, authenticationKey: key, encryptionKey: key)
    case .two:
      func derive(_ info: String) -> SecretBytes {
        HKDFSHA256.derive(key: z, salt: [UInt8](repeating: 0, count: 32), info: Array(info.utf8), count: 32)
      }
      return PINUVAuthSecret(
        version: self, authenticationKey: derive("CTAP2 HMAC key"), encryptionKey: derive("CTAP2 AES key"))
    }
  }

  /// authenticate(key, message), 16 bytes in protocol one and 32 in two.
  func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
    let code = HMACSHA256.authenticate(message, key: key)
    return self == .one ? Array(code.prefix(16)) : code
  }

  /// verify(key, message, signature), in constant time.
  func isAuthentic(_ signature: [UInt8], over message: [UInt8], key: SecretBytes) -> Bool {
    constantTimeEqual(signature, authenticate(message, key: key))
  }
}

/// The shared secret of one key agreement.
struct PINUVAuthSecret: Sendable {
  let version: PINUVAuthProtocol
  let authenticationKey: SecretBytes
  fileprivate let encryptionKey: SecretBytes

  /// encrypt(key, demPlaintext): whole blocks, after a new vector in protocol two.
  func encrypt(_ plaintext: SecretBytes) throws(CTAPError) -> [UInt8] {
    let vector = version.vectorSize == 0 ? Self.zeroVector : randomBytes(version.vectorSize)
    do throws(CryptoError) {
      return vector.prefix(version.vectorSize)
        + (try AESCBC.encrypt(plaintext, key: encryptionKey, initializationVector: vector))
    } catch {
      throw CTAPError(.other, "cannot encrypt for the platform: \(error)")
    }
  }

  /// decrypt(key, demCiphertext); `nil` unless it has a vector and whole blocks.
  func decrypt(_ ciphertext: [UInt8]) -> SecretBytes? {
    let vector = version.vectorSize == 0 ? Self.zeroVector : Array(ciphertext.prefix(version.vectorSize))
    return try? AESCBC.decrypt(
      Array(ciphertext.dropFirst(version.vectorSize)), key: encryptionKey, initializationVector: vector)
  }

  /// verify(key, message, signature) with the shared secret.
  func isAuthentic(_ signature: [UInt8], over message: [UInt8]) -> Bool {
    version.isAuthentic(signature, over: message, key: authenticationKey)
  }

  private static let zeroVector = [UInt8](repeating: 0, count: AESCBC.blockSize)
}

// MARK: - Key agreement keys in COSE form

extension P256.PublicKey {
  /// Reads a platform's key agreement key: CTAP §6.5.6, getPublicKey.
  ///
  /// - Throws: `missingParameter` and `cborUnexpectedType` for members; `invalidParameter` for another kind of key, or
  ///   a point that is not on the curve.
  init(keyAgreement map: CBORMap) throws(CTAPError) {
    let (x, y): ([UInt8], [UInt8])
    do throws(CBORError) {
      guard try map.requiredInt(1) == 2, try map.requiredInt(3) == -25, try map.requiredInt(-1) == 1 else {
        throw .invalid("")
      }
      (x, y) = (try map.requiredBytes(-2), try map.requiredBytes(-3))
    } catch .invalid {
      throw CTAPError(.invalidParameter, "keyAgreement is not an ECDH key of P-256")
    } catch {
      throw CTAPError(error)
    }
    do throws(CryptoError) { try self.init(x: x, y: y) } catch {
      throw CTAPError(.invalidParameter, "keyAgreement is not a point of P-256")
    }
  }

  /// `{1: 2, 3: -25, -1: 1, -2: x, -3: y}`, 32 bytes each.
  var keyAgreement: CBORMap { [1: 2, 3: -25, -1: 1, -2: .bytes(x), -3: .bytes(y)] }
}
