import CBOR
import Recovery

/// What the key tells everybody of itself, as far as a person sets it: authenticatorGetInfo, CTAP §6.4.
struct KeyInformation: Equatable {
  /// Whether a PIN is set.
  let isPINSet: Bool
  /// Whether every ceremony asks for verification.
  let alwaysUV: Bool
  /// The shortest PIN that may be set, in code points.
  let minimumPINLength: Int
  /// Whether the PIN must be changed before it is good for anything else.
  let forcePINChange: Bool
  /// Whether the key verifies people by itself, by the vault's passphrase.
  let canVerify: Bool
  /// The longest serialized large-blob array, bytes.
  let largeBlobCapacity: Int

  /// Reads the members of the answer.
  init(_ members: CBORMap) {
    let options = members[0x04]?.map ?? [:]
    isPINSet = options["clientPin"]?.bool ?? false
    alwaysUV = options["alwaysUv"]?.bool ?? false
    canVerify = options["uv"]?.bool ?? false
    minimumPINLength = members.number(0x0D) ?? Int(AuthenticatorSettings.shortestPIN)
    forcePINChange = members[0x0C]?.bool ?? false
    largeBlobCapacity = members.number(0x0B) ?? 0
  }
}

/// How often a PIN and the passphrase can still be tried: getPINRetries and getUVRetries, CTAP §6.5.5.2, §6.5.5.3.
struct TriesLeft: Equatable {
  /// How many wrong PINs there may be; 0 blocks the PIN.
  var pin: Int
  /// Whether the device wants a power cycle before the PIN is tried again.
  var needsReplug: Bool
  /// How many wrong passphrases there may be; `nil` where the key does not verify by passphrase.
  var verification: Int?
}

extension ControlConnection {
  /// What the key tells of itself; it asks nobody.
  func keyInformation() throws(CommandFailure) -> KeyInformation { KeyInformation(try ctap(0x04)) }

  /// How many tries are left; it asks nobody.
  func triesLeft(_ information: KeyInformation) throws(CommandFailure) -> TriesLeft {
    let pin = try ctap(0x06, [2: 1])
    let verification: Int? = information.canVerify ? try ctap(0x06, [2: 7]).number(0x05) : nil
    return TriesLeft(pin: pin.number(0x03) ?? 0, needsReplug: pin[0x04]?.bool ?? false, verification: verification)
  }
}

extension CBORMap {
  /// A number that is not negative.
  fileprivate func number(_ key: CBORValue) -> Int? { self[key]?.unsigned.flatMap { Int(exactly: $0) } }
}
