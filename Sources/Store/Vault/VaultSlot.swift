public import CBOR
public import CryptoPrimitives

/// The vault's key, sealed for one protector (Recovery §1).
///
/// `{1: type, …, 5: nonce (24), 6: sealed vaultKey (48), 9: seal (40)}`. Slots of unknown types and damaged slots are
/// kept unchanged, so that rewriting a vault does not lock out another program.
public struct VaultSlot: Hashable, Sendable {
  /// What opens a slot.
  public enum Protector: Hashable, Sendable {
    /// Type 1: a passphrase, through Argon2id over this salt (16 bytes).
    case passphrase(salt: [UInt8], cost: PassphraseCost)
    /// Type 2: a random key that this machine's TPM unseals.
    case tpm(TPMSlot)
    /// Type 3: a key that a FIDO2 security key computes.
    case securityKey(SecurityKeySlot)
    /// Type 4: a random key in the keyring of the user's session, the item with this id (16 bytes).
    ///
    /// - Parameter autoUnlock: whether the authenticator unlocks with it at its start, and not only for a request.
    case secretService(id: [UInt8], autoUnlock: Bool)
    /// Type 5: a random key that systemd decrypts for this user on this machine.
    ///
    /// - Parameters:
    ///   - credential: the output of systemd-creds(1), 1 to 1,536 bytes.
    ///   - autoUnlock: whether the authenticator unlocks with this slot when it starts.
    case systemdCredential([UInt8], autoUnlock: Bool)
    /// A type of a later version.
    case unknown(type: UInt8)
    /// A slot of another type than 1 whose members are not those of its type: it opens nothing.
    case damaged(type: UInt8)
  }

  /// What opens this slot.
  public let protector: Protector
  /// Identifies the slot: its nonce (24 bytes), which is new each time a slot is sealed; for a damaged slot, the SHA-256
  /// of its bytes.
  public var id: [UInt8] {
    if case .damaged = protector { SHA256.hash(CBOREncoder.encode(.map(members))) } else { nonce }
  }
  /// The slot as in the file.
  let members: CBORMap
  private let nonce: [UInt8]
  private let sealedKey: [UInt8]

  /// Whether the authenticator unlocks with it at its start: only in a vault that authenticates its slots.
  public var unlocksAtStart: Bool { protector.unlocksAtStart && members[Self.sealMember] != nil }
  /// Whether it says that it unlocks at the start, which does not count because an earlier version made it.
  public var isOfEarlierVersion: Bool { protector.unlocksAtStart && members[Self.sealMember] == nil }

  // MARK: The bytes

  /// Reads a slot of the file.
  ///
  /// A slot of another type than 1 with wrong members is read as ``Protector/damaged(type:)``: the other slots still open
  /// the vault.
  ///
  /// - Parameter isSealed: whether the vault authenticates its slots, so that a slot of a known type has a seal.
  /// - Throws: ``VaultError`` if the slot has no type, or is a passphrase slot with wrong members.
  init(decoding members: CBORMap, isSealed: Bool) throws(VaultError) {
    self.members = members
    let type = try VaultSlot.Protector.type(of: members)
    do throws(VaultError) {
      (protector, nonce, sealedKey) = try Self.parts(of: members, isSealed: isSealed)
    } catch {
      guard type != Protector.passphraseType else { throw error }
      (protector, nonce, sealedKey) = (.damaged(type: type), [], [])
    }
  }

  private static func parts(
    of members: CBORMap, isSealed: Bool
  ) throws(VaultError) -> (protector: Protector, nonce: [UInt8], sealedKey: [UInt8]) {
    let (nonce, sealedKey): ([UInt8], [UInt8])
    do {
      (nonce, sealedKey) = (try members.requiredBytes(5), try members.requiredBytes(6))
    } catch {
      throw .damaged("a slot has a \(error)")
    }
    guard nonce.count == XChaCha20Poly1305.nonceSize, sealedKey.count == VaultFile.sealedKeySize else {
      throw .damaged("a slot's nonce or sealed key has the wrong length")
    }
    var parameters = members
    (parameters[5], parameters[6]) = (nil, nil)
    if isSealed, try Protector.type(of: members) != Protector.passphraseType { parameters[sealMember] = nil }
    let protector = try Protector(parameters)
    guard !isSealed || !protector.isSealed || members[sealMember]?.bytes?.count == sealSize else {
      throw .damaged("a slot has no seal")
    }
    return (protector, nonce, sealedKey)
  }

