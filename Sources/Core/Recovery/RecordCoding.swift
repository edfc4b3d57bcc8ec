import CBOR
import CryptoPrimitives
import DeterministicKeys

// The CBOR maps of Recovery §6: the content of rows and of a backup. A key that this version does not
// know is refused, never dropped: a newer version wrote it, and writing the map again would lose it.

extension AccountEntry {
  private enum Key {
    static let rpID: CBORValue = 1
    static let userID: CBORValue = 2
    static let name: CBORValue = 3
    static let displayName: CBORValue = 4
    static let id: CBORValue = 5
    static let algorithm: CBORValue = 6
    static let counter: CBORValue = 7
    static let policy: CBORValue = 8
    static let created: CBORValue = 9
    static let changed: CBORValue = 10
    static let origin: CBORValue = 11
    static let credBlob: CBORValue = 12
    static let privateKey: CBORValue = 13
    static let credRandoms: CBORValue = 14
    /// The members of a record, without the secrets.
    static let ofOthers: ClosedRange<UInt64> = 1...12
  }

  /// The secrets of an imported passkey, in locked memory.
  private typealias Secrets = (privateKey: SecretBytes?, credRandoms: SecretBytes?)

  /// The map of a record or a tombstone; that of an imported passkey has its private key, and the caller wipes it.
  var plaintext: [UInt8] {
    switch self {
    case .record(let source): Self.plaintext(of: source)
    case .tombstone(let counter, let changed):
      CBOREncoder.encode([Key.counter: .unsigned(UInt64(counter)), Key.changed: .unsigned(changed)])
    }
  }

  /// The private key and the CredRandoms, the only secrets that a row can hold, go from locked memory only into the result.
  private static func plaintext(of source: CredentialSource) -> [UInt8] {
    let map = map(of: source)
    let encoded = CBOREncoder.encode(.map(map))
    // Their members are the last ones.
    var secrets: [(head: [UInt8], bytes: SecretBytes)] = []
    for (key, secret) in [(Key.privateKey, source.importedKey), (Key.credRandoms, source.credRandoms)] {
      guard let secret else { continue }
      secrets.append((CBOREncoder.encode(key) + CBOREncoder.head(ofBytes: secret.count), secret))
    }
    guard !secrets.isEmpty else { return encoded }
    let head = CBOREncoder.head(ofMap: map.count + secrets.count)
    var plaintext: [UInt8] = []
    plaintext.reserveCapacity(head.count + encoded.count + secrets.reduce(0) { $0 + $1.head.count + $1.bytes.count })
    plaintext += head
    plaintext += encoded.dropFirst(CBOREncoder.head(ofMap: map.count).count)
    for secret in secrets {
      plaintext += secret.head
      secret.bytes.withUnsafeBytes { plaintext.append(contentsOf: $0) }
    }
    return plaintext
  }

  /// The members of a record without the secrets.
  private static func map(of source: CredentialSource) -> CBORMap {
    var map: CBORMap = [
      Key.rpID: .text(source.rpID), Key.userID: .bytes(source.userID), Key.id: .bytes(source.id),
      Key.algorithm: CBORValue(source.algorithm.rawValue), Key.counter: .unsigned(UInt64(source.counter)),
      Key.policy: .unsigned(UInt64(source.policy.byte)), Key.created: .unsigned(source.created),
      Key.changed: .unsigned(source.changed), Key.origin: .unsigned(UInt64(source.origin.rawValue)),
    ]
    map[Key.name] = source.name.map { .text($0) }
    map[Key.displayName] = source.displayName.map { .text($0) }
    map[Key.credBlob] = source.credBlob.map { .bytes($0) }
    return map
  }

  /// Reads the map of a record or a tombstone: a tombstone is a map without an rp.id.
  init(plaintext: [UInt8]) throws(RecoveryError) {
    do throws(CBORError) {
      let (members, secrets) = try Self.split(plaintext)
      let map = try CBORDecoder.decode(members).mapOfOurs()
      guard map[Key.rpID] == nil else {
        self = .record(try Self.source(map, secrets))
        return
      }
      guard secrets.privateKey == nil else { throw .invalid("a private key without a record") }
      self = try Self(tombstone: map)
    } catch {
      throw .malformed(error.description)
    }
  }

