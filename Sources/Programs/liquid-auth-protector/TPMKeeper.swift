import CTSS
import CryptoPrimitives
import Glibc
import ProtectorProtocol

/// The key of one slot, sealed by the TPM of this machine.
struct TPMKeeper {
  /// Type 2 of Recovery §1.
  static let slotType: UInt8 = 2

  private let conditions: TPM.Conditions
  /// The name of the storage key, and the sealed object; both are empty if there is no key yet.
  private let name: [UInt8]
  private let object: [UInt8]
  /// The auth value; `nil` without a PIN.
  private let pin: SecretBytes?

  /// - Parameter data: PIN (00 or 01) ‖ PCRs (3), then, if the slot has a key, name (34) ‖ object.
  init?(data: [UInt8], pin: SecretBytes?) {
    guard let conditions = TPM.Conditions(data.prefix(TPM.Conditions.size)) else { return nil }
    self.conditions = conditions
    name = Array(data.dropFirst(TPM.Conditions.size).prefix(TPM.nameSize))
    object = Array(data.dropFirst(TPM.Conditions.size + TPM.nameSize))
    self.pin = conditions.hasPIN ? pin.map(Self.authValue) : nil
  }

  /// SHA-256 of the PIN.
  private static func authValue(of pin: SecretBytes) -> SecretBytes {
    TPM.authValue(SecretBytes(count: SHA256.size) { digest in pin.withUnsafeBytes { SHA256.hash($0, into: digest) } })
  }

  /// Makes and seals a key of `count` bytes.
  ///
  /// - Returns: the key, and name ‖ object.
  func make(count: Int) throws(ProtectorFailure) -> (key: SecretBytes, data: [UInt8]) {
    guard conditions.hasPIN == (pin != nil) else { throw .pinNeeded }
    let (tpm, key) = (try TPM(), SecretBytes.random(count: count))
    try tpm.checkBank(of: conditions)
    let object = try tpm.seal(key, conditions, pin: pin)
    guard try unseal(object, with: tpm, count: count).isEqual(to: key) else { throw .otherTPM }
    return (key, tpm.name + object)
  }

  /// The key, `count` bytes.
  ///
  /// - Throws: `pinNeeded` if `pin` is `nil`, and the right PIN would unseal the key.
  func key(count: Int) throws(ProtectorFailure) -> SecretBytes {
    let tpm = try TPM()
    // Also refuses a storage key that an attacker on the TPM's bus puts in place of the TPM's.
    guard tpm.name == name else { throw .otherTPM }
    return try unseal(object, with: tpm, count: count)
  }

  /// Checks that there is a TPM with the registers, and, if the slot has a key, that it is the TPM that sealed the key.
  func find() throws(ProtectorFailure) {
    let tpm = try TPM()
    guard name.isEmpty || tpm.name == name else { throw .otherTPM }
    try tpm.checkBank(of: conditions)
  }

  private func unseal(_ object: [UInt8], with tpm: TPM, count: Int) throws(ProtectorFailure) -> SecretBytes {
    let key = try tpm.load(object)
    defer { tpm.flush(key.handle) }
    try tpm.checkConditions(of: key, conditions)
    guard conditions.hasPIN == (pin != nil) else { throw .pinNeeded }
    return try tpm.unseal(key, conditions, pin: pin, count: count)
  }
}

extension TPM {
  /// The conditions under which the TPM unseals a key.
  struct Conditions {
    static let size = 4
    static let noPCRs: [UInt8] = [0, 0, 0]

    /// Whether it needs a PIN, which the TPM's lock-out protects against guessing.
    let hasPIN: Bool
    /// The registers of the SHA-256 bank that must have the values of when the key was sealed: a bitmap, 3 bytes.
    let pcrs: [UInt8]

    init?(_ bytes: some Collection<UInt8>) {
      guard bytes.count == Self.size, let first = bytes.first, first <= 1 else { return nil }
      (hasPIN, pcrs) = (first == 1, Array(bytes.dropFirst()))
    }
  }
}

extension ProtectorFailure {
  static let pinNeeded = ProtectorFailure(.pinNeeded, "the slot needs its PIN")
}
