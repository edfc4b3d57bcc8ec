import CTAP2
import ControlDoor
import CryptoPrimitives
import Recovery

/// What the owner may set, over the control door: the rules are those of clientPIN and authenticatorConfig, but the vault's
/// passphrase stands in for the old PIN and for a token.
extension OpenVault {
  /// Sets the PIN, whatever became of the one before it.
  func setPIN(_ pin: SecretBytes, _ pinUVAuth: inout PINUVAuthState) throws(ControlFailure) {
    try change { (settings) throws(CTAPError) in try settings.setPIN(pin) }
    pinUVAuth.pinWasChanged()
  }

  /// Goes back to no PIN.
  func removePIN(_ pinUVAuth: inout PINUVAuthState) throws(ControlFailure) {
    try change { $0.removePIN() }
    pinUVAuth.pinWasChanged()
  }

  /// Revokes the permission to list the passkeys without asking.
  func forgetReaders() throws(ControlFailure) { try change { $0.endPersistentToken() } }

  /// What is set beside the PIN.
  func ownerSettings() throws(ControlFailure) -> OwnerSettings {
    OwnerSettings(try told { () throws(CTAPError) in try settings() })
  }

  /// Changes all that is asked for, or nothing.
  func change(_ wish: SettingsChange, _ pinUVAuth: inout PINUVAuthState) throws(ControlFailure) -> OwnerSettings {
    let changed = try change { (settings) throws(CTAPError) in
      settings.alwaysUV = wish.alwaysUV ?? settings.alwaysUV
      try settings.setMinimumPINLength(
        wish.minimumPINLength, rpIDs: wish.minimumPINLengthRPIDs, forceChange: wish.forcePINChange)
    }
    // What the old PIN allowed ends with it.
    if changed.forcePINChange { pinUVAuth.pinWasChanged() }
    return OwnerSettings(changed)
  }

  @discardableResult
  private func change(
    _ change: (inout AuthenticatorSettings) throws(CTAPError) -> Void
  ) throws(ControlFailure) -> AuthenticatorSettings {
    try told { () throws(CTAPError) in
      var settings = try settings()
      try change(&settings)
      try save(settings)
      return settings
    }
  }

  /// Replaces the large-blob array, if it ends with its digest, and the one that is stored with `digest`, where it is
  /// given.
  func setLargeBlobArray(
    _ array: [UInt8], changedFrom digest: [UInt8]?, _ authenticator: inout Authenticator
  ) throws(ControlFailure) {
    try told { () throws(CTAPError) in
      try authenticator.replaceLargeBlobArray(array, changedFrom: digest, in: self)
    }
  }
}

/// The authenticator's refusal as the answer to a request.
private func told<T>(_ ask: () throws(CTAPError) -> T) throws(ControlFailure) -> T {
  do { return try ask() } catch { throw ControlFailure(error) }
}

extension OwnerSettings {
  /// What the owner may see of the settings.
  fileprivate init(_ settings: AuthenticatorSettings) {
    self.init(
      alwaysUV: settings.alwaysUV, minimumPINLength: settings.minimumPINLength,
      minimumPINLengthRPIDs: settings.minimumPINLengthRPIDs, forcePINChange: settings.forcePINChange,
      isPINSet: settings.pin != nil)
  }
}
