import CryptoPrimitives
import Recovery

/// The volatile state of PIN and verification: keys and token last until a replug, the count of wrong PINs in a row
/// until a power cycle (CTAP §6.5.2, §6.5.3).
public struct PINUVAuthState: Sendable {
  /// Wrong PINs in a row after which a power cycle is required.
  static let mismatchesInARow = 3

  private var poweredUpAt: Duration
  private var pluggedInAt: Duration
  private var keys: [PINUVAuthProtocol: P256.PrivateKey] = [:]
  private var token: PINUVAuthToken?
  private var mismatches = 0

  /// The state after a power-up.
  init(poweredUpAt: Duration) {
    self.poweredUpAt = poweredUpAt
    pluggedInAt = poweredUpAt
  }

  /// Discards the state that a replug or power cycle since the previous request ends.
  ///
  /// A queued request from before the last power-up changes nothing.
  mutating func enter(_ context: RequestContext) {
    guard poweredUpAt < context.poweredUpAt || pluggedInAt < context.pluggedInAt else { return }
    let kept = poweredUpAt < context.poweredUpAt ? 0 : mismatches
    forgetAll()
    mismatches = kept
    poweredUpAt = max(poweredUpAt, context.poweredUpAt)
    pluggedInAt = max(pluggedInAt, context.pluggedInAt)
  }

  /// Discards everything, as a reset does.
  mutating func forgetAll() {
    keys = [:]
    token = nil
    mismatches = 0
  }

  // MARK: Key agreement

  /// getPublicKey(): the key lasts until a replug or a wrong PIN.
  mutating func publicKey(_ version: PINUVAuthProtocol) throws(CTAPError) -> P256.PublicKey {
    do throws(CryptoError) { return try key(version).publicKey } catch { throw Self.disagreement(error) }
  }

  /// decapsulate(peerCoseKey).
  mutating func sharedSecret(
    with peer: P256.PublicKey, _ version: PINUVAuthProtocol
  ) throws(CTAPError) -> PINUVAuthSecret {
    do throws(CryptoError) {
      return version.sharedSecret(try key(version).sharedSecret(with: peer))
    } catch {
      throw Self.disagreement(error)
    }
  }

  private mutating func key(_ version: PINUVAuthProtocol) throws(CryptoError) -> P256.PrivateKey {
    if let key = keys[version] { return key }
    let key = try P256.PrivateKey.random()
    keys[version] = key
    return key
  }

  private static func disagreement(_ error: CryptoError) -> CTAPError {
    CTAPError(.other, "no shared secret can be computed: \(error)")
  }

  // MARK: Wrong PINs

  /// Whether a PIN can be tried again only after a power cycle.
  var isBlocked: Bool { mismatches >= Self.mismatchesInARow }

  /// Counts a wrong PIN, and discards the key of the protocol that was used.
  mutating func countMismatch(_ version: PINUVAuthProtocol) {
    mismatches += 1
    keys[version] = nil
  }

  /// Clears the count after a right PIN.
  mutating func forgetMismatches() { mismatches = 0 }

  /// Clears the count and ends the token after a PIN was set, removed or marked for a change.
  mutating func pinWasChanged() {
    forgetMismatches()
    endToken()
  }

  // MARK: The token

  /// Replaces the token; the old one becomes invalid.
  mutating func begin(_ token: PINUVAuthToken) { self.token = token }

  /// resetPinUvAuthToken(), for all protocols.
  mutating func endToken() { token = nil }

  /// Whether the ceremony needs no prompt of its own: the presence that came with the token still counts.
  func userPresent(at now: Duration) -> Bool { token?.userPresent(at: now) ?? false }

  /// Checks a pinUvAuthParam against the token in use; returns the relying party that the token is bound to, if any.
  ///
  /// - Throws: `pinAuthInvalid` if it does not match, or no token of this protocol is in use.
  @discardableResult
  mutating func authorize(
    _ param: [UInt8], _ version: PINUVAuthProtocol, over message: [UInt8], for permission: TokenPermissions,
    unlocking: Unlocking, now: Duration
  ) throws(CTAPError) -> String? {
    if token?.isInUse(at: now) == false || token?.unlocking !== unlocking { token = nil }
    guard var current = token, current.version == version else {
      throw CTAPError(.pinAuthInvalid, "no token of this protocol is in use")
    }
    defer { token = current }
    try current.authorize(param, over: message, for: permission)
    return current.rpID
  }

  /// Binds the token to the relying party of a ceremony, after `authorize`: CTAP §6.1.2, step 11.1.
  ///
  /// - Throws: `pinAuthInvalid` if the token is bound to another one, or its verification was used up.
  mutating func bindToken(to rpID: String) throws(CTAPError) {
    guard token?.userVerified == true else {
      throw CTAPError(.pinAuthInvalid, "the verification of the token was used already")
    }
    try token?.bind(to: rpID)
  }

  /// Uses up the token after a ceremony.
  mutating func useUpToken() { token?.useUp() }
}
