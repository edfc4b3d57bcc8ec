import CryptoPrimitives
import Glibc
import ProtectorProtocol

/// The key of one slot, which a FIDO2 security key computes with hmac-secret.
struct SecurityKeyKeeper: KeyKeeper {
  /// Type 3 of Recovery §1.
  static let slotType = ProtectorRequest.securityKeyType
  private static let saltSize = 32
  private static let pinFlag: UInt8 = 1
  private static let keyFlag: UInt8 = 2
  private static let longestCredentialID = 1024

  private let hasPIN: Bool
  /// The salt; empty, as the credential id, if there is no credential yet.
  private let salt: [UInt8]
  private let credentialID: [UInt8]
  /// The public key of the credential; `nil` if there is none, or an earlier version made the slot.
  private let publicKey: P256.PublicKey?
  /// The PIN with a zero byte at its end, as libfido2 reads it.
  private let pin: SecretBytes?

  /// `nil` if `data` has another form.
  ///
  /// - Parameter data: flags, then, if the slot has a credential, salt (32) ‖ public key (64), if bit 1 of the flags is
  ///   set ‖ credential id (1 to 1,024). Bit 0 of the flags means a PIN.
  init?(data: [UInt8], pin: SecretBytes?) {
    guard let flags = data.first, flags <= Self.pinFlag | Self.keyFlag else { return nil }
    let hasKey = flags & Self.keyFlag != 0
    let start = 1 + Self.saltSize + (hasKey ? ProtectorAnswer.publicKeySize : 0)
    guard data.count == 1 && !hasKey || 1...Self.longestCredentialID ~= data.count - start else { return nil }
    (hasPIN, salt) = (flags & Self.pinFlag != 0, Array(data.dropFirst().prefix(Self.saltSize)))
    credentialID = Array(data.dropFirst(start))
    let (x, y) = (data.dropFirst(1 + Self.saltSize).prefix(P256.fieldSize), data[..<min(start, data.count)])
    publicKey = hasKey ? try? P256.PublicKey(x: Array(x), y: Array(y.suffix(P256.fieldSize))) : nil
    guard !hasKey || publicKey != nil else { return nil }
    self.pin = pin.map { pin in
      SecretBytes(count: pin.count + 1) { memory in
        pin.withUnsafeBytes { memory.copyMemory(from: $0) }
        memory[pin.count] = 0
      }
    }
  }

  /// Makes a credential with the only security key that is plugged in; needs two touches.
  ///
  /// - Parameter count: 32, the size of an output of hmac-secret.
  /// - Returns: the key; and the data of the slot, with its public key.
  /// - Throws: `pinNeeded` if there is no PIN, and the slot has one or the security key makes no credential without it.
  func make(count: Int) throws(ProtectorFailure) -> (key: SecretBytes, data: [UInt8]) {
    let key = try onlyKey()
    let isNeeded = key.option("clientPin") == true && key.option("makeCredUvNotRqd") != true
    guard pin != nil || !hasPIN && !isNeeded else { throw .pinNeeded }
    if pin != nil { try checkTries(of: key) }
    let (id, publicKey) = try key.makeCredential(pin: pin)
    guard id.count <= Self.longestCredentialID else {
      throw ProtectorFailure(
        .failed, "the security key's credential does not fit into a slot", hint: "use another security key")
    }
    // The same proof is needed at each use, before a PIN is asked for.
    guard case .valid = key.proof(of: id, publicKey) else {
      throw ProtectorFailure(
        .failed, "the security key gives no valid signature without its PIN", hint: "use another security key")
    }
    let salt = SecretBytes.random(count: Self.saltSize).withUnsafeBytes { Array($0) }
    let (secret, _) = try key.secret(of: id, salt: salt, count: count, pin: hasPIN ? pin : nil)
    return (secret, [Self.keyFlag | (hasPIN ? Self.pinFlag : 0)] + salt + publicKey.raw + id)
  }

