import CBOR
import ControlProtocol
import Recovery

/// The part of authenticatorGetInfo that these commands use, CTAP §6.4.
struct KeyInformation: Equatable {
  /// Whether a PIN is set.
  let isPINSet: Bool
  /// Whether every ceremony asks for verification.
  let alwaysUV: Bool
  /// The shortest PIN that may be set, in code points.
  let minimumPINLength: Int
  /// Whether the PIN must be changed before any other use.
  let forcePINChange: Bool
  /// Whether the key has built-in verification, by the vault's passphrase.
  let canVerify: Bool
  /// The identifiers of the extensions.
  let extensions: [String]
  /// The longest serialized large-blob array, bytes.
  let largeBlobCapacity: Int

  init(_ members: CBORMap) {
    let options = members[0x04]?.map ?? [:]
    isPINSet = options["clientPin"]?.bool ?? false
    alwaysUV = options["alwaysUv"]?.bool ?? false
    canVerify = options["uv"]?.bool ?? false
    minimumPINLength = members.number(0x0D) ?? Int(AuthenticatorSettings.shortestPIN)
    forcePINChange = members[0x0C]?.bool ?? false
    extensions = members[0x02]?.array?.compactMap(\.text) ?? []
    largeBlobCapacity = members.number(0x0B) ?? 0
  }
}

/// How often a PIN and the passphrase can still be tried: getPINRetries and getUVRetries, CTAP §6.5.5.2, §6.5.5.3.
struct TriesLeft: Equatable {
  /// How many more wrong PINs are allowed; 0 means that the PIN is blocked.
  var pin: Int
  /// Whether the PIN can be tried only after a power cycle.
  var needsReplug: Bool
  /// How many more wrong passphrases are allowed; `nil` if the key does not verify by passphrase.
  var verification: Int?
}

extension ControlConnection {
  /// Gets the key's information, without a prompt; does not wait for other requests.
  func keyInformation() throws(CommandFailure) -> KeyInformation { KeyInformation(try ctap(0x04)) }

  /// The key's information, if the vault is open; `nil` otherwise.
  ///
  /// While the vault is locked, the settings come from an unencrypted copy (Recovery §1), which another program could
  /// have changed. A command that refused because of this copy could hide, for example, that a PIN is set. With the
  /// passphrase, a store whose copy differs does not open.
  func certainInformation() throws(CommandFailure) -> KeyInformation? {
    // In this order: if the vault is locked in between, getInfo still reports the settings that it had.
    guard try ask(GetStatus()).vault == .unlocked else { return nil }
    return try keyInformation()
  }

  /// Throws if it is certain that no PIN is set.
  func checkPIN() throws(CommandFailure) {
    if try certainInformation()?.isPINSet == false { throw CommandFailure("no PIN is set") }
  }

  /// Gets the tries that are left, without a prompt; does not wait for other requests.
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
