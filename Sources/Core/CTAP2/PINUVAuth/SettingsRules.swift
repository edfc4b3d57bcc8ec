import CryptoPrimitives
public import Recovery

// The rules for settings, for a platform (clientPIN, authenticatorConfig) and for the owner at the control socket,
// who gives the vault's passphrase.

extension AuthenticatorSettings {
  /// The most relying parties that can read the minimum PIN length: getInfo's maxRPIDsForSetMinPINLength.
  static let maximumRPIDs = 8

  /// Sets the first PIN, or replaces it: CTAP §6.5.5.5 and §6.5.5.6.
  ///
  /// Ends the token of permission pcmr; ``PINUVAuthState/pinWasChanged()`` ends the other token.
  ///
  /// - Throws: `pinPolicyViolation` for a PIN that is too short, or is the same although a change is forced.
  mutating func setPIN(_ pin: StoredPIN) throws(CTAPError) {
    guard pin.length >= minimumPINLength else {
      throw CTAPError(.pinPolicyViolation, "a PIN has at least \(minimumPINLength) characters")
    }
    if forcePINChange, let old = self.pin, old.hash.isEqual(to: pin.hash) {
      throw CTAPError(.pinPolicyViolation, "the new PIN must differ from the old one")
    }
    self.pin = pin
    forcePINChange = false
    persistentToken = nil
  }

  /// Removes the PIN, and ends the token of permission pcmr.
  mutating func removePIN() {
    pin = nil
    forcePINChange = false
    persistentToken = nil
  }

  /// Revokes the token of permission pcmr: its holder can no longer list passkeys.
  public mutating func endPersistentToken() { persistentToken = nil }

  /// setMinPINLength, CTAP §6.11.4: all changes or none.
  ///
  /// - Parameters:
  ///   - length: the new minimum in code points; `nil` leaves it.
  ///   - rpIDs: the relying parties that can read it; `nil` keeps them.
  ///   - forceChange: whether the PIN must be changed; a PIN shorter than the new minimum must be changed in any case.
  /// - Throws: `pinPolicyViolation` for a minimum that shrinks or is above 63, `pinNotSet` if there is no PIN to
  ///   change, `keyStoreFull` for more than eight relying parties.
  public mutating func setMinimumPINLength(
    _ length: UInt64?, rpIDs: [String]?, forceChange: Bool
  ) throws(CTAPError) {
    let length = length ?? UInt64(minimumPINLength)
    guard let length = UInt8(exactly: length), (minimumPINLength...Self.longestPIN).contains(length) else {
      throw CTAPError(
        .pinPolicyViolation,
        "the minimum is \(minimumPINLength) and can only be raised, up to \(Self.longestPIN); a reset restores "
          + "\(Self.shortestPIN)")
    }
    guard !forceChange || pin != nil else {
      throw CTAPError(.pinNotSet, "no PIN is set")
    }
    if let rpIDs {
      guard rpIDs.count <= Self.maximumRPIDs else {
        throw CTAPError(.keyStoreFull, "more than \(Self.maximumRPIDs) relying parties")
      }
      minimumPINLengthRPIDs = rpIDs
    }
    minimumPINLength = length
    guard forceChange || pin.map({ $0.length < length }) == true else { return }
    forcePINChange = true
    persistentToken = nil
  }
}

extension StoredPIN {
  /// Takes a PIN in UTF-8.
  ///
  /// - Throws: `pinPolicyViolation` unless it is UTF-8 of at most 63 bytes without a zero byte.
  init(_ pin: SecretBytes) throws(CTAPError) {
    let length = pin.withUnsafeBytes { $0.count <= Self.longestSize ? Self.codePoints(in: $0) : nil }
    guard let length else {
      throw CTAPError(.pinPolicyViolation, "a PIN has at most \(Self.longestSize) bytes, in UTF-8")
    }
    // LEFT(SHA-256(PIN), 16).
    self.init(hash: SHA256.deriveSecret(pin, count: 16), length: length)
  }

  /// The number of code points; `nil` if it is not UTF-8 or has a zero byte, because platforms pad with zeros.
  private static func codePoints(in bytes: UnsafeRawBufferPointer) -> UInt8? {
    var (parser, iterator, count) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator(), UInt8(0))
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let scalar) where scalar.first == 0: return nil
      case .valid: count += 1
      case .emptyInput: return count
      case .error: return nil
      }
    }
  }
}

extension OpenVault {
  /// Reads PIN and settings from the store.
  public func settings() throws(CTAPError) -> AuthenticatorSettings {
    try stored(store.state().settings)
  }

  /// Replaces PIN and settings, durably.
  func save(_ settings: AuthenticatorSettings) throws(CTAPError) {
    var state = try stored(store.state())
    state.settings = settings
    try stored(store.setState(state))
  }
}
