package import CBOR
package import CryptoPrimitives

// The owner's commands for PIN, settings, large blobs and the vault's slots; they need the vault's passphrase on the connection.

/// Sets or replaces the PIN: 1 to 63 bytes of UTF-8.
package struct SetPIN: SecretCommand {
  package static let code: UInt8 = 0x5C
  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }
}

/// Removes the PIN.
package struct RemovePIN: PlainCommand {
  package static let code: UInt8 = 0x5D
  package init() {}
}

/// Gets the settings other than the PIN.
package struct GetSettings: PlainCommand {
  package typealias Answer = OwnerSettings
  package static let code: UInt8 = 0x5E
  package init() {}
}

/// Changes settings: {1: alwaysUv?, 2: minPINLength?, 3: [rp.id …]?, 4: forcePINChange?, 5: [means …]?}; absent ones do
/// not change.
package struct ChangeSettings: ControlCommand, Hashable {
  /// The settings after the change.
  package typealias Answer = OwnerSettings
  package static let code: UInt8 = 0x5F

  /// Whether every ceremony asks for verification.
  package var alwaysUV: Bool?
  /// The shortest PIN, in code points; it can only grow.
  package var minimumPINLength: UInt64?
  /// The complete list of the relying parties that may read the minimum PIN length.
  package var minimumPINLengthRPIDs: [String]?
  /// Whether the PIN must be changed now.
  package var forcePINChange: Bool
  /// What verifies before the passphrase, in this order, by name.
  package var means: [String]?

  package init(
    alwaysUV: Bool? = nil, minimumPINLength: UInt64? = nil, minimumPINLengthRPIDs: [String]? = nil,
    forcePINChange: Bool = false, means: [String]? = nil
  ) {
    (self.alwaysUV, self.minimumPINLength) = (alwaysUV, minimumPINLength)
    (self.minimumPINLengthRPIDs, self.forcePINChange) = (minimumPINLengthRPIDs, forcePINChange)
    self.means = means
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    alwaysUV = try decoded(members.optionalBool(1))
    minimumPINLength = try decoded(members.optionalUnsigned(2))
    minimumPINLengthRPIDs = try members[3] == nil ? nil : members.texts(3, OwnerSettings.relyingParty)
    forcePINChange = try decoded(members.optionalBool(4)) ?? false
    means = try members[5] == nil ? nil : members.texts(5, OwnerSettings.means)
    guard self != ChangeSettings() else { throw ControlFailure(.missingParameter, "there is nothing to change") }
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: alwaysUV.map(CBORValue.bool), 2: minimumPINLength.map(CBORValue.unsigned),
      3: minimumPINLengthRPIDs.map(CBORValue.texts), 4: forcePINChange ? true : nil,
      5: means.map(CBORValue.texts),
    ])
  }
}

