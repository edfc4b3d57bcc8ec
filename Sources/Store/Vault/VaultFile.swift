import CBOR
public import CryptoPrimitives

/// The sealed file that keeps the main key and the Ed25519 root, never the phrase (Recovery §1).
///
/// `{1: version, 2: vaultID (16), 3: [slot …], 4: nonce (24), 5: sealed content}`. The content is sealed under a random
/// key, and each slot holds that key for one protector. Versions 2 and 4 have a previous phrase beside the present one;
/// from version 3 on, the vault's key also seals the members of the slots. This is only a value: the shell reads and
/// writes the file.
public struct VaultFile: Hashable, Sendable {
  /// The id of the vault, 16 bytes; bound to all that is sealed, so that no part fits into another vault.
  public let vaultID: [UInt8]
  /// The slots; at least one.
  public private(set) var slots: [VaultSlot]
  private var nonce: [UInt8]
  private var sealedContent: [UInt8]
  /// Whether it also has the secrets of the previous phrase (Recovery §14); the seal of the content covers this.
  public private(set) var hasPreviousPhrase = false
  /// Whether it authenticates its slots (Recovery §1); the seal of the content covers this.
  ///
  /// A vault that an earlier version made does not. Before ``sealSlots(of:using:)``, its slots never unlock at the
  /// start.
  public private(set) var sealsSlots = true

  static let sealedKeySize = XChaCha20Poly1305.keySize + XChaCha20Poly1305.tagSize

  private var version: UInt64 { (sealsSlots ? 3 : 1) + (hasPreviousPhrase ? 1 : 0) }

  // MARK: The bytes

  /// The file's bytes.
  public var encoded: [UInt8] {
    CBOREncoder.encode([
      1: .unsigned(version), 2: .bytes(vaultID), 3: .array(slots.map { .map($0.members) }), 4: .bytes(nonce),
      5: .bytes(sealedContent),
    ])
  }

  /// Reads a file's bytes; nothing is opened yet.
  ///
  /// - Throws: ``VaultError/notAVault`` when the bytes do not begin as a vault, ``VaultError/unsupportedVersion(_:)``,
  ///   ``VaultError/limitExceeded(_:)``, and ``VaultError/damaged(_:)`` for everything else that is invalid.
  public init(decoding bytes: [UInt8]) throws(VaultError) {
    // A map of five members whose first key is 1: every version begins like this.
    guard bytes.starts(with: [0xa5, 0x01]) else { throw .notAVault }
    do {
      let members = try CBORDecoder.decode(bytes).map ?? [:]
      let number = try members.requiredUnsigned(1)
      guard 1...4 ~= number else { throw VaultError.unsupportedVersion(number) }
      let sealsSlots = number >= 3
      (self.sealsSlots, hasPreviousPhrase) = (sealsSlots, number == 2 || number == 4)
      vaultID = try members.requiredBytes(2)
      slots = try members.requiredArray(3).map { slot in
        guard let slot = slot.map else { throw VaultError.damaged("a slot is not a map") }
        return try VaultSlot(decoding: slot, isSealed: sealsSlots)
      }
      nonce = try members.requiredBytes(4)
      sealedContent = try members.requiredBytes(5)
    } catch let error as VaultError {
      throw error
    } catch {
      throw .damaged("\(error)")
    }
    guard vaultID.count == 16, nonce.count == XChaCha20Poly1305.nonceSize else {
      throw .damaged("the vault's id or nonce has the wrong length")
    }
    guard !slots.isEmpty else { throw .damaged("it has no slot") }
  }

  // MARK: Making, opening, changing

  /// Makes a new vault with one passphrase slot.
  ///
  /// From `generator` come, in this order: the vault's id (16), its key (32), the slot's salt (16) and nonce (24), the
  /// content's nonce (24).
  /// - Throws: ``VaultError/outOfMemory``.
  public init(
    sealing content: VaultContent, passphrase: SecretBytes, cost: PassphraseCost,
    using generator: inout some RandomNumberGenerator
  ) throws(VaultError) {
    vaultID = generator.bytes(16)
    let vaultKey = generator.secretBytes(XChaCha20Poly1305.keySize)
    let salt = generator.bytes(Argon2id.saltSize)
    slots = [
      try VaultSlot(
        sealing: vaultKey, vaultID: vaultID, for: .passphrase(salt: salt, cost: cost),
        key: cost.key(passphrase: passphrase, salt: salt), nonce: generator.bytes(XChaCha20Poly1305.nonceSize))
    ]
    nonce = []
    sealedContent = []
    try seal(content, under: vaultKey, using: &generator)
  }

