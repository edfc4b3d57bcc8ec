import CBOR
package import CryptoPrimitives

/// The PIN as the store keeps it: local, never derived, never in a backup, and not the key of any encryption (Recovery
/// §6).
public struct StoredPIN: Sendable, Equatable {
  /// The number of tries of a new PIN.
  public static let retries: UInt8 = 8
  /// The longest PIN's size in bytes.
  public static let longestSize = 63

  /// LEFT(SHA-256(PIN), 16).
  package let hash: SecretBytes
  /// The PIN's length in code points.
  package let length: UInt8
  /// How many tries are left; 0 blocks the PIN until the owner sets another, or a reset.
  public var retries: UInt8

  /// Makes a stored PIN of its parts.
  package init(hash: SecretBytes, length: UInt8, retries: UInt8 = Self.retries) {
    self.hash = hash
    self.length = length
    self.retries = retries
  }
}

/// What can verify the user before the passphrase is asked for; the numbers are those of ``HistoryEntry/Verification``.
public enum VerificationMeans: UInt8, Sendable, CaseIterable {
  case fingerprint = 4
  /// The user's account on this machine: whatever its PAM stack asks for.
  case pam = 5

  /// The word for it in commands and reports.
  public var name: String {
    switch self {
    case .fingerprint: "fingerprint"
    case .pam: "pam"
    }
  }

  /// What an entry of the history says after it has verified.
  public var verification: HistoryEntry.Verification {
    switch self {
    case .fingerprint: .fingerprint
    case .pam: .pam
    }
  }

  /// - Parameter name: the word in commands and reports.
  public init?(name: String) {
    guard let means = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = means
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
  package var persistentToken: SecretBytes?
  /// What verifies before the passphrase is asked for, in this order; none twice.
  public var means: [VerificationMeans] = []
  /// Whether there is a persistent token, with which a program can list the passkeys without a prompt.
  public var hasPersistentToken: Bool { persistentToken != nil }

  /// The settings of a new device.
  public init() {}

  /// The settings that getInfo reports.
  public var reported: ReportedSettings {
    ReportedSettings(
      isPINSet: pin != nil, pinRetries: pin?.retries ?? StoredPIN.retries, alwaysUV: alwaysUV,
      minimumPINLength: minimumPINLength, forcePINChange: forcePINChange, means: means)
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
  /// What verifies before the passphrase is asked for, in this order; none twice.
  public var means: [VerificationMeans] = []

  /// The settings of a new device.
  public init() {}

  init(
    isPINSet: Bool, pinRetries: UInt8, alwaysUV: Bool, minimumPINLength: UInt8, forcePINChange: Bool,
    means: [VerificationMeans]
  ) {
    self.isPINSet = isPINSet
    self.pinRetries = pinRetries
    self.alwaysUV = alwaysUV
    self.minimumPINLength = minimumPINLength
    self.forcePINChange = forcePINChange
    self.means = means
  }
}

// MARK: - Stored

extension AuthenticatorSettings {
  /// The members 5 to 12, 15 and 16 of the state row (Recovery §6); each is omitted at its default.
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
    static let means: CBORValue = 16
  }

  /// The numbers of these members in the state row.
  static let keys = Set<UInt64>(5...12).union([15, 16])

  /// Adds the members to the state row, with zeros for the secrets (``StateSecrets``).
  func add(to map: inout CBORMap) {
    if let pin {
      map[Key.pinHash] = .zeros(for: pin.hash)
      map[Key.pinLength] = .unsigned(UInt64(pin.length))
      map[Key.pinRetries] = .unsigned(UInt64(pin.retries))
    }
    if alwaysUV { map[Key.alwaysUV] = true }
    if minimumPINLength != Self.shortestPIN { map[Key.minimumPINLength] = .unsigned(UInt64(minimumPINLength)) }
    if forcePINChange { map[Key.forcePINChange] = true }
    if !minimumPINLengthRPIDs.isEmpty {
      map[Key.minimumPINLengthRPIDs] = .array(minimumPINLengthRPIDs.map { .text($0) })
    }
    map[Key.persistentToken] = persistentToken.map { .zeros(for: $0) }
    means.add(to: &map, Key.usesFingerprint, Key.means)
  }

  /// Reads the members of the state row; the map has zeros in place of the secrets.
  init(_ map: CBORMap, _ secrets: StateSecrets) throws(CBORError) {
    if try map.optionalBytes(Key.pinHash) != nil, let hash = secrets.pinHash {
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
    if try map.optionalBytes(Key.persistentToken) != nil { persistentToken = secrets.persistentToken }
    means = try [VerificationMeans](map, Key.usesFingerprint, Key.means)
  }
}

extension [VerificationMeans] {
  /// Adds `fingerprint: true` if a fingerprint is among them, and `order: [number …]` unless the first member says it all.
  fileprivate func add(to map: inout CBORMap, _ fingerprint: CBORValue, _ order: CBORValue) {
    if contains(.fingerprint) { map[fingerprint] = true }
    if !isEmpty, self != [.fingerprint] { map[order] = .array(self.map { .unsigned(UInt64($0.rawValue)) }) }
  }

  /// Reads what ``add(to:_:_:)`` has written, and nothing else.
  fileprivate init(_ map: CBORMap, _ fingerprint: CBORValue, _ order: CBORValue) throws(CBORError) {
    let usesFingerprint = try map.optionalBool(fingerprint) ?? false
    self = usesFingerprint ? [.fingerprint] : []
    guard let numbers = try map.optionalArray(order) else { return }
    let means = numbers.compactMap { $0.unsigned.flatMap(UInt8.init(exactly:)).flatMap(VerificationMeans.init) }
    guard means.count == numbers.count, Set(means).count == means.count, means != [], means != [.fingerprint],
      means.contains(.fingerprint) == usesFingerprint
    else { throw .invalid("an order of means of verification that is not valid") }
    self = means
  }
}

extension ReportedSettings {
  /// The clear copy: `{1: clientPin, 2: retries, 3: alwaysUv, 4: minPINLength, 5: forcePINChange, 6: fingerprint?,
  /// 7: [means …]?}`.
  public var encoded: [UInt8] {
    var map: CBORMap = [
      1: .bool(isPINSet), 2: .unsigned(UInt64(pinRetries)), 3: .bool(alwaysUV),
      4: .unsigned(UInt64(minimumPINLength)), 5: .bool(forcePINChange),
    ]
    means.add(to: &map, 6, 7)
    return CBOREncoder.encode(.map(map))
  }

  /// Reads the clear copy; `nil` for anything else.
  public init?(decoding bytes: [UInt8]) {
    guard let map = try? CBORDecoder.decode(bytes).map,
      let isPINSet = map[1]?.bool, let retries = map[2]?.unsigned.flatMap(UInt8.init(exactly:)),
      let alwaysUV = map[3]?.bool, let minimum = map[4]?.unsigned.flatMap(UInt8.init(exactly:)),
      let forcePINChange = map[5]?.bool, let means = try? [VerificationMeans](map, 6, 7)
    else { return nil }
    self.init(
      isPINSet: isPINSet, pinRetries: retries, alwaysUV: alwaysUV, minimumPINLength: minimum,
      forcePINChange: forcePINChange, means: means)
  }
}
