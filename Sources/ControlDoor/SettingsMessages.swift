public import CBOR

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
    minimumPINLengthRPIDs = try told(members.requiredArray(3)).rpIDs()
    forcePINChange = try told(members.requiredBool(4))
    isPINSet = try told(members.requiredBool(5))
  }

  /// The members of the answer.
  public var members: CBORMap {
    [
      1: .bool(alwaysUV), 2: .number(minimumPINLength), 3: .array(minimumPINLengthRPIDs.map(CBORValue.text)),
      4: .bool(forcePINChange), 5: .bool(isPINSet),
    ]
  }
}

extension OwnerSettings {
  /// What is wrong where every ceremony asks for verification, and neither passphrase nor PIN gives it; and what to do.
  public static let nothingVerifies = "nothing can verify you; set a PIN with: liquid-auth pin set"
}

/// What is to be changed of it: {1: alwaysUv?, 2: minPINLength?, 3: [rp.id …]?, 4: forcePINChange?}; what is absent stays.
public struct SettingsChange: Hashable, Sendable {
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

  init(_ members: CBORMap) throws(ControlFailure) {
    alwaysUV = try told(members.optionalBool(1))
    minimumPINLength = try told(members.optionalUnsigned(2))
    minimumPINLengthRPIDs = try told(members.optionalArray(3))?.rpIDs()
    forcePINChange = try told(members.optionalBool(4)) ?? false
    guard self != SettingsChange() else { throw ControlFailure(.missingParameter, "there is nothing to change") }
  }

  var members: CBORMap {
    var members: CBORMap = [:]
    members[1] = alwaysUV.map(CBORValue.bool)
    members[2] = minimumPINLength.map(CBORValue.unsigned)
    members[3] = minimumPINLengthRPIDs.map { .array($0.map(CBORValue.text)) }
    if forcePINChange { members[4] = true }
    return members
  }
}

extension [CBORValue] {
  /// Reads a list of relying parties' ids.
  fileprivate func rpIDs() throws(ControlFailure) -> [String] {
    var rpIDs: [String] = []
    for element in self {
      guard let rpID = element.text else { throw ControlFailure(.unexpectedType, "a relying party's id is not a text") }
      rpIDs.append(rpID)
    }
    return rpIDs
  }
}
