/// What a credential is for: Recovery §3.
///
/// The raw value stands in derivations and sealed ids.
public enum CredentialKind: UInt8, CaseIterable, Sendable {
  /// rk = true: one an account, found without an id, kept as a record.
  case discoverable = 1
  /// rk = false: lives in its id alone.
  case nonDiscoverable = 2
  /// Registered over U2F: lives in its key handle alone and has no user.
  case u2f = 3
}
