import CBOR
import CryptoPrimitives

/// The PIN as the store keeps it: local, never derived, never in a backup, and not the key of any encryption (Recovery
/// §6).
public struct StoredPIN: Sendable, Equatable {
  /// The number of tries of a new PIN.
  public static let retries: UInt8 = 8
  /// The longest PIN's size in bytes.
  public static let longestSize = 63

  /// LEFT(SHA-256(PIN), 16).
  package let hash: [UInt8]
  /// The PIN's length in code points.
  package let length: UInt8
  /// How many tries are left; 0 blocks the PIN until the owner sets another, or a reset.
  public var retries: UInt8

  /// Makes a stored PIN of its parts.
  package init(hash: [UInt8], length: UInt8, retries: UInt8 = Self.retries) {
    self.hash = hash
    self.length = length
    self.retries = retries
  }
}

/// The owner's settings: the rest of the store's state row (Recovery §6).
public struct AuthenticatorSettings: Sendable, Equatable {
  /// The shortest PIN that any authenticator may have, in code points.
  public static let shortestPIN: UInt8 = 4
  /// The longest PIN, in code points: as many as 63 bytes can hold.
  public static let longestPIN: UInt8 = 63

  /// The PIN; `nil` while none is set.
  public package(set) var pin: StoredPIN?
  /// Whether every ceremony requires verification.
  public var alwaysUV = false
  /// The shortest PIN that may be set, in code points.
  public package(set) var minimumPINLength = shortestPIN
  /// Whether the PIN must be changed before it can be used.
  public package(set) var forcePINChange = false
  /// The relying parties that can read `minimumPINLength` (extension minPinLength).
  public package(set) var minimumPINLengthRPIDs: [String] = []
  /// The token of permission pcmr, 32 bytes; lasts until another PIN is set or the owner ends it.
  package var persistentToken: [UInt8]?
  /// Whether a fingerprint verifies too: the dialog waits for a finger before it asks for the passphrase.
  public var usesFingerprint = false
  /// Whether there is a persistent token, with which a program can list the passkeys without a prompt.
  public var hasPersistentToken: Bool { persistentToken != nil }

  /// The settings of a new device.
  public init() {}

  /// The settings that getInfo reports.
  public var reported: ReportedSettings {
    ReportedSettings(
      isPINSet: pin != nil, pinRetries: pin?.retries ?? StoredPIN.retries, alwaysUV: alwaysUV,
      minimumPINLength: minimumPINLength, forcePINChange: forcePINChange, usesFingerprint: usesFingerprint)
  }
}

/// The settings for use while the vault is locked: an unencrypted copy in the store, next to the sealed settings, which
/// replace it once the vault is open (Recovery §1).
public struct ReportedSettings: Sendable, Equatable {
  /// Whether a PIN is set.
  public var isPINSet = false
  /// How many tries are left.
  public var pinRetries = StoredPIN.retries
  /// Whether every ceremony requires verification.
  public var alwaysUV = false
  /// The shortest PIN that may be set, in code points.
  public var minimumPINLength = AuthenticatorSettings.shortestPIN
  /// Whether the PIN must be changed.
  public var forcePINChange = false
  /// Whether a fingerprint verifies too.
  public var usesFingerprint = false

  /// The settings of a new device.
  public init() {}

  init(
    isPINSet: Bool, pinRetries: UInt8, alwaysUV: Bool, minimumPINLength: UInt8, forcePINChange: Bool,
    usesFingerprint: Bool
  ) {
    self.isPINSet = isPINSet
    self.pinRetries = pinRetries
    self.alwaysUV = alwaysUV
    self.minimumPINLength = minimumPINLength
    self.forcePINChange = forcePINChange
    self.usesFingerprint = usesFingerprint
  }
}

// MARK: - Stored