  // MARK: The key

  /// Seals `vaultKey` under the key of a protector, 32 bytes.
  init(
    sealing vaultKey: SecretBytes, vaultID: [UInt8], for protector: Protector, key: SecretBytes, nonce: [UInt8]
  ) throws(VaultError) {
    do {
      sealedKey = try XChaCha20Poly1305.sealSecret(
        vaultKey, key: key, nonce: nonce, ad: Self.associatedData(vaultID: vaultID, type: protector.type))
    } catch {
      throw .damaged("the slot cannot be sealed: \(error)")
    }
    self.protector = protector
    self.nonce = nonce
    var members = protector.members
    (members[5], members[6]) = (.bytes(nonce), .bytes(sealedKey))
    self.members = members
  }

  /// The vault's key, if this is a passphrase slot that the passphrase opens; `nil` otherwise.
  func vaultKey(vaultID: [UInt8], passphrase: SecretBytes) throws(VaultError) -> SecretBytes? {
    guard case .passphrase(let salt, let cost) = protector else { return nil }
    return vaultKey(vaultID: vaultID, key: try cost.key(passphrase: passphrase, salt: salt))
  }

  /// The vault's key, if the protector's key (32 bytes) opens this slot; `nil` otherwise.
  func vaultKey(vaultID: [UInt8], key: SecretBytes) -> SecretBytes? {
    let ad = Self.associatedData(vaultID: vaultID, type: protector.type)
    return try? XChaCha20Poly1305.openSecret(sealedKey, key: key, nonce: nonce, ad: ad)
  }

  private static func associatedData(vaultID: [UInt8], type: UInt8) -> [UInt8] {
    Array("liquid-auth vault slot v1".utf8) + vaultID + [type]
  }

  // MARK: The seal

  private static let sealMember: CBORValue = 9
  private static let sealSize = XChaCha20Poly1305.nonceSize + XChaCha20Poly1305.tagSize

  /// The slot for another form of its protector, with a seal by the vault's key over all its members.
  ///
  /// - Parameters:
  ///   - protector: of the slot's type, whose key opens the slot as before.
  ///   - nonce: 24 bytes, never used with this key.
  init(
    _ slot: VaultSlot, as protector: Protector, sealedBy vaultKey: SecretBytes, vaultID: [UInt8], nonce: [UInt8]
  ) throws(VaultError) {
    (self.protector, self.nonce, sealedKey) = (protector, slot.nonce, slot.sealedKey)
    var members = protector.members
    (members[5], members[6]) = (.bytes(slot.nonce), .bytes(slot.sealedKey))
    do {
      let tag = try XChaCha20Poly1305.seal(
        [], key: vaultKey, nonce: nonce, ad: Self.sealedData(members, vaultID: vaultID))
      members[Self.sealMember] = .bytes(nonce + tag)
    } catch {
      throw .damaged("the slot cannot be sealed: \(error)")
    }
    self.members = members
  }

  /// Whether no member has changed since the slot was sealed by the vault's key; always true for a passphrase, because
  /// all its members have a part in its key.
  func isAuthentic(under vaultKey: SecretBytes, vaultID: [UInt8]) -> Bool {
    guard protector.isSealed else { return protector.isPassphrase }
    guard let seal = members[Self.sealMember]?.bytes, seal.count == Self.sealSize else { return false }
    var rest = members
    rest[Self.sealMember] = nil
    let (nonce, tag) = (Array(seal.prefix(XChaCha20Poly1305.nonceSize)), Array(seal.suffix(XChaCha20Poly1305.tagSize)))
    let opened = try? XChaCha20Poly1305.open(
      tag, key: vaultKey, nonce: nonce, ad: Self.sealedData(rest, vaultID: vaultID))
    return opened != nil
  }

