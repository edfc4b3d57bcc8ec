public import CryptoPrimitives
public import Recovery

// What is set becomes so, durably: clientPIN sets a PIN by this, and so does the owner at the control door.

extension Authenticator {
  /// Sets the PIN, the first or another, 1 to 63 bytes of UTF-8 without a zero byte.
  ///
  /// - Throws: `pinPolicyViolation` for what is no text of that length, is too short, or is still the one to be changed.
  public mutating func setPIN(_ pin: SecretBytes, in vault: OpenVault) throws(CTAPError) {
    try setPIN(StoredPIN(pin), in: vault)
  }

  /// Sets the PIN; what was tried against the one before, and what that allowed, is over.
  mutating func setPIN(_ pin: StoredPIN, in vault: OpenVault) throws(CTAPError) {
    try changeSettings(in: vault) { (settings) throws(CTAPError) in try settings.setPIN(pin) }
    pinUVAuth.pinWasChanged()
  }

  /// Goes back to no PIN.
  public mutating func removePIN(in vault: OpenVault) throws(CTAPError) {
    try changeSettings(in: vault) { $0.removePIN() }
    pinUVAuth.pinWasChanged()
  }

  /// Changes all that is asked for, or nothing; what a PIN allowed that must be changed now is over.
  @discardableResult
  public mutating func changeSettings(
    in vault: OpenVault, _ change: (inout AuthenticatorSettings) throws(CTAPError) -> Void
  ) throws(CTAPError) -> AuthenticatorSettings {
    var settings = try vault.settings()
    try change(&settings)
    try vault.save(settings)
    if settings.forcePINChange { pinUVAuth.pinWasChanged() }
    return settings
  }
}
