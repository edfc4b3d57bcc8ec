import CBOR

/// Which credential is meant: {1: rp.id, 2: credential id}.
///
/// Two relying parties can share a hash id, Recovery §12.
public struct CredentialReference: Hashable, Sendable {
  /// The relying party's id.
  public var rpID: String
  /// The credential id, whole.
  public var credentialID: [UInt8]

  /// Joins the members.
  public init(rpID: String, credentialID: [UInt8]) {
    self.rpID = rpID
    self.credentialID = credentialID
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try told(members.requiredText(1))
    credentialID = try told(members.requiredBytes(2))
  }

  var members: CBORMap { [1: .text(rpID), 2: .bytes(credentialID)] }
}

/// New names of a credential: {3: name?, 4: displayName?}; an absent one stays as it is, an empty one is removed.
public struct CredentialNames: Hashable, Sendable {
  /// The longest name, bytes.
  public static let maximumSize = 255

  /// The account's `name`.
  public var name: String?
  /// The account's `displayName`.
  public var displayName: String?

  /// Joins the members.
  public init(name: String? = nil, displayName: String? = nil) {
    self.name = name
    self.displayName = displayName
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    name = try told(members.optionalText(3))
    displayName = try told(members.optionalText(4))
    guard name != nil || displayName != nil else { throw ControlFailure(.missingParameter, "no new name is given") }
    guard max(name?.utf8.count ?? 0, displayName?.utf8.count ?? 0) <= Self.maximumSize else {
      throw ControlFailure(.invalidLength, "a name is longer than 255 bytes")
    }
  }

  func members(of reference: CredentialReference) -> CBORMap {
    var members = reference.members
    members[3] = name.map(CBORValue.text)
    members[4] = displayName.map(CBORValue.text)
    return members
  }
}

/// What is known of a credential with a hash id whose record is lost, Recovery §9:
/// {1: rp.id, 2: user.id, 3: counter, 4: COSE algorithm, 5: credProtect}.
public struct CredentialRecovery: Hashable, Sendable {
  /// The relying party's id.
  public var rpID: String
  /// The account's user.id, 1 to 64 bytes.
  public var userHandle: [UInt8]
  /// Which of the account's registrations it was, Recovery §7.
  public var counter: UInt32
  /// The COSE algorithm: −7 ES256, −8 EdDSA.
  public var algorithm: Int64
  /// The credProtect level, 1 to 3.
  public var credProtect: UInt8

  /// Joins the members.
  public init(
    rpID: String, userHandle: [UInt8], counter: UInt32 = 0, algorithm: Int64 = -7, credProtect: UInt8 = 1
  ) {
    self.rpID = rpID
    self.userHandle = userHandle
    self.counter = counter
    self.algorithm = algorithm
    self.credProtect = credProtect
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try told(members.requiredText(1))
    userHandle = try told(members.requiredBytes(2))
    counter = try members.requiredInteger(3, as: UInt32.self)
    algorithm = try told(members.requiredInt(4))
    credProtect = try members.requiredInteger(5, as: UInt8.self)
    guard !rpID.isEmpty else { throw ControlFailure(.invalidParameter, "the relying party's id is empty") }
    guard 1...64 ~= userHandle.count else {
      throw ControlFailure(.invalidLength, "the user handle has \(userHandle.count) bytes; it must have 1 to 64")
    }
    guard [-7, -8].contains(algorithm), 1...3 ~= credProtect else {
      throw ControlFailure(.invalidParameter, "the algorithm or the credProtect level is not one of ours")
    }
  }

  var members: CBORMap {
    [
      1: .text(rpID), 2: .bytes(userHandle), 3: .number(counter), 4: CBORValue(algorithm), 5: .number(credProtect),
    ]
  }
}