  /// The key; needs a touch.
  ///
  /// - Parameter count: 32, the size of an output of hmac-secret.
  /// - Returns: the key; and the public key, if the slot has none and two signatures show it.
  /// - Throws: `pinNeeded` if only the PIN is missing.
  func answer(count: Int) throws(ProtectorFailure) -> ProtectorAnswer {
    let (key, first) = try ownKey()
    if hasPIN {
      try checkTries(of: key)
      guard let pin else { throw .pinNeeded }
      // Before the touch, because the message that the key blinks opens a dialog.
      try key.check(pin: pin, with: credentialID)
    } else if key.option("alwaysUv") == true {
      throw .alwaysVerifies
    }
    let (secret, second) = try key.secret(of: credentialID, salt: salt, count: count, pin: hasPIN ? pin : nil)
    guard publicKey == nil, let first, let second else { return ProtectorAnswer(key: secret) }
    // Each signature allows two keys, and both signatures only one.
    let found = P256.publicKeys(recoveredFrom: first.signature, for: first.message).first {
      $0.isValidSignature(second.signature, for: second.message)
    }
    return ProtectorAnswer(key: secret, data: found?.raw ?? [])
  }

  func key(count: Int) throws(ProtectorFailure) -> SecretBytes { try answer(count: count).key }

  /// Checks that a slot can be made, or that the security key of the slot is plugged in; needs no touch.
  func find() throws(ProtectorFailure) {
    if credentialID.isEmpty { _ = try onlyKey() } else { _ = try ownKey() }
  }

  /// The only security key that is plugged in, if it can have a slot with this choice of a PIN.
  private func onlyKey() throws(ProtectorFailure) -> SecurityKey {
    let keys = SecurityKey.all()
    guard let key = keys.first else { throw .noKey }
    guard keys.count == 1 else {
      throw ProtectorFailure(
        .failed, "several security keys are plugged in", hint: "leave only one of them, and try again")
    }
    guard key.option("clientPin") == true || !hasPIN else { throw .noPIN }
    guard hasPIN || key.option("alwaysUv") != true else { throw .alwaysVerifies }
    return key
  }

  /// The security key that made the credential, and the signature that proves it.
  ///
  /// Any device can claim a credential, and would get the PIN. So a device whose signature is not valid is passed over.
  /// For a slot without a public key, nothing is proved.
  private func ownKey() throws(ProtectorFailure) -> (SecurityKey, SecurityKey.Signature?) {
    guard !credentialID.isEmpty else { throw .otherKey }
    var isClaimed = false
    for key in SecurityKey.all() {
      switch key.proof(of: credentialID, publicKey) {
      case .valid(let signature): return (key, signature)
      case .invalid: isClaimed = true
      case .none: break
      }
    }
    throw isClaimed ? .invalidProof : .otherKey
  }

  /// Throws if fewer than two tries are left.
  ///
  /// A wrong PIN in the last try would block the PIN until the security key is reset, and a reset deletes its passkeys.
  private func checkTries(of key: SecurityKey) throws(ProtectorFailure) {
    switch try key.pinTries() {
    case ...0: throw .pinBlocked
    case 1:
      throw ProtectorFailure(
        .failed,
        "one more wrong PIN would block the PIN of the security key, so this one is not tried",
        hint: "use the passphrase, and check the PIN with another program, such as fido2-token")
    default: break
    }
  }
}

extension ProtectorFailure {
  static let noKey = ProtectorFailure(
    .absent,
    "no security key with hmac-secret is free", hint: "plug one in, or close the program that uses it, and try again")
  static let otherKey = ProtectorFailure(
    .absent,
    "the security key of this slot is not plugged in, or another program uses it",
    hint: "plug it in, or close that program, and try again")
  static let invalidProof = ProtectorFailure(
    .failed,
    "a device claims to be the security key of this slot, but its signature is not valid; it got no PIN",
    hint: "unplug it, plug in the security key, and try again")
  static let noAnswer = ProtectorFailure(
    .failed, "the security key did not answer",
    hint: "plug it in again, close other programs that use it, and try again")
  static let notTouched = ProtectorFailure(.dismissed, "the security key was not touched in time", hint: "try again")
  static let alwaysVerifies = ProtectorFailure(
    .failed, "the security key verifies its user at each use (alwaysUv)", hint: "add a slot with --pin")
  static let noPIN = ProtectorFailure(
    .failed, "the security key has no PIN", hint: "set one, for example with fido2-token -S, or omit --pin")
  static let pinBlocked = ProtectorFailure(
    .failed, "the security key's PIN is blocked", hint: "only a reset of the key, which deletes its passkeys, ends that"
  )

  static func wrongPIN(triesLeft: Int) -> ProtectorFailure {
    ProtectorFailure(.wrongPIN, "the PIN is wrong; \(triesLeft) \(triesLeft == 1 ? "try is" : "tries are") left")
  }
}