  /// Opens the vault; each passphrase slot is tried in turn.
  ///
  /// - Throws: ``VaultError/wrongPassphrase`` when no slot opens, ``VaultError/damaged(_:)`` when a slot opens and the
  ///   content does not, ``VaultError/outOfMemory``.
  public func open(passphrase: SecretBytes) throws(VaultError) -> UnlockedVault {
    let (index, key) = try unlock(passphrase)
    return UnlockedVault(content: try content(under: key), key: key, slot: slots[index], sealsSlots: sealsSlots)
  }

  /// Opens the vault with the key of a slot's protector, 32 bytes.
  ///
  /// - Throws: ``VaultError/noSuchSlot``, ``VaultError/wrongKey`` when the slot does not open,
  ///   ``VaultError/changedSlot`` when its members are not those that were sealed, ``VaultError/damaged(_:)`` when the
  ///   content does not open.
  public func open(slot id: [UInt8], key: SecretBytes) throws(VaultError) -> UnlockedVault {
    guard let slot = slots.first(where: { $0.id == id }) else { throw .noSuchSlot }
    guard let vaultKey = slot.vaultKey(vaultID: vaultID, key: key) else { throw .wrongKey }
    guard !sealsSlots || slot.isAuthentic(under: vaultKey, vaultID: vaultID) else { throw .changedSlot }
    return UnlockedVault(content: try content(under: vaultKey), key: vaultKey, slot: slot, sealsSlots: sealsSlots)
  }

  /// Seals the vault's key in a slot for a protector; the other slots and the content stay as they are.
  ///
  /// A passphrase takes the place of all passphrase slots; a slot of another type is added.
  ///
  /// - Parameters:
  ///   - protector: of a known type.
  ///   - key: the protector's key, 32 bytes.
  ///   - vault: this vault, opened.
  /// - Throws: ``VaultError/damaged(_:)`` when the content does not open.
  public mutating func seal(
    _ vault: UnlockedVault, for protector: VaultSlot.Protector, key: SecretBytes,
    using generator: inout some RandomNumberGenerator
  ) throws(VaultError) {
    guard protector.isKnown else { throw .damaged("a slot of type \(protector.type) cannot be made") }
    _ = try content(under: vault.key)  // report damage elsewhere before the vault is rewritten
    var slot = try VaultSlot(
      sealing: vault.key, vaultID: vaultID, for: protector, key: key,
      nonce: generator.bytes(XChaCha20Poly1305.nonceSize))
    if sealsSlots, protector.isSealed { slot = try sealed(slot, as: protector, by: vault, using: &generator) }
    let replaced = slots.indices.filter { protector.isPassphrase && slots[$0].protector.isPassphrase }
    guard let first = replaced.first else { return slots.append(slot) }
    slots[first] = slot
    for index in replaced.dropFirst().reversed() { slots.remove(at: index) }
  }

  /// Authenticates the slots of a vault that an earlier version made; does nothing if they are authenticated.
  ///
  /// A program can have changed their members. So the slots keep only what their keys depend on, or what their hardware
  /// enforces: none unlocks at the start any more, and none has a public key.
  ///
  /// - Parameter vault: this vault, opened by a person who typed the passphrase.
  /// - Returns: the slots that unlocked at the start.
  /// - Throws: ``VaultError/damaged(_:)`` when the content does not open.
  public mutating func sealSlots(
    of vault: UnlockedVault, using generator: inout some RandomNumberGenerator
  ) throws(VaultError) -> [VaultSlot] {
    guard !sealsSlots else { return [] }
    let (content, before) = (try content(under: vault.key), slots)
    for (index, slot) in zip(slots.indices, before) where slot.protector.isSealed {
      slots[index] = try sealed(slot, as: slot.protector.untrusted, by: vault, using: &generator)
    }
    sealsSlots = true
    try seal(content, under: vault.key, using: &generator)
    return before.filter(\.protector.unlocksAtStart)
  }