  /// - Parameter members: all but the seal.
  private static func sealedData(_ members: CBORMap, vaultID: [UInt8]) -> [UInt8] {
    Array("liquid-auth vault slot v2".utf8) + vaultID + CBOREncoder.encode(.map(members))
  }
}

// MARK: - The members of a protector

extension VaultSlot.Protector {
  fileprivate static let passphraseType: UInt8 = 1
  public static let tpmType: UInt8 = 2
  public static let securityKeyType: UInt8 = 3
  private static let secretServiceType: UInt8 = 4
  private static let secretServiceIDSize = 16
  public static let systemdCredentialType: UInt8 = 5
  private static let maximumCredentialSize = 1536

  /// The type's number.
  public var type: UInt8 {
    switch self {
    case .passphrase: Self.passphraseType
    case .tpm: Self.tpmType
    case .securityKey: Self.securityKeyType
    case .secretService: Self.secretServiceType
    case .systemdCredential: Self.systemdCredentialType
    case .unknown(let type), .damaged(let type): type
    }
  }

  /// Whether a passphrase opens such a slot.
  public var isPassphrase: Bool {
    if case .passphrase = self { true } else { false }
  }

  /// Whether this program can open such a slot.
  public var isKnown: Bool {
    switch self {
    case .passphrase, .tpm, .securityKey, .secretService, .systemdCredential: true
    case .unknown, .damaged: false
    }
  }

  /// Whether the vault's key seals the members of such a slot.
  var isSealed: Bool { isKnown && !isPassphrase }

  /// Whether such a slot needs the person each time: a passphrase, or a PIN.
  public var needsPerson: Bool {
    switch self {
    case .passphrase: true
    case .tpm(let slot): slot.conditions.hasPIN
    case .securityKey(let slot): slot.hasPIN
    case .secretService, .systemdCredential, .unknown, .damaged: false
    }
  }

  /// The same without what a program could have changed in a slot that has no seal: it does not unlock at the start,
  /// and has no public key.
  public var untrusted: Self {
    switch self {
    case .tpm(let slot): .tpm(TPMSlot(conditions: slot.conditions, object: slot.object, autoUnlock: false))
    case .securityKey(let slot):
      .securityKey(
        SecurityKeySlot(
          credentialID: slot.credentialID, salt: slot.salt, hasPIN: slot.hasPIN, autoUnlock: false, publicKey: nil))
    case .secretService(let id, _): .secretService(id: id, autoUnlock: false)
    case .systemdCredential(let credential, _): .systemdCredential(credential, autoUnlock: false)
    case .passphrase, .unknown, .damaged: self
    }
  }

  /// What opens such a slot, for people.
  public var name: String {
    switch self {
    case .passphrase: "passphrase"
    case .tpm, .damaged(type: Self.tpmType): "TPM"
    case .securityKey, .damaged(type: Self.securityKeyType): "security key"
    case .secretService, .damaged(type: Self.secretServiceType): "keyring"
    case .systemdCredential, .damaged(type: Self.systemdCredentialType): "systemd credential"
    case .unknown(let type), .damaged(let type): "type \(type)"
    }
  }

  /// What `liquid-auth-protector` needs to find the slot's key; `nil` if another program or a person has the key.
  public var publicData: [UInt8]? {
    switch self {
    case .tpm(let slot): slot.conditions.encoded + slot.object
    case .securityKey(let slot): slot.publicData
    case .secretService(let id, _): id
    case .systemdCredential(let credential, _): credential
    case .passphrase, .unknown, .damaged: nil
    }
  }

  /// Whether the authenticator unlocks with it at its start.
  public var unlocksAtStart: Bool {
    switch self {
    case .tpm(let slot): slot.autoUnlock
    case .securityKey(let slot): slot.autoUnlock
    case .secretService(_, let autoUnlock), .systemdCredential(_, let autoUnlock): autoUnlock
    case .passphrase, .unknown, .damaged: false
    }
  }