extension AuthenticatorSettings {
  /// The members 5 to 12 and 15 of the state row (Recovery §6); each is omitted at its default.
  private enum Key {
    static let pinHash: CBORValue = 5
    static let pinLength: CBORValue = 6
    static let pinRetries: CBORValue = 7
    static let alwaysUV: CBORValue = 8
    static let minimumPINLength: CBORValue = 9
    static let forcePINChange: CBORValue = 10
    static let minimumPINLengthRPIDs: CBORValue = 11
    static let persistentToken: CBORValue = 12
    static let usesFingerprint: CBORValue = 15
  }

  /// The numbers of these members in the state row.
  static let keys = Set<UInt64>(5...12).union([15])

  /// Adds the members to the state row.
  func add(to map: inout CBORMap) {
    if let pin {
      map[Key.pinHash] = .bytes(pin.hash)
      map[Key.pinLength] = .unsigned(UInt64(pin.length))
      map[Key.pinRetries] = .unsigned(UInt64(pin.retries))
    }
    if alwaysUV { map[Key.alwaysUV] = true }
    if minimumPINLength != Self.shortestPIN { map[Key.minimumPINLength] = .unsigned(UInt64(minimumPINLength)) }
    if forcePINChange { map[Key.forcePINChange] = true }
    if !minimumPINLengthRPIDs.isEmpty {
      map[Key.minimumPINLengthRPIDs] = .array(minimumPINLengthRPIDs.map { .text($0) })
    }
    map[Key.persistentToken] = persistentToken.map { .bytes($0) }
    if usesFingerprint { map[Key.usesFingerprint] = true }
  }

  /// Reads the members of the state row.
  init(_ map: CBORMap) throws(CBORError) {
    if let hash = try map.optionalBytes(Key.pinHash) {
      pin = StoredPIN(
        hash: hash, length: try map.requiredInteger(Key.pinLength), retries: try map.requiredInteger(Key.pinRetries))
      guard hash.count == 16 else { throw .invalid("a PIN's hash of another length") }
    }
    alwaysUV = try map.optionalBool(Key.alwaysUV) ?? false
    minimumPINLength = try map.optionalInteger(Key.minimumPINLength) ?? Self.shortestPIN
    forcePINChange = try map.optionalBool(Key.forcePINChange) ?? false
    for value in try map.optionalArray(Key.minimumPINLengthRPIDs) ?? [] {
      guard let rpID = value.text else { throw .unexpectedType("a relying party that is not a text") }
      minimumPINLengthRPIDs.append(rpID)
    }
    persistentToken = try map.optionalBytes(Key.persistentToken)
    usesFingerprint = try map.optionalBool(Key.usesFingerprint) ?? false
  }
}

extension ReportedSettings {
  /// The clear copy: `{1: clientPin, 2: retries, 3: alwaysUv, 4: minPINLength, 5: forcePINChange, 6: fingerprint?}`.
  public var encoded: [UInt8] {
    var map: CBORMap = [
      1: .bool(isPINSet), 2: .unsigned(UInt64(pinRetries)), 3: .bool(alwaysUV),
      4: .unsigned(UInt64(minimumPINLength)), 5: .bool(forcePINChange),
    ]
    if usesFingerprint { map[6] = true }
    return CBOREncoder.encode(.map(map))
  }

  /// Reads the clear copy; `nil` for anything else.
  public init?(decoding bytes: [UInt8]) {
    guard let map = try? CBORDecoder.decode(bytes).map,
      let isPINSet = map[1]?.bool, let retries = map[2]?.unsigned.flatMap(UInt8.init(exactly:)),
      let alwaysUV = map[3]?.bool, let minimum = map[4]?.unsigned.flatMap(UInt8.init(exactly:)),
      let forcePINChange = map[5]?.bool
    else { return nil }
    self.init(
      isPINSet: isPINSet, pinRetries: retries, alwaysUV: alwaysUV, minimumPINLength: minimum,
      forcePINChange: forcePINChange, usesFingerprint: map[6]?.bool ?? false)
  }
}