/// The settings other than the PIN: {1: alwaysUv, 2: minPINLength, 3: [rp.id …], 4: forcePINChange, 5: clientPin,
/// 6: [means …]}.
package struct OwnerSettings: ControlAnswer, Equatable {
  /// Whether every ceremony asks for verification.
  package var alwaysUV: Bool
  /// The shortest PIN that may be set, in code points.
  package var minimumPINLength: UInt8
  /// The relying parties that may read `minimumPINLength`.
  package var minimumPINLengthRPIDs: [String]
  /// Whether the PIN must be changed before any other use.
  package var forcePINChange: Bool
  /// Whether a PIN is set.
  package var isPINSet: Bool
  /// What verifies before the passphrase, in this order, by name.
  package var means: [String]

  package init(
    alwaysUV: Bool, minimumPINLength: UInt8, minimumPINLengthRPIDs: [String], forcePINChange: Bool, isPINSet: Bool,
    means: [String]
  ) {
    (self.alwaysUV, self.minimumPINLength) = (alwaysUV, minimumPINLength)
    (self.minimumPINLengthRPIDs, self.forcePINChange) = (minimumPINLengthRPIDs, forcePINChange)
    (self.isPINSet, self.means) = (isPINSet, means)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    alwaysUV = try decoded(members.requiredBool(1))
    minimumPINLength = try members.requiredInteger(2, as: UInt8.self)
    minimumPINLengthRPIDs = try members.texts(3, Self.relyingParty)
    forcePINChange = try decoded(members.requiredBool(4))
    isPINSet = try decoded(members.requiredBool(5))
    means = try members.texts(6, Self.means)
  }

  fileprivate static let relyingParty = "a relying party's id"
  fileprivate static let means = "a way to verify"

  package var members: CBORMap {
    [
      1: .bool(alwaysUV), 2: .number(minimumPINLength), 3: .texts(minimumPINLengthRPIDs), 4: .bool(forcePINChange),
      5: .bool(isPINSet), 6: .texts(means),
    ]
  }

  /// The problem if the PIN is shorter than the minimum, or the owner requires a new one.
  package static let pinMustBeChanged = Problem(
    "the PIN must be changed before its next use", hint: "change it", with: ["liquid-auth", "pin", "change"],
    kind: .pin)
  /// The problem if every ceremony asks for verification, and neither passphrase nor PIN can verify.
  package static let nothingVerifies = Problem(
    "nothing can verify you", hint: "set a PIN", with: ["liquid-auth", "pin", "set"])
}

/// Ends the persistent token (permission pcmr), with which programs list passkeys without asking again.
package struct ForgetReaders: PlainCommand {
  package static let code: UInt8 = 0x68
  package init() {}
}

/// Replaces the serialized large-blob array, CTAP §6.10.3: {1: array, 2: digest?}.
package struct SetLargeBlobArray: ControlCommand {
  package static let code: UInt8 = 0x60
  /// Twice the capacity, so that an array that is too long gets its own error.
  package static let maximumRequestSize = 16_384
  package var array: [UInt8]
  /// The last 16 bytes of the array to replace; `nil` replaces any.
  package var digest: [UInt8]?

  package init(_ array: [UInt8], changedFrom digest: [UInt8]?) {
    (self.array, self.digest) = (array, digest)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    array = try decoded(members.requiredBytes(1))
    digest = try decoded(members.optionalBytes(2))
  }

  package var members: CBORMap { CBORMap(present: [1: .bytes(array), 2: digest.map(CBORValue.bytes)]) }
}

/// Seals the vault's key in a slot: {0: key of the protector (32), 1: members of the protector}, Recovery §1.
///
/// A passphrase replaces the one that the vault has.
package struct SealSlot: ControlCommand {
  package static let code: UInt8 = 0x6B
  package var key: SecretBytes
  /// The slot's type and parameters, without nonce and sealed key.
  package var protector: CBORMap

  package init(key: SecretBytes, protector: CBORMap) { (self.key, self.protector) = (key, protector) }

  /// Always throws: only ``init(decoding:)`` reads a key.
  package init(_ members: CBORMap) throws(ControlFailure) {
    throw ControlFailure(.missingParameter, "the key is missing")
  }

  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (secret, members) = try SecretMember.split(body)
    guard let secret else { throw ControlFailure(.missingParameter, "the key is missing") }
    guard secret.count == Self.keySize else {
      throw ControlFailure(.invalidLength, "the key has \(secret.count) bytes; it must have \(Self.keySize)")
    }
    (key, protector) = (secret, try decoded(members.requiredMap(1)))
  }

  package var members: CBORMap { [1: .map(protector)] }
  package var encoded: SecretBytes { SecretMember.encode(command: Self.code, secret: key, members: members) }

  private static let keySize = 32
}

/// Removes a slot of the vault, but not the last passphrase: {1: id of the slot}.
package struct RemoveSlot: ControlCommand, Equatable {
  package static let code: UInt8 = 0x6C
  /// The slot's nonce.
  package var id: [UInt8]

  package init(id: [UInt8]) { self.id = id }
  package init(_ members: CBORMap) throws(ControlFailure) { id = try decoded(members.requiredBytes(1)) }
  package var members: CBORMap { [1: .bytes(id)] }
}