  /// The policy in the map of a record; the other members are passed over, and no secret is copied.
  static func policy(plaintext: [UInt8]) throws(RecoveryError) -> CredentialPolicy {
    do throws(CBORError) {
      var cursor = CBORCursor(plaintext.indices)
      guard case .map(let count) = try cursor.next(in: plaintext) else { throw .unexpectedType("not a map") }
      for _ in 0..<count {
        // Each member is a number or a string, so one item.
        let isPolicy = try cursor.next(in: plaintext) == .unsigned(8)
        guard case .unsigned(let number) = try cursor.next(in: plaintext), isPolicy else { continue }
        guard let policy = UInt8(exactly: number).flatMap(CredentialPolicy.init(byte:)) else {
          throw .invalid("a policy that does not exist")
        }
        return policy
      }
      throw .missing("a policy")
    } catch {
      throw .malformed(error.description)
    }
  }

  /// Takes the private key, and the CredRandoms that can follow it, into locked memory; the other members stay a map.
  ///
  /// A plaintext in which these are not the last members is returned whole.
  private static func split(_ plaintext: [UInt8]) throws(CBORError) -> (members: [UInt8], secrets: Secrets) {
    let none: Secrets = (nil, nil)
    let whole = (members: plaintext, secrets: none)
    var cursor = CBORCursor(plaintext.indices)
    guard case .map(let count) = try cursor.next(in: plaintext) else { return whole }
    let start = cursor.offset
    for index in 0..<count {
      let place = cursor.offset
      let isKey = try cursor.next(in: plaintext) == .unsigned(13)
      switch try cursor.next(in: plaintext) {
      case .bytes(let key) where isKey:
        let rest = count - index - 1
        var credRandoms: Range<Int>?
        if rest == 1, try cursor.next(in: plaintext) == .unsigned(14),
          case .bytes(let range) = try cursor.next(in: plaintext)
        {
          credRandoms = range
        }
        guard cursor.isAtEnd, rest == (credRandoms == nil ? 0 : 1) else { return whole }
        let secrets: Secrets = (secret(key, of: plaintext), credRandoms.map { secret($0, of: plaintext) })
        return (CBOREncoder.head(ofMap: index) + plaintext[start..<place], secrets)
      case .array, .map: return whole
      default: break
      }
    }
    return whole
  }

  private static func secret(_ range: Range<Int>, of plaintext: [UInt8]) -> SecretBytes {
    plaintext.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  private init(tombstone map: CBORMap) throws(CBORError) {
    try map.refuseOtherKeys { $0 == Key.counter || $0 == Key.changed }
    self = .tombstone(
      counter: try map.requiredInteger(Key.counter), changed: try map.requiredInteger(Key.changed))
  }

  private static func source(_ map: CBORMap, _ secrets: Secrets) throws(CBORError) -> CredentialSource {
    try map.refuseOtherKeys { $0.unsigned.map(Key.ofOthers.contains) ?? false }
    guard let algorithm = COSEAlgorithm(rawValue: try map.requiredInt(Key.algorithm)),
      let policy = CredentialPolicy(byte: try map.requiredInteger(Key.policy)),
      let origin = CredentialSource.Origin(rawValue: try map.requiredInteger(Key.origin))
    else { throw .invalid("an algorithm, policy or source that does not exist") }
    let source = CredentialSource(
      rpID: try map.requiredText(Key.rpID), userID: try map.requiredBytes(Key.userID),
      name: try map.optionalText(Key.name), displayName: try map.optionalText(Key.displayName),
      id: try map.requiredBytes(Key.id), algorithm: algorithm, counter: try map.requiredInteger(Key.counter),
      policy: policy, created: try map.requiredInteger(Key.created), changed: try map.requiredInteger(Key.changed),
      origin: origin, credBlob: try map.optionalBytes(Key.credBlob),
      importedKey: secrets.privateKey, credRandoms: secrets.credRandoms)
    guard let source else {
      throw .invalid("a user.id or CredRandoms of a wrong length, or secrets of a passkey that was not imported")
    }
    return source
  }
}

extension StoreState {
  private enum Key {
    static let storeID: CBORValue = 1
    static let epoch: CBORValue = 2
    static let floor: CBORValue = 3
    /// An addition to the contract: `CredentialIDForm`, omitted for the default, sealed.
    static let credentialIDForm: CBORValue = 4
    /// An addition to the contract: true if the store has a ``RowSet``, otherwise omitted.
    static let rowSet: CBORValue = 20
    /// An addition to the contract: true if the store has a history, otherwise omitted.
    static let history: CBORValue = 21
    static let counter: CBORValue = 17
    static let backup: CBORValue = 18
    static let slip22: CBORValue = 23
    static let all: [CBORValue] = [
      storeID, epoch, floor, credentialIDForm, rowSet, history, counter, backup, Pairings.key, slip22,
    ]

