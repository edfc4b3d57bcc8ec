public import CryptoPrimitives
public import Recovery

// Durable changes of PIN and settings, for clientPIN, authenticatorConfig and the owner's commands.

extension Authenticator {
  /// Sets or replaces the PIN: 1 to 63 bytes of UTF-8 without a zero byte.
  ///
  /// - Throws: `pinPolicyViolation` if the PIN has another form, is too short, or is the old one although a change is
  ///   forced.
  public mutating func setPIN(_ pin: SecretBytes, in vault: OpenVault) throws(CTAPError) {
    try setPIN(StoredPIN(pin), in: vault)
  }

  /// Reports a change that the owner made or allowed.
  ///
  /// - Parameters:
  ///   - site: the site of the passkey or policy; `nil` if the change concerns no site.
  ///   - verification: what was checked for the change; `none` if the owner allowed it before.
  public func reportChange(
    _ kind: HistoryEntry.Kind, of site: String?, verification: HistoryEntry.Verification = .passphrase
  ) {
    report(Self.change(kind, of: site, verification))
  }

  /// Runs a change of the store that the owner makes or allowed, whose transaction has its entry, and reports it.
  ///
  /// - Parameters:
  ///   - kind: `nil` if nothing is reported.
  ///   - site: as in ``reportChange(_:of:verification:)``.
  ///   - isChange: whether the answer says that something was changed.
  public func reportingChange<Answer>(
    _ kind: HistoryEntry.Kind?, of site: String?, verification: HistoryEntry.Verification = .passphrase,
    in vault: OpenVault, if isChange: (Answer) -> Bool = { _ in true }, _ change: () throws -> Answer
  ) throws -> Answer {
    guard let kind else { return try change() }
    expect(Self.change(kind, of: site, verification), vault.store)
    // Without a change, the entry must not go with another one.
    defer { expect(nil, vault.store) }
    let answer = try change()
    if isChange(answer) { reportChange(kind, of: site, verification: verification) }
    return answer
  }

  private static func change(
    _ kind: HistoryEntry.Kind, of site: String?, _ verification: HistoryEntry.Verification
  ) -> CommandReport {
    CommandReport(command: nil, rpID: site, error: nil, elapsed: .zero, kind: kind, verification: verification)
  }

  /// Sets the PIN, restores the tries, and ends the tokens of the old PIN.
  mutating func setPIN(_ pin: StoredPIN, in vault: OpenVault) throws(CTAPError) {
    try changeSettings(in: vault) { (settings) throws(CTAPError) in try settings.setPIN(pin) }
    pinUVAuth.pinWasChanged()
  }

  /// Removes the PIN.
  public mutating func removePIN(in vault: OpenVault) throws(CTAPError) {
    try changeSettings(in: vault) { $0.removePIN() }
    pinUVAuth.pinWasChanged()
  }

  /// Makes all changes or none; ends the tokens of a PIN whose change is now forced.
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
