import CBOR

/// A random key that only the TPM 2.0 of one machine unseals: type 2 (Recovery §1).
public struct TPMSlot: Hashable, Sendable {
  /// The conditions under which the TPM unseals the key.
  public struct Conditions: Hashable, Sendable {
    /// Whether it needs a PIN, which the TPM's lock-out protects against guessing.
    public let hasPIN: Bool
    /// The registers of the SHA-256 bank (PCRs, 0 to 23) that must have the values of when the slot was added.
    public let pcrs: [Int]

    /// - Parameter pcrs: in ascending order, each once, 0 to 23.
    public init(hasPIN: Bool, pcrs: [Int]) { (self.hasPIN, self.pcrs) = (hasPIN, pcrs) }

    /// `PIN (00 or 01) ‖ PCRs (3)`: bit n % 8 of byte n / 8 is register n.
    public var encoded: [UInt8] { [hasPIN ? 1 : 0] + bitmap }

    fileprivate var bitmap: [UInt8] {
      pcrs.reduce(into: [0, 0, 0]) { bitmap, number in bitmap[number / 8] |= 1 << UInt8(number % 8) }
    }
  }

  /// The conditions under which the TPM unseals the key.
  public let conditions: Conditions
  /// The name of the storage key (34 bytes) ‖ TPM2B_PUBLIC ‖ TPM2B_PRIVATE, at most ``maximumObjectSize`` bytes.
  public let object: [UInt8]
  /// Whether the authenticator unlocks with it at its start; never with a PIN, because the user expects no dialog then.
  public let autoUnlock: Bool

  static let maximumObjectSize = 1024

  public init(conditions: Conditions, object: [UInt8], autoUnlock: Bool) {
    (self.conditions, self.object, self.autoUnlock) = (conditions, object, autoUnlock && !conditions.hasPIN)
  }

  /// `nil` if the members are not those of such a slot.
  init?(_ members: CBORMap) throws(CBORError) {
    let (object, pcrs) = (try members.requiredBytes(2), try members.requiredBytes(7))
    let (autoUnlock, hasPIN) = (try members.requiredBool(3), try members.requiredBool(4))
    guard members.count == 5, pcrs.count == 3, 35...Self.maximumObjectSize ~= object.count, !(autoUnlock && hasPIN)
    else { return nil }
    let numbers = (0..<24).filter { pcrs[$0 / 8] >> UInt8($0 % 8) & 1 == 1 }
    self.init(conditions: Conditions(hasPIN: hasPIN, pcrs: numbers), object: object, autoUnlock: autoUnlock)
  }

  /// The members without nonce and sealed key.
  var members: CBORMap {
    [
      1: 2, 2: .bytes(object), 3: .bool(autoUnlock), 4: .bool(conditions.hasPIN), 7: .bytes(conditions.bitmap),
    ]
  }
}
