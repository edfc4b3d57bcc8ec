/// The kind of a credential: Recovery §3.
///
/// The raw value is part of derivations and sealed ids.
public enum CredentialKind: UInt8, CaseIterable, Sendable {
  /// rk = true: one for each account, found without an id, stored as a record.
  case discoverable = 1
  /// rk = false: its id is its only copy.
  case nonDiscoverable = 2
  /// Registered over U2F: its key handle is its only copy, and it has no user.
  case u2f = 3
}

/// Identifies a credential of a relying party: with the rp.id, it determines the private key and the id.
///
/// The fields of a sealed id (Recovery §4). Only functions that keep the fields consistent make values, so every value
/// can be sealed and opened unchanged.
public struct CredentialParameters: Hashable, Sendable {
  /// Discoverable, non-discoverable or U2F.
  public let kind: CredentialKind
  /// The algorithm of the key.
  public let algorithm: COSEAlgorithm
  /// The policy, agreed at registration; part of sealed ids. (Kind 3 keeps byte 01.)
  public internal(set) var policy: CredentialPolicy
  /// Distinguishes the credentials of one user.
  public let instance: Instance
  /// 1–64 bytes for kind 1, 0–64 for kind 2, none for kind 3.
  public let userID: [UInt8]

  /// A counter for the one discoverable credential of an account, random bytes for the other kinds: Recovery §3.
  public enum Instance: Hashable, Sendable {
    /// Kind 1: epoch · 65 536 + n.
    case counter(UInt32)
    /// Kinds 2 and 3: 16 random bytes, and the epoch in which the id was made.
    case salt([UInt8], epoch: UInt16)
  }

  /// The longest user.id: WebAuthn §5.4.3.
  public static let maximumUserIDLength = 64
  /// The length of a salt.
  public static let saltLength = 16

  private init(
    kind: CredentialKind, algorithm: COSEAlgorithm, policy: CredentialPolicy, instance: Instance, userID: [UInt8]
  ) {
    self.kind = kind
    self.algorithm = algorithm
    self.policy = policy
    self.instance = instance
    self.userID = userID
  }

  /// Kind 1; `nil` unless user.id has 1–64 bytes.
  public static func discoverable(
    userID: [UInt8], counter: UInt32, algorithm: COSEAlgorithm, policy: CredentialPolicy = CredentialPolicy()
  ) -> Self? {
    guard (1...maximumUserIDLength).contains(userID.count) else { return nil }
    return Self(
      kind: .discoverable, algorithm: algorithm, policy: policy, instance: .counter(counter), userID: userID)
  }

  /// Kind 2; `nil` unless user.id has at most 64 bytes and the salt 16.
  public static func nonDiscoverable(
    userID: [UInt8], salt: [UInt8], epoch: UInt16, algorithm: COSEAlgorithm,
    policy: CredentialPolicy = CredentialPolicy()
  ) -> Self? {
    guard userID.count <= maximumUserIDLength, salt.count == saltLength else { return nil }
    return Self(
      kind: .nonDiscoverable, algorithm: algorithm, policy: policy, instance: .salt(salt, epoch: epoch), userID: userID)
  }

  /// Kind 3, always ES256 and without a policy; `nil` unless the salt has 16 bytes.
  public static func u2f(salt: [UInt8], epoch: UInt16) -> Self? {
    guard salt.count == saltLength else { return nil }
    return Self(
      kind: .u2f, algorithm: .es256, policy: CredentialPolicy(), instance: .salt(salt, epoch: epoch), userID: [])
  }

  /// The epoch in which the credential was made: the upper half of a counter.
  public var epoch: UInt16 {
    switch instance {
    case .counter(let counter): UInt16(counter >> 16)
    case .salt(_, let epoch): epoch
    }
  }

  /// The counter of kind 1; `nil` for the others.
  public var counter: UInt32? {
    if case .counter(let counter) = instance { counter } else { nil }
  }

  /// The 16 bytes of the instance: 12 zero bytes ‖ BE32(counter), or the salt.
  var instanceBytes: [UInt8] {
    switch instance {
    case .counter(let counter): [UInt8](repeating: 0, count: 12) + counter.bigEndianBytes
    case .salt(let salt, _): salt
    }
  }
}

extension FixedWidthInteger {
  /// BE16, BE32 and BE64 of the recovery contract.
  package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

  /// Reads the bytes of `bigEndianBytes`; there must be as many as the type has.
  package init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | Self($1) } }
}