    static func isKnown(_ key: CBORValue) -> Bool {
      all.contains(key)
        || key.unsigned.map { AuthenticatorSettings.keys.contains($0) || SitePolicies.keys.contains($0) } ?? false
    }
  }

  /// The length of a storeID, in bytes.
  static let storeIDLength = 16

  /// The map of the state row, which the caller wipes.
  ///
  /// - Parameter version: that of the store's tables: 2 adds a ``RowSet``, 3 a history.
  func plaintext(version: UInt32) -> [UInt8] {
    var map: CBORMap = [
      Key.storeID: .bytes(storeID), Key.epoch: .unsigned(UInt64(epoch)), Key.floor: .unsigned(UInt64(floor)),
    ]
    if credentialIDForm != .sealed { map[Key.credentialIDForm] = .unsigned(UInt64(credentialIDForm.rawValue)) }
    if version >= 2 { map[Key.rowSet] = true }
    if version >= 3 { map[Key.history] = true }
    settings.add(to: &map)
    policies.add(to: &map)
    pairings.add(to: &map)
    map[Key.slip22] = slip22.map { .zeros(for: $0.bytes) }
    map[Key.counter] = counter.map { .map($0.members) }
    map[Key.backup] = backup.members.map { .map($0) }
    var plaintext = CBOREncoder.encode(.map(map))
    StateSecrets(of: self).fill(&plaintext)
    return plaintext
  }

  /// Reads the map of the state row, and the version of the tables for which it was written.
  static func read(_ plaintext: [UInt8]) throws(RecoveryError) -> (state: StoreState, version: UInt32) {
    do throws(CBORError) {
      var members = plaintext
      let secrets = try StateSecrets(taking: &members)
      let map = try CBORDecoder.decode(members).mapOfOurs()
      try map.refuseOtherKeys(Key.isKnown)
      let form = CredentialIDForm(rawValue: try map.optionalInteger(Key.credentialIDForm) ?? 0)
      let storeID = try map.requiredBytes(Key.storeID)
      guard let form, storeID.count == Self.storeIDLength else { throw .invalid("a storeID or a form of ids") }
      var state = StoreState(
        storeID: storeID, epoch: try map.requiredInteger(Key.epoch), floor: try map.requiredInteger(Key.floor),
        credentialIDForm: form, settings: try AuthenticatorSettings(map, secrets), policies: try SitePolicies(map),
        counter: try map[Key.counter].map { (value) throws(CBORError) in
          try StoreCounter(value.mapOfOurs(), auth: secrets.counterAuth)
        })
      state.pairings = try Pairings(map, secrets)
      if map[Key.slip22] != nil {
        guard let keys = secrets.slip22.flatMap(SLIP22Keys.init(_:)) else { throw .invalid("keys of another length") }
        state.slip22 = keys
      }
      if let times = map[Key.backup] { state.backup = try BackupTimes(times.mapOfOurs()) }
      let hasRowSet = try map.optionalBool(Key.rowSet) ?? false
      let hasHistory = try map.optionalBool(Key.history) ?? false
      guard hasRowSet || !hasHistory else { throw .invalid("a history without a hash over the rows") }
      return (state, hasHistory ? 3 : hasRowSet ? 2 : 1)
    } catch {
      throw .malformed(error.description)
    }
  }
}

extension CBORValue {
  func mapOfOurs() throws(CBORError) -> CBORMap {
    guard let map else { throw .unexpectedType("not a map") }
    return map
  }
}

extension CBORMap {
  func refuseOtherKeys(_ isKnown: (CBORValue) -> Bool) throws(CBORError) {
    guard pairs.allSatisfy({ isKnown($0.key) }) else { throw .invalid("a member of a newer version") }
  }

  /// An unsigned integer that fits its field.
  func optionalInteger<Field: FixedWidthInteger>(_ key: CBORValue) throws(CBORError) -> Field? {
    guard let number = try optionalUnsigned(key) else { return nil }
    guard let field = Field(exactly: number) else { throw .invalid("a number that is too large") }
    return field
  }

  /// An unsigned integer that must be there and fits its field.
  func requiredInteger<Field: FixedWidthInteger>(_ key: CBORValue) throws(CBORError) -> Field {
    guard let field: Field = try optionalInteger(key) else { throw .missing("a number") }
    return field
  }
}