  /// The type and the parameters, as in the slot: without nonce and sealed key; only member 1 for an unknown type
  /// or a damaged slot.
  public var members: CBORMap {
    switch self {
    case .tpm(let slot): slot.members
    case .securityKey(let slot): slot.members
    case .passphrase(let salt, let cost):
      [
        1: .unsigned(UInt64(type)), 2: .bytes(salt), 3: .unsigned(cost.opsLimit), 4: .unsigned(cost.memLimit),
      ]
    case .secretService(let id, let autoUnlock):
      [1: .unsigned(UInt64(type)), 2: .bytes(id), 3: .bool(autoUnlock)]
    case .systemdCredential(let credential, let autoUnlock):
      [1: .unsigned(UInt64(type)), 2: .bytes(credential), 3: .bool(autoUnlock)]
    case .unknown(let type), .damaged(let type): [1: .unsigned(UInt64(type))]
    }
  }

  /// Reads the members of a slot without its nonce and its sealed key.
  ///
  /// - Throws: ``VaultError/damaged(_:)``, or ``VaultError/limitExceeded(_:)`` for a passphrase that costs too much.
  public init(_ members: CBORMap) throws(VaultError) {
    let type = try Self.type(of: members)
    do {
      self =
        switch type {
        case Self.passphraseType: try Self.passphrase(members)
        case Self.tpmType: try Self.tpm(members)
        case Self.securityKeyType: try Self.securityKey(members)
        case Self.secretServiceType: try Self.secretService(members)
        case Self.systemdCredentialType: try Self.systemdCredential(members)
        default: .unknown(type: type)
        }
    } catch let error as VaultError {
      throw error
    } catch {
      throw .damaged("a slot has a \(error)")
    }
  }

  /// The type of the slot with these members.
  fileprivate static func type(of members: CBORMap) throws(VaultError) -> UInt8 {
    let type: UInt64
    do { type = try members.requiredUnsigned(1) } catch { throw .damaged("a slot has a \(error)") }
    guard let type = UInt8(exactly: type) else { throw .damaged("the type of a slot is out of range") }
    return type
  }

  private static func passphrase(_ members: CBORMap) throws -> Self {
    let salt = try members.requiredBytes(2)
    let cost = try PassphraseCost(opsLimit: members.requiredUnsigned(3), memLimit: members.requiredUnsigned(4))
    guard members.count == 4, salt.count == Argon2id.saltSize else {
      throw VaultError.damaged("a passphrase slot has unexpected members")
    }
    return .passphrase(salt: salt, cost: cost)
  }

  private static func tpm(_ members: CBORMap) throws -> Self {
    guard let slot = try TPMSlot(members) else { throw VaultError.damaged("a slot of the TPM has unexpected members") }
    return .tpm(slot)
  }

  private static func securityKey(_ members: CBORMap) throws -> Self {
    guard let slot = try SecurityKeySlot(members) else {
      throw VaultError.damaged("a slot of a security key has unexpected members")
    }
    return .securityKey(slot)
  }

  private static func secretService(_ members: CBORMap) throws -> Self {
    let (id, autoUnlock) = (try members.requiredBytes(2), try members.requiredBool(3))
    guard members.count == 3, id.count == secretServiceIDSize else {
      throw VaultError.damaged("a slot of the Secret Service has unexpected members")
    }
    return .secretService(id: id, autoUnlock: autoUnlock)
  }

  private static func systemdCredential(_ members: CBORMap) throws -> Self {
    let (credential, autoUnlock) = (try members.requiredBytes(2), try members.requiredBool(3))
    guard members.count == 3, 1...maximumCredentialSize ~= credential.count else {
      throw VaultError.damaged("a slot of systemd has unexpected members")
    }
    return .systemdCredential(credential, autoUnlock: autoUnlock)
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

  /// Computes the key of a passphrase slot, 32 bytes, which takes about a second and `memLimit` bytes of memory.
  ///
  /// - Throws: ``VaultError/outOfMemory``.
  public func key(passphrase: SecretBytes, salt: [UInt8]) throws(VaultError) -> SecretBytes {
    do {
      return try Argon2id.derive(
        passphrase: passphrase, salt: salt, opsLimit: opsLimit, memLimit: Int(memLimit),
        count: XChaCha20Poly1305.keySize)
    } catch {
      throw error == .outOfMemory ? .outOfMemory : .damaged("a slot's key cannot be derived: \(error)")
    }
  }
}
