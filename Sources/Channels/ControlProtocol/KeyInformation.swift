package import CBOR
import Recovery

/// The part of the answer to authenticatorGetInfo that the owner's clients use, CTAP §6.4.
package struct KeyInformation: Equatable, Sendable {
  /// Whether a PIN is set.
  package let isPINSet: Bool
  /// Whether every ceremony asks for verification.
  package let alwaysUV: Bool
  /// The shortest PIN that may be set, in code points.
  package let minimumPINLength: Int
  /// Whether the PIN must be changed before any other use.
  package let forcePINChange: Bool
  /// Whether the key has built-in verification, by the vault's passphrase.
  package let canVerify: Bool
  /// The identifiers of the extensions.
  package let extensions: [String]
  /// The longest serialized large-blob array, bytes.
  package let largeBlobCapacity: Int

  package init(_ members: CBORMap) {
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
package struct TriesLeft: Equatable, Sendable {
  /// How many more wrong PINs are allowed; 0 means that the PIN is blocked.
  package var pin: Int
  /// Whether the PIN can be tried only after a power cycle.
  package var needsReplug: Bool
  /// How many more wrong passphrases are allowed; `nil` if the key does not verify by passphrase.
  package var verification: Int?

  package init(pin: Int, needsReplug: Bool, verification: Int? = nil) {
    (self.pin, self.needsReplug, self.verification) = (pin, needsReplug, verification)
  }

  /// - Parameters:
  ///   - pin: the answer to getPINRetries.
  ///   - verification: the answer to getUVRetries; `nil` if the key does not verify by passphrase.
  package init(pin: CBORMap, verification: CBORMap?) {
    self.init(
      pin: pin.number(0x03) ?? 0, needsReplug: pin[0x04]?.bool ?? false, verification: verification?.number(0x05))
  }
}

extension CBORMap {
  /// A number that is not negative.
  fileprivate func number(_ key: CBORValue) -> Int? { self[key]?.unsigned.flatMap { Int(exactly: $0) } }
}