  /// Stores the public key (64 bytes) of a security key whose slot has none.
  ///
  /// - Parameter vault: this vault, opened by that slot, which is authentic.
  /// - Returns: `false` if it was not stored: the slot has one already, or the slots of the vault are not sealed yet.
  @discardableResult
  public mutating func store(
    publicKey: [UInt8], in vault: UnlockedVault, using generator: inout some RandomNumberGenerator
  ) throws(VaultError) -> Bool {
    guard sealsSlots, let index = slots.firstIndex(of: vault.slot),
      case .securityKey(let slot) = slots[index].protector,
      slot.publicKey == nil, publicKey.count == SecurityKeySlot.publicKeySize
    else { return false }
    _ = try content(under: vault.key)
    slots[index] = try sealed(
      slots[index], as: .securityKey(slot.with(publicKey: publicKey)), by: vault, using: &generator)
    return true
  }

  private func sealed(
    _ slot: VaultSlot, as protector: VaultSlot.Protector, by vault: UnlockedVault,
    using generator: inout some RandomNumberGenerator
  ) throws(VaultError) -> VaultSlot {
    try VaultSlot(
      slot, as: protector, sealedBy: vault.key, vaultID: vaultID,
      nonce: generator.bytes(XChaCha20Poly1305.nonceSize))
  }

  /// Removes a slot; the others and the content stay as they are.
  ///
  /// - Throws: ``VaultError/noSuchSlot``; ``VaultError/lastSlot`` when no passphrase would remain.
  public mutating func removeSlot(_ id: [UInt8]) throws(VaultError) {
    guard let index = slots.firstIndex(where: { $0.id == id }) else { throw .noSuchSlot }
    var rest = slots
    rest.remove(at: index)
    guard rest.contains(where: \.protector.isPassphrase) else { throw .lastSlot }
    slots = rest
  }

  /// Sets the id of the store (16 bytes) and returns the new content; the slots do not change.
  ///
  /// - Parameter ofPrevious: whether it is the store of the previous phrase.
  /// - Throws: as ``open(passphrase:)``.
  @discardableResult
  public mutating func replaceStoreID(
    ofPrevious: Bool = false, with storeID: [UInt8], passphrase: SecretBytes,
    using generator: inout some RandomNumberGenerator
  ) throws(VaultError) -> VaultContent {
    let vaultKey = try unlock(passphrase).key
    let present = try content(under: vaultKey)
    let content = try ofPrevious ? present.withPrevious(boundToStore: storeID) : present.bound(toStore: storeID)
    try seal(content, under: vaultKey, using: &generator)
    return content
  }

  /// Replaces the content; the slots and the vault's key do not change.
  ///
  /// - Parameter vault: this vault, opened.
  /// - Throws: ``VaultError/damaged(_:)`` when the present content does not open.
  public mutating func replaceContent(
    of vault: UnlockedVault, with content: VaultContent, using generator: inout some RandomNumberGenerator
  ) throws(VaultError) {
    _ = try self.content(under: vault.key)  // another vault in the place of the file is not overwritten
    try seal(content, under: vault.key, using: &generator)
  }

  // MARK: The vault's key

  private func unlock(_ passphrase: SecretBytes) throws(VaultError) -> (slot: Int, key: SecretBytes) {
    try Self.first(slots) { slot throws(VaultError) in try slot.vaultKey(vaultID: vaultID, passphrase: passphrase) }
  }

  /// The first slot that opens; a slot that needs more memory than there is, is skipped.
  static func first<Key>(
    _ slots: [VaultSlot], _ open: (VaultSlot) throws(VaultError) -> Key?
  ) throws(VaultError) -> (slot: Int, key: Key) {
    var isUntried = false
    for (index, slot) in slots.enumerated() {
      do throws(VaultError) {
        if let key = try open(slot) { return (index, key) }
      } catch .outOfMemory {
        isUntried = true
      }
    }
    throw isUntried ? .outOfMemory : .wrongPassphrase
  }

  private var associatedData: [UInt8] { Array("liquid-auth vault v\(version)".utf8) + vaultID }

  private mutating func seal(
    _ content: VaultContent, under vaultKey: SecretBytes, using generator: inout some RandomNumberGenerator
  ) throws(VaultError) {
    nonce = generator.bytes(XChaCha20Poly1305.nonceSize)
    hasPreviousPhrase = content.previous != nil
    do {
      sealedContent = try XChaCha20Poly1305.sealSecret(
        content.payload, key: vaultKey, nonce: nonce, ad: associatedData)
    } catch {
      throw .damaged("the content cannot be sealed: \(error)")
    }
  }

