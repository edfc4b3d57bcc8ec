import CBOR
import CryptoPrimitives

/// The vault's key, sealed for one protector (Recovery §1).
///
/// `{1: type, …, 5: nonce (24), 6: sealed vaultKey (48)}`. Slots of unknown types are kept unchanged, so that rewriting
/// a vault does not lock out another program.
public struct VaultSlot: Hashable, Sendable {
  /// What opens a slot.
  public enum Protector: Hashable, Sendable {
    /// Type 1: a passphrase, through Argon2id over this salt (16 bytes).
    case passphrase(salt: [UInt8], cost: PassphraseCost)
    /// A type of a later version.
    case unknown(type: UInt8)
  }

  /// What opens this slot.
  public let protector: Protector
  /// The slot as in the file.
  let members: CBORMap
  private let nonce: [UInt8]
  private let sealedKey: [UInt8]

  private static let passphraseType: UInt8 = 1

  // MARK: The bytes

  init(decoding members: CBORMap) throws(VaultError) {
    self.members = members
    do {
      guard let type = UInt8(exactly: try members.requiredUnsigned(1)) else {
        throw VaultError.damaged("the type of a slot is out of range")
      }
      nonce = try members.requiredBytes(5)
      sealedKey = try members.requiredBytes(6)
      guard nonce.count == XChaCha20Poly1305.nonceSize, sealedKey.count == VaultFile.sealedKeySize else {
        throw VaultError.damaged("a slot's nonce or sealed key has the wrong length")
      }
      protector = type == Self.passphraseType ? try Self.passphrase(members) : .unknown(type: type)
    } catch let error as VaultError {
      throw error
    } catch {
      throw .damaged("a slot has a \(error)")
    }
  }

  private static func passphrase(_ members: CBORMap) throws -> Protector {
    let salt = try members.requiredBytes(2)
    let cost = try PassphraseCost(opsLimit: members.requiredUnsigned(3), memLimit: members.requiredUnsigned(4))
    guard members.count == 6, salt.count == Argon2id.saltSize else {
      throw VaultError.damaged("a passphrase slot has unexpected members")
    }
    return .passphrase(salt: salt, cost: cost)
  }

  // MARK: The key

  /// Seals `vaultKey` for a passphrase.
  init(
    sealing vaultKey: SecretBytes, vaultID: [UInt8], passphrase: SecretBytes, salt: [UInt8], cost: PassphraseCost,
    nonce: [UInt8]
  ) throws(VaultError) {
    let key = try Self.key(passphrase: passphrase, salt: salt, cost: cost)
    let ad = Self.associatedData(vaultID: vaultID, type: Self.passphraseType)
    do {
      sealedKey = try XChaCha20Poly1305.sealSecret(vaultKey, key: key, nonce: nonce, ad: ad)
    } catch {
      throw .damaged("the slot cannot be sealed: \(error)")
    }
    protector = .passphrase(salt: salt, cost: cost)
    self.nonce = nonce
    members = [
      1: .unsigned(UInt64(Self.passphraseType)), 2: .bytes(salt), 3: .unsigned(cost.opsLimit),
      4: .unsigned(cost.memLimit), 5: .bytes(nonce), 6: .bytes(sealedKey),
    ]
  }

  /// The vault's key, if this is a passphrase slot that the passphrase opens; `nil` otherwise.
  func vaultKey(vaultID: [UInt8], passphrase: SecretBytes) throws(VaultError) -> SecretBytes? {
    guard case .passphrase(let salt, let cost) = protector else { return nil }
    let key = try Self.key(passphrase: passphrase, salt: salt, cost: cost)
    let ad = Self.associatedData(vaultID: vaultID, type: Self.passphraseType)
    return try? XChaCha20Poly1305.openSecret(sealedKey, key: key, nonce: nonce, ad: ad)
  }

  private static func key(
    passphrase: SecretBytes, salt: [UInt8], cost: PassphraseCost
  ) throws(VaultError) -> SecretBytes {
    do {
      return try Argon2id.derive(
        passphrase: passphrase, salt: salt, opsLimit: cost.opsLimit, memLimit: Int(cost.memLimit),
        count: XChaCha20Poly1305.keySize)
    } catch {
      throw error == .outOfMemory ? .outOfMemory : .damaged("a slot's key cannot be derived: \(error)")
    }
  }

  private static func associatedData(vaultID: [UInt8], type: UInt8) -> [UInt8] {
    Array("liquid-auth vault slot v1".utf8) + vaultID + [type]
  }
}

/// The cost of one try of a passphrase: the two limits of Argon2id 1.3, as libsodium counts them.
public struct PassphraseCost: Hashable, Sendable {
  /// Passes over the memory.
  public let opsLimit: UInt64
  /// Memory in bytes, whole KiB.
  public let memLimit: UInt64

  /// The cost of new slots: three passes over 256 MiB (Recovery §1).
  public static let standard = PassphraseCost(trusted: 3, 268_435_456)

  /// Checks the limits of a vault (Recovery §1): at most 16 passes, at most 2^30 bytes.
  ///
  /// - Throws: ``VaultError/limitExceeded(_:)`` above them, ``VaultError/damaged(_:)`` for values that Argon2id does
  ///   not allow: less than one pass or 8 KiB, or parts of a KiB.
  public init(opsLimit: UInt64, memLimit: UInt64) throws(VaultError) {
    guard opsLimit <= 16 else { throw .limitExceeded("a slot requires \(opsLimit) passes; the limit is 16") }
    guard memLimit <= 1 << 30 else {
      throw .limitExceeded("a slot requires \(memLimit) bytes of memory; the limit is 2^30")
    }
    guard opsLimit >= 1, memLimit >= 8192 else { throw .damaged("a slot requires less than the minimum of Argon2id") }
    // Argon2id counts KiB: libsodium drops the rest, so damage there would not be noticed.
    guard memLimit.isMultiple(of: 1024) else { throw .damaged("a slot's memory is not a whole number of KiB") }
    self.init(trusted: opsLimit, memLimit)
  }

  private init(trusted opsLimit: UInt64, _ memLimit: UInt64) {
    self.opsLimit = opsLimit
    self.memLimit = memLimit
  }
}
