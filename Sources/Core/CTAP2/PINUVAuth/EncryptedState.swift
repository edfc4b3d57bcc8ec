import CryptoPrimitives
import Recovery

/// The members of getInfo that only a holder of the persistent token (permission pcmr) can read: CTAP §6.4.
///
/// To other clients they look random and differ at each reading, so they cannot be used to track a device.
enum EncryptedState: String {
  /// 0x19: the identifier of the device, 16 bytes.
  case identifier = "encIdentifier"
  /// 0x1E: the state of the passkeys, 16 bytes that change with them.
  case credentialStore = "encCredStoreState"

  /// The size of a state before encryption, in bytes.
  static let size = 16
  /// The size of an encrypted state, in bytes: an initialization vector and the state.
  static let encryptedSize = AESCBC.blockSize + size

  /// iv (16 random bytes) ‖ AES-128-CBC(key, state), with key = HKDF-SHA-256(IKM = token, salt = 32 zeros, info = the
  /// member's name, L = 16): 32 bytes.
  func encrypt(_ state: [UInt8], token: SecretBytes) throws(CryptoError) -> [UInt8] {
    let key = HKDFSHA256.derive(
      key: token, salt: [UInt8](repeating: 0, count: 32), info: Array(rawValue.utf8), count: 16)
    let iv = randomBytes(AESCBC.blockSize)
    return iv
      + (try AESCBC.encrypt(
        state.withUnsafeBytes(SecretBytes.init(copying:)), key: key, initializationVector: iv))
  }
}

extension OpenVault {
  /// Both members of getInfo.
  ///
  /// Without a persistent token both are random bytes, which look like the states under an unknown key: a platform that
  /// has no token yet sees that the members exist.
  func encryptedStates() throws(CTAPError) -> (identifier: [UInt8], credentialStore: [UInt8]) {
    let state = try stored(store.state())
    guard let token = state.settings.persistentToken else {
      // Each draw is a system call.
      let random = randomBytes(2 * EncryptedState.encryptedSize)
      return (Array(random.prefix(EncryptedState.encryptedSize)), Array(random.dropFirst(EncryptedState.encryptedSize)))
    }
    let revision = try stored(store.revision())
    do throws(CryptoError) {
      return (
        try EncryptedState.identifier.encrypt(state.deviceIdentifier, token: token),
        try EncryptedState.credentialStore.encrypt(state.credentialStoreState(revision: revision), token: token)
      )
    } catch {
      throw CTAPError(.other, "the device identifier cannot be encrypted: \(error)")
    }
  }
}

// MARK: - Derived, not stored

extension StoreState {
  /// The identifier of the device until the next reset: 16 bytes.
  ///
  /// A reset raises the floor above every earlier value; nothing else raises it. When the owner undoes a reset (floor
  /// 0), the first identifier comes back.
  var deviceIdentifier: [UInt8] { derived("liquid-auth/device identifier/v1", []) }

  /// The state of the passkeys: 16 bytes that change with each passkey, and with a reset.
  ///
  /// - Parameter revision: the store's revision.
  func credentialStoreState(revision: [UInt8]) -> [UInt8] {
    derived("liquid-auth/credential store state/v1", revision)
  }

  /// LEFT(SHA-256(label ‖ 00 ‖ storeID ‖ floor ‖ content), 16): the storeID is random, and only in the vault and the
  /// store.
  private func derived(_ label: String, _ content: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(Array(label.utf8) + [0] + storeID + floor.bigEndianBytes + content).prefix(EncryptedState.size))
  }
}
