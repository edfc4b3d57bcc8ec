public import CBOR
public import CryptoPrimitives

// What the owner sets, after the vault's passphrase on the connection.

/// Sets the PIN, the first or another, 1 to 63 bytes of UTF-8.
public struct SetPIN: SecretCommand {
  /// The command byte.
  public static let code: UInt8 = 0x5C
  /// The PIN.
  public var secret: SecretBytes
  /// Asks for this PIN.
  public init(_ secret: SecretBytes) { self.secret = secret }
}

/// Goes back to no PIN.
public struct RemovePIN: PlainCommand {
  /// The command byte.
  public static let code: UInt8 = 0x5D
  /// The only request there is.
  public init() {}
}

/// What is set beside the PIN.
public struct GetSettings: PlainCommand {
  /// All of it.
  public typealias Answer = OwnerSettings
  /// The command byte.
  public static let code: UInt8 = 0x5E
  /// The only request there is.
  public init() {}
}

/// Changes some settings: {1: alwaysUv?, 2: minPINLength?, 3: [rp.id …]?, 4: forcePINChange?}; what is absent stays.
public struct ChangeSettings: ControlCommand, Hashable {
  /// The settings as they are then.
  public typealias Answer = OwnerSettings
  /// The command byte.
  public static let code: UInt8 = 0x5F

  /// Whether every ceremony asks for verification.
  public var alwaysUV: Bool?
  /// The shortest PIN, in code points; it can only grow.
  public var minimumPINLength: UInt64?
  /// The relying parties that are told it, all of them.
  public var minimumPINLengthRPIDs: [String]?
  /// Whether the PIN must be changed now.
  public var forcePINChange: Bool

  /// Joins the members.
  public init(
    alwaysUV: Bool? = nil, minimumPINLength: UInt64? = nil, minimumPINLengthRPIDs: [String]? = nil,
    forcePINChange: Bool = false
  ) {
    self.alwaysUV = alwaysUV
    self.minimumPINLength = minimumPINLength
    self.minimumPINLengthRPIDs = minimumPINLengthRPIDs
    self.forcePINChange = forcePINChange
  }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) {
    alwaysUV = try told(members.optionalBool(1))
    minimumPINLength = try told(members.optionalUnsigned(2))
    minimumPINLengthRPIDs = try members[3] == nil ? nil : members.texts(3, OwnerSettings.relyingParty)
    forcePINChange = try told(members.optionalBool(4)) ?? false
    guard self != ChangeSettings() else { throw ControlFailure(.missingParameter, "there is nothing to change") }
  }

  /// The members of the request.
  public var members: CBORMap {
    CBORMap(present: [
      1: alwaysUV.map(CBORValue.bool), 2: minimumPINLength.map(CBORValue.unsigned),
      3: minimumPINLengthRPIDs.map(CBORValue.texts), 4: forcePINChange ? true : nil,
    ])
  }
}

/// What the owner has set beside the PIN: {1: alwaysUv, 2: minPINLength, 3: [rp.id …], 4: forcePINChange, 5: clientPin}.
public struct OwnerSettings: ControlAnswer, Equatable {
  /// Whether every ceremony asks for verification.
  public var alwaysUV: Bool
  /// The shortest PIN that may be set, in code points.
  public var minimumPINLength: UInt8
  /// The relying parties that are told `minimumPINLength`.
  public var minimumPINLengthRPIDs: [String]
  /// Whether the PIN must be changed before it is good for anything else.
  public var forcePINChange: Bool
  /// Whether a PIN is set.
  public var isPINSet: Bool

  /// Joins the members.
  public init(
    alwaysUV: Bool, minimumPINLength: UInt8, minimumPINLengthRPIDs: [String], forcePINChange: Bool, isPINSet: Bool
  ) {
    self.alwaysUV = alwaysUV
    self.minimumPINLength = minimumPINLength
    self.minimumPINLengthRPIDs = minimumPINLengthRPIDs
    self.forcePINChange = forcePINChange
    self.isPINSet = isPINSet
  }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) {
    alwaysUV = try told(members.requiredBool(1))
    minimumPINLength = try members.requiredInteger(2, as: UInt8.self)
    minimumPINLengthRPIDs = try members.texts(3, Self.relyingParty)
    forcePINChange = try told(members.requiredBool(4))
    isPINSet = try told(members.requiredBool(5))
  }

  fileprivate static let relyingParty = "a relying party's id"

  /// The members of the answer.
  public var members: CBORMap {
    [
      1: .bool(alwaysUV), 2: .number(minimumPINLength), 3: .texts(minimumPINLengthRPIDs), 4: .bool(forcePINChange),
      5: .bool(isPINSet),
    ]
  }

  /// What is wrong where every ceremony asks for verification, and neither passphrase nor PIN gives it; and what to do.
  public static let nothingVerifies = "nothing can verify you; set a PIN with: liquid-auth pin set"
}

/// Ends the token of permission pcmr, by which programs list passkeys without asking again.
public struct ForgetReaders: PlainCommand {
  /// The command byte.
  public static let code: UInt8 = 0x68
  /// The only request there is.
  public init() {}
}

/// Replaces the serialized large-blob array, CTAP §6.10.3: {1: array, 2: digest?}.
public struct SetLargeBlobArray: ControlCommand {
  /// The command byte.
  public static let code: UInt8 = 0x60
  /// The new array.
  public var array: [UInt8]
  /// The last 16 bytes of the array that is to be replaced; `nil` replaces any.
  public var digest: [UInt8]?

  /// Joins the members.
  public init(_ array: [UInt8], changedFrom digest: [UInt8]?) {
    self.array = array
    self.digest = digest
  }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) {
    array = try told(members.requiredBytes(1))
    digest = try told(members.optionalBytes(2))
  }

  /// The members of the request.
  public var members: CBORMap { CBORMap(present: [1: .bytes(array), 2: digest.map(CBORValue.bytes)]) }
}