  private func content(under vaultKey: SecretBytes) throws(VaultError) -> VaultContent {
    let payload: SecretBytes
    do {
      payload = try XChaCha20Poly1305.openSecret(sealedContent, key: vaultKey, nonce: nonce, ad: associatedData)
    } catch {
      throw .damaged("the passphrase or key is right, but the sealed content does not open")
    }
    return try VaultContent(payload: payload, hasPrevious: hasPreviousPhrase)
  }
}

/// A vault that a slot has opened.
public struct UnlockedVault: Sendable {
  /// The secrets, and the id of the store.
  public let content: VaultContent
  /// The key that seals the content, and that each slot seals: 32 bytes.
  let key: SecretBytes
  /// The slot that opened the vault.
  public let slot: VaultSlot
  /// Whether the vault authenticates its slots; if not, ``VaultFile/sealSlots(of:using:)`` does.
  public let sealsSlots: Bool
}

extension RandomNumberGenerator {
  fileprivate mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { fill($0) }
    return bytes
  }

  fileprivate mutating func secretBytes(_ count: Int) -> SecretBytes {
    SecretBytes(count: count) { fill($0) }
  }

  /// Eight bytes a draw, low byte first.
  private mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    for start in stride(from: 0, to: buffer.count, by: 8) {
      withUnsafeBytes(of: next().littleEndian) {
        UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: $0.prefix(buffer.count - start)))
      }
    }
  }
}

/// An error in reading or opening a vault.
///
/// The shell puts the file's name in front.
public enum VaultError: Error, Equatable, Sendable {
  /// The bytes do not begin as a vault.
  case notAVault
  /// The file has an unknown version.
  case unsupportedVersion(UInt64)
  /// The bytes begin as a vault, or the passphrase is right, but a part is invalid; the text says which.
  case damaged(String)
  /// A slot requires more time or memory than the limits allow (Recovery §1); nothing was computed.
  case limitExceeded(String)
  /// No slot opens: another passphrase, or a modified slot. The two cannot be distinguished.
  case wrongPassphrase
  /// There is not enough memory for the slot's key derivation.
  case outOfMemory
  /// The slot to remove is not in the file.
  case noSuchSlot
  /// The slot to remove is the last passphrase.
  case lastSlot
  /// The protector's key does not open its slot.
  case wrongKey
  /// The key opens the slot, but the slot is not as it was sealed.
  case changedSlot
}

extension VaultError: CustomStringConvertible {
  /// The reason, then the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }

  /// What happened: lower case, no full stop.
  public var reason: String {
    switch self {
    case .notAVault: "not a vault"
    case .unsupportedVersion(let version): "vault version \(version) is unknown"
    case .damaged(let what): "damaged vault: \(what)"
    case .limitExceeded(let what): "vault refused: \(what)"
    case .wrongPassphrase: "the passphrase is wrong"
    case .outOfMemory: "not enough memory to try the passphrase"
    case .noSuchSlot: "there is no such slot"
    case .lastSlot: "a passphrase must remain, because other ways to unlock can fail"
    case .wrongKey: "the key does not open this slot"
    case .changedSlot: "this slot was modified outside liquid-auth"
    }
  }

  /// What to do, if anything can be done: lower case, no full stop.
  public var hint: String? {
    let words = command?.joined(separator: " ") ?? ""
    return switch self {
    case .notAVault, .damaged, .limitExceeded:
      "put a good copy in its place, or move it away and make a new vault from shares with liquid-auth recover "
        + "--shares, or from the phrase with: \(words)"
    case .unsupportedVersion: "use a newer liquid-auth"
    case .wrongPassphrase: nil
    case .outOfMemory: "close other programs and try again"
    case .noSuchSlot: "list the slots with: \(words)"
    case .lastSlot: "change it with: \(words)"
    case .wrongKey, .changedSlot: "remove the slot, and add it again"
    }
  }

  /// The words of the command that ends the hint.
  public var command: [String]? {
    switch self {
    case .notAVault, .damaged, .limitExceeded: ["liquid-auth", "init", "--import"]
    case .noSuchSlot: ["liquid-auth", "vault", "list"]
    case .lastSlot: ["liquid-auth", "vault", "passphrase"]
    default: nil
    }
  }
}
