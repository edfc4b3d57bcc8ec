public import CryptoPrimitives
import LiquidAuth

/// Makes logins with the authenticator's key and the current time.
struct KeyriSigner: Sendable {
  let keys: any AssociationKeys
  let now: @Sendable () -> UInt64
  let randomness: KeyriRandomness

  /// The user's public key: SubjectPublicKeyInfo in base64, 124 characters.
  func publicKey(of email: KeyriEmail) async throws(LiquidAuthError) -> String {
    do throws(PortError) {
      return Base64.encode(SubjectPublicKeyInfo.encode(try await keys.publicKey(publicUserID: email.text)))
    } catch {
      throw .keyriAuthenticator(error)
    }
  }

  /// Makes a login that the user approved, and that is still fresh for a server.
  func login(of email: KeyriEmail, service: String) async throws(LiquidAuthError) -> KeyriLogin {
    let data = try KeyriTimestampNonce(at: now(), nonce: randomness.bytes(KeyriTimestampNonce.nonceSize))
    let signature: [UInt8]
    do throws(PortError) {
      signature = try await keys.sign(Array(data.text.utf8), publicUserID: email.text, service: service)
    } catch {
      throw .keyriAuthenticator(error)
    }
    guard data.isFresh(at: now()) else { throw .keyriTooLate }
    return KeyriLogin(email: email.text, data: data.text, signature: Base64.encode(signature))
  }
}

/// The body of `/api/keyrilogin`, also sent to a browser in a QR login.
struct KeyriLogin: Encodable {
  let email: String
  let data: String
  let signature: String
}

/// The data that a login signs: 13 digits of milliseconds since 1970, `_`, and a nonce.
///
/// A server accepts it for 60 seconds, and must accept it only once.
struct KeyriTimestampNonce: Equatable {
  /// Milliseconds for which a server accepts it.
  static let lifetime: UInt64 = 60_000
  /// Random bytes in the nonce; it is written in hexadecimal, so that `_` occurs once.
  static let nonceSize = 16

  /// When it was made, milliseconds since 1970.
  let milliseconds: UInt64
  /// The text, 46 characters.
  let text: String

  /// - Throws: `wrongClock` unless the milliseconds have exactly 13 digits: servers read that many, and would misread
  ///   other numbers.
  init(at milliseconds: UInt64, nonce: [UInt8]) throws(LiquidAuthError) {
    guard (1_000_000_000_000...9_999_999_999_999).contains(milliseconds) else { throw .wrongClock }
    self.milliseconds = milliseconds
    text = "\(milliseconds)_" + nonce.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Whether a server would still accept it; `false` if the clock was set back.
  func isFresh(at now: UInt64) -> Bool { now >= milliseconds && now - milliseconds < Self.lifetime }
}

/// The source of Keyri's random values.
public struct KeyriRandomness: Sendable {
  /// Random bytes for values that are not secret: nonces and salts.
  let bytes: @Sendable (Int) -> [UInt8]
  /// A fresh key.
  let key: @Sendable () throws(CryptoError) -> P256.PrivateKey

  public init(
    bytes: @escaping @Sendable (Int) -> [UInt8], key: @escaping @Sendable () throws(CryptoError) -> P256.PrivateKey
  ) {
    self.bytes = bytes
    self.key = key
  }

  /// The system's generator.
  public static let system = KeyriRandomness(bytes: randomBytes, key: P256.PrivateKey.random)
}

/// A P-256 key as Keyri's servers and most others read it: SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7, RFC 5480 §2).
enum SubjectPublicKeyInfo {
  /// SEQUENCE { SEQUENCE { id-ecPublicKey, secp256r1 }, BIT STRING } up to the point, uncompressed.
  private static let head: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// 91 bytes: the same 27 for each key, then X ‖ Y.
  static func encode(_ key: P256.PublicKey) -> [UInt8] { head + key.raw }
}
