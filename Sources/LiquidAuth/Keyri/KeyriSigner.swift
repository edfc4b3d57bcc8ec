/// Makes signed logins: by the authenticator's key, at the clock's time.
struct KeyriSigner: Sendable {
  let keys: any AssociationKeys
  let now: @Sendable () -> UInt64
  let chance: KeyriChance

  /// The user's public key: SubjectPublicKeyInfo in base64, 124 characters.
  func publicKey(of email: KeyriEmail) async throws(KeyriError) -> String {
    do throws(AuthenticatorFailure) {
      return Base64.encode(SubjectPublicKeyInfo.encode(try await keys.publicKey(publicUserID: email.text)))
    } catch {
      throw .authenticator(error)
    }
  }

  /// A login that the person approved, and that a server would still take.
  ///
  /// - Throws: ``KeyriError/tooLate`` when the prompt took longer than that.
  func login(of email: KeyriEmail, service: String) async throws(KeyriError) -> KeyriLogin {
    let data = try KeyriTimestampNonce(at: now(), nonce: chance.bytes(KeyriTimestampNonce.nonceSize))
    let signature: [UInt8]
    do throws(AuthenticatorFailure) {
      signature = try await keys.sign(Array(data.text.utf8), publicUserID: email.text, service: service)
    } catch {
      throw .authenticator(error)
    }
    guard data.isFresh(at: now()) else { throw .tooLate }
    return KeyriLogin(email: email.text, data: data.text, signature: Base64.encode(signature))
  }
}

/// The body of `/api/keyrilogin`, and what a browser gets in a QR login to send there.
struct KeyriLogin: Encodable {
  let email: String
  let data: String
  let signature: String
}
