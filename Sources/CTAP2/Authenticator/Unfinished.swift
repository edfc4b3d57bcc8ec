import Recovery

// What one request leaves for the next.

/// The accounts of a sign-in that were not answered yet: CTAP §6.2.2, step 12.2.2.
struct RemainingAssertions: Sendable {
  let ceremony: Ceremony
  var credentials: ArraySlice<Credential>
  /// The person agreed to all accounts at once.
  let consent: UserConsent.Kept
  /// Only this client goes on, and only until the device is replugged.
  let context: RequestContext
  /// Only while the vault stays open as it was.
  let unlocking: Unlocking
  /// When the last answer was made.
  var since: Duration
}

/// What an enumeration has not told yet: relying parties, the oldest first, or credentials, the newest first.
struct Enumeration: Sendable {
  var rpIDs: ArraySlice<String> = []
  var credentials: ArraySlice<CredentialSource> = []
  /// Only this client goes on, and only until the device is replugged.
  let context: RequestContext
  /// Only while the vault stays open as it was.
  let unlocking: Unlocking
  /// When the last answer was made.
  var since: Duration
}

/// An array that is being written, fragment after fragment, by one client.
struct LargeBlobWrite: Sendable {
  let context: RequestContext
  let length: Int
  var received: [UInt8] = []

  init(context: RequestContext, length: Int) { (self.context, self.length) = (context, length) }
}