/// Changes the counter in the TPM that finds an old copy of the store, Recovery §6: {0: auth value?, 1: change, 2: index?,
/// 3: value?}.
///
/// The change is 1 for on, which has the other members, 2 for off, or 3 for accept.
package struct ChangeCounter: ControlCommand {
  package static let code: UInt8 = 0x6F

  package enum Change: Sendable {
    /// The store uses a counter that the client has made; its auth value has 32 bytes.
    case on(index: UInt32, auth: SecretBytes, value: UInt64)
    /// The store uses none; the client removes it.
    case off
    /// The store is the newest one from now on, although it is an old copy.
    case accept

    fileprivate var number: UInt8 {
      switch self {
      case .on: 1
      case .off: 2
      case .accept: 3
      }
    }
  }

  package var change: Change

  package init(_ change: Change) { self.change = change }

  /// Reads a change without an auth value.
  package init(_ members: CBORMap) throws(ControlFailure) {
    switch try members.requiredInteger(1, as: UInt8.self) {
    case 1: throw ControlFailure(.missingParameter, "the auth value is missing")
    case 2: change = .off
    case 3: change = .accept
    case let number: throw ControlFailure(.invalidParameter, "no such change of the counter: \(number)")
    }
  }

  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (auth, members) = try SecretMember.split(body)
    guard let auth else {
      try self.init(members)
      return
    }
    guard auth.count == Self.authSize else {
      throw ControlFailure(
        .invalidLength, "the auth value has \(auth.count) bytes; it must have \(Self.authSize)")
    }
    guard try members.requiredInteger(1, as: UInt8.self) == 1 else {
      throw ControlFailure(.invalidParameter, "only a counter that is turned on has an auth value")
    }
    self.init(
      .on(
        index: try members.requiredInteger(2, as: UInt32.self), auth: auth,
        value: try members.requiredInteger(3, as: UInt64.self)))
  }

  package var members: CBORMap {
    guard case .on(let index, _, let value) = change else { return [1: .number(change.number)] }
    return [1: .number(change.number), 2: .number(index), 3: .number(value)]
  }

  package var encoded: SecretBytes {
    guard case .on(_, let auth, _) = change else {
      let message = [Self.code] + members.encodedMembers
      return SecretBytes(count: message.count) { $0.copyBytes(from: message) }
    }
    return SecretMember.encode(command: Self.code, secret: auth, members: members)
  }

  private static let authSize = 32

  /// {1: index?}: the counter that the store used before and does not use any more; the client removes it from the TPM.
  package struct Answer: ControlAnswer, Equatable {
    package var unused: UInt32?

    package init(unused: UInt32?) { self.unused = unused }
    package init(_ members: CBORMap) throws(ControlFailure) { unused = try members.integer(1, as: UInt32.self) }
    package var members: CBORMap { CBORMap(present: [1: unused.map { .number($0) }]) }
  }
}

/// Lets the key sign for the passkeys of a Trezor with the same phrase: {0: mainKey (64) ‖ keys of SLIP-0022 (128)}.
package struct KeepTrezorKeys: SecretCommand {
  package static let code: UInt8 = 0x92
  private static let mainKeySize = 64
  private static let size = 192

  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }

  /// - Parameter mainKey: shows that the phrase is that of the vault.
  package init(mainKey: SecretBytes, keys: SecretBytes) {
    secret = SecretBytes(mainKey, keys)
  }

  /// The two secrets.
  ///
  /// - Throws: `invalidLength` unless there are 192 bytes.
  package func parts() throws(ControlFailure) -> (mainKey: SecretBytes, keys: SecretBytes) {
    guard secret.count == Self.size else {
      throw ControlFailure(.invalidLength, "the keys have \(Self.size) bytes, not \(secret.count)")
    }
    return secret.parted(at: Self.mainKeySize)
  }
}

/// Removes these keys again.
package struct ForgetTrezorKeys: PlainCommand {
  package static let code: UInt8 = 0x93
  package init() {}
}
