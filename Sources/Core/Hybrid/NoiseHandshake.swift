package import CryptoPrimitives

/// The handshake of browser and authenticator: Noise_KNpsk0_P256_AESGCM_SHA256 (CTAP §11.5.1.3, Noise revision 34).
///
/// The browser's static key is in the code, and the pre-shared key comes from code and advert. So each side knows that
/// the other one has the code, and the browser knows that the advert was received nearby.
package enum NoiseHandshake {
  /// Bytes in each of the two messages: a point, 04 ‖ X ‖ Y, and a tag.
  package static let messageSize = 65 + AESGCM.tagSize

  /// The keys of the exchange.
  package struct Keys: Equatable, Sendable {
    /// The key of messages to the authenticator, 32 bytes.
    package let toAuthenticator: SecretBytes
    /// The key of messages to the browser, 32 bytes.
    package let toClient: SecretBytes
  }

  /// Answers the browser's message: the authenticator's side.
  ///
  /// - Parameter ephemeral: a fresh key, for this message only.
  /// - Throws: ``HybridError/handshake`` for a message that is not from a browser with these two keys.
  package static func respond(
    to message: [UInt8], clientKey: P256.PublicKey, preSharedKey: SecretBytes, ephemeral: P256.PrivateKey
  ) throws(HybridError) -> (message: [UInt8], keys: Keys) {
    try refusing { () throws(CryptoError) -> (message: [UInt8], keys: Keys) in
      var state = NoiseState(clientKey: clientKey, preSharedKey: preSharedKey)
      let client = try state.readEphemeral(message)
      try state.checkTag(message)
      let point = state.addEphemeral(ephemeral)
      state.mixKey(try ephemeral.sharedSecret(with: client))
      state.mixKey(try ephemeral.sharedSecret(with: clientKey))
      let tag = try state.tag()
      return (point + tag, state.keys)
    }
  }

  /// The browser's side, which waits for the answer.
  package struct Initiator: Sendable {
    /// The first message.
    package let message: [UInt8]
    private let key: P256.PrivateKey
    private let ephemeral: P256.PrivateKey
    private let state: NoiseState

    /// Makes the first message.
    ///
    /// - Parameters:
    ///   - key: the key whose public half is in the code.
    ///   - ephemeral: a fresh key.
    package init(
      key: P256.PrivateKey, preSharedKey: SecretBytes, ephemeral: P256.PrivateKey
    ) throws(CryptoError) {
      var state = NoiseState(clientKey: key.publicKey, preSharedKey: preSharedKey)
      let point = state.addEphemeral(ephemeral)
      let tag = try state.tag()
      message = point + tag
      (self.key, self.ephemeral, self.state) = (key, ephemeral, state)
    }

    /// Takes the authenticator's answer.
    ///
    /// - Throws: ``HybridError/handshake`` for one that was not made with both keys and the pre-shared key.
    package func finish(_ answer: [UInt8]) throws(HybridError) -> Keys {
      try refusing { () throws(CryptoError) -> Keys in
        var state = state
        let point = try state.readEphemeral(answer)
        state.mixKey(try ephemeral.sharedSecret(with: point))
        state.mixKey(try key.sharedSecret(with: point))
        try state.checkTag(answer)
        return state.keys
      }
    }
  }
}

/// Converts each error of the keys or of a message to a failure of the handshake.
private func refusing<R>(_ body: () throws(CryptoError) -> R) throws(HybridError) -> R {
  do throws(CryptoError) {
    return try body()
  } catch {
    throw .handshake
  }
}

/// Noise's symmetric state: the hash of what was sent, the chaining key, and the key of the next tag.
struct NoiseState {
  private(set) var hash: [UInt8]
  private(set) var chainingKey: SecretBytes
  private var key: SecretBytes

  /// The name of the protocol, padded to a hash's size.
  private static let name = Array("Noise_KNpsk0_P256_AESGCM_SHA256".utf8) + [0]
  /// Each key seals one tag only.
  private static let nonce = [UInt8](repeating: 0, count: AESGCM.nonceSize)

  /// The state after prologue, static key and pre-shared key: 01 stands for a code, and not for a linked device.
  init(clientKey: P256.PublicKey, preSharedKey: SecretBytes) {
    let start = Self.name.withUnsafeBytes { SecretBytes(copying: $0) }
    (hash, chainingKey, key) = (Self.name, start, start)
    mixHash([1])
    mixHash([4] + clientKey.raw)
    let derived = derive(preSharedKey, count: 96)
    (chainingKey, key) = (derived.part(0..<32), derived.part(64..<96))
    mixHash(derived.part(32..<64).withUnsafeBytes { Array($0) })
  }

  mutating func mixHash(_ bytes: [UInt8]) { hash = SHA256.hash(hash, bytes) }

  mutating func mixKey(_ input: SecretBytes) {
    let derived = derive(input, count: 64)
    (chainingKey, key) = (derived.part(0..<32), derived.part(32..<64))
  }

  /// Adds the other side's point.
  mutating func readEphemeral(_ message: [UInt8]) throws(CryptoError) -> P256.PublicKey {
    guard message.count == NoiseHandshake.messageSize, message[0] == 4 else { throw .invalidPoint }
    let point = try P256.PublicKey(x: Array(message[1..<33]), y: Array(message[33..<65]))
    mix(point)
    return point
  }

  /// Adds the own point, and returns its bytes.
  mutating func addEphemeral(_ ephemeral: P256.PrivateKey) -> [UInt8] {
    mix(ephemeral.publicKey)
    return [4] + ephemeral.publicKey.raw
  }

  /// The tag of everything so far.
  mutating func tag() throws(CryptoError) -> [UInt8] {
    let tag = try AESGCM.seal([], key: key, nonce: Self.nonce, ad: hash)
    mixHash(tag)
    return tag
  }

  /// Checks the tag at the end of the other side's message.
  mutating func checkTag(_ message: [UInt8]) throws(CryptoError) {
    let tag = Array(message.suffix(AESGCM.tagSize))
    _ = try AESGCM.open(tag, key: key, nonce: Self.nonce, ad: hash)
    mixHash(tag)
  }

  /// The keys after both messages.
  var keys: NoiseHandshake.Keys {
    let derived = derive(SecretBytes(count: 0) { _ in }, count: 64)
    return NoiseHandshake.Keys(toAuthenticator: derived.part(0..<32), toClient: derived.part(32..<64))
  }

  private mutating func mix(_ point: P256.PublicKey) {
    let bytes = [4] + point.raw
    mixHash(bytes)
    mixKey(bytes.withUnsafeBytes { SecretBytes(copying: $0) })
  }

  private func derive(_ input: SecretBytes, count: Int) -> SecretBytes {
    HKDFSHA256.derive(key: input, salt: chainingKey, info: [], count: count)
  }
}
