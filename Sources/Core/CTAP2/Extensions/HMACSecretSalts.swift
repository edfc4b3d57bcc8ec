import CBOR
import CryptoPrimitives
import Recovery

/// The one or two salts of hmac-secret and hmac-secret-mc, and the shared secret that encrypts their outputs: CTAP
/// §12.7.
struct HMACSecretSalts: ExtensionProcessing {
  /// Bytes in a salt, and in its output.
  private static let size = HMACSHA256.size

  private let sharedSecret: PINUVAuthSecret
  /// 32 or 64 bytes.
  private let salts: SecretBytes

  /// Reads `{1: keyAgreement, 2: saltEnc, 3: saltAuth, 4: pinUvAuthProtocol?}`; the protocol defaults to one.
  ///
  /// - Throws: `cborUnexpectedType` and `missingParameter` for members, `invalidParameter` for an unsupported protocol
  ///   or key, `pinAuthInvalid` if saltAuth does not match, `invalidLength` unless there are one or two salts.
  init(_ input: CBORValue, with pinUVAuth: inout PINUVAuthState) throws(CTAPError) {
    guard let map = input.map else { throw CTAPError(.cborUnexpectedType, "the salts are not in a map") }
    let (keyAgreement, saltEnc, saltAuth, number): (CBORMap, [UInt8], [UInt8], UInt64)
    do throws(CBORError) {
      keyAgreement = try map.requiredMap(1)
      saltEnc = try map.requiredBytes(2)
      saltAuth = try map.requiredBytes(3)
      number = try map.optionalUnsigned(4) ?? PINUVAuthProtocol.one.rawValue
    } catch {
      throw CTAPError(error)
    }
    try self.init(
      saltEnc: saltEnc, saltAuth: saltAuth,
      under: pinUVAuth.sharedSecret(
        with: P256.PublicKey(keyAgreement: keyAgreement), PINUVAuthProtocol(number: number)))
  }

  /// Decrypts the salts with the shared secret.
  init(saltEnc: [UInt8], saltAuth: [UInt8], under sharedSecret: PINUVAuthSecret) throws(CTAPError) {
    guard sharedSecret.isAuthentic(saltAuth, over: saltEnc) else {
      throw CTAPError(.pinAuthInvalid, "saltAuth does not match saltEnc")
    }
    guard let salts = sharedSecret.decrypt(saltEnc), [Self.size, 2 * Self.size].contains(salts.count) else {
      throw CTAPError(.invalidLength, "saltEnc does not have one or two salts")
    }
    self.sharedSecret = sharedSecret
    self.salts = salts
  }

  func describe(in prompt: inout UserPrompt, vault: OpenVault) { prompt.extras.insert(.secret) }

  /// HMAC-SHA-256(CredRandom, salt) of each salt, in order, encrypted for the platform.
  ///
  /// Which CredRandom is used depends on whether the user was verified in this ceremony.
  func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
    let credRandom = ceremony.vault.keys.credRandom(of: ceremony.credential, userVerified: consent.userVerified)
    return .bytes(try sharedSecret.encrypt(outputs(credRandom)))
  }

  /// The outputs of all salts, concatenated.
  func outputs(_ credRandom: SecretBytes) -> SecretBytes {
    SecretBytes(count: salts.count) { outputs in
      salts.withUnsafeBytes { salts in
        credRandom.withUnsafeBytes { key in
          for start in stride(from: 0, to: salts.count, by: Self.size) {
            let place = start..<start + Self.size
            HMACSHA256.authenticate(
              UnsafeRawBufferPointer(rebasing: salts[place]), key: key,
              into: UnsafeMutableRawBufferPointer(rebasing: outputs[place]))
          }
        }
      }
    }
  }
}
