import CBOR

/// One entry of the store's history, a ceremony or a change of what is stored; it has no secret: Recovery §6.
public struct HistoryEntry: Sendable, Equatable {
  /// What was requested.
  public enum Kind: UInt8, Sendable, CaseIterable {
    case register = 1
    case signIn = 2
    case u2fRegister = 3
    case u2fSignIn = 4
    /// Verification for a platform, which gets a pinUvAuthToken.
    case verify = 5
    case signTransactions = 6
    case signMessage = 7
    /// A signature with an association key of Keyri.
    case signAssociation = 8
    /// A protected passkey's id, shown to a wallet.
    case showPasskey = 9
    /// The PIN was set, changed or removed.
    case changePIN = 10
    case reset = 11
    /// A signature of another account in the same sign-in: authenticatorGetNextAssertion.
    case nextSignIn = 12
    case removePasskey = 13
    case renamePasskey = 14
    /// A passkey was derived again and stored.
    case recoverPasskey = 15
    case changeSettings = 16
    /// The large-blob array was replaced.
    case replaceLargeBlobs = 17
    /// The policy of a site, or of all sites without one of their own.
    case changePolicy = 18
    case changePassphrase = 19
    /// A slot other than the passphrase was added to the vault.
    case addSlot = 20
    case removeSlot = 21
    /// An old copy of the store was found.
    case findOldStore = 22
    /// The owner accepted an old copy of the store, or a modified store.
    case acceptOldStore = 23
    /// The owner made a backup.
    case makeBackup = 24
    /// A backup was merged into the store.
    case mergeBackup = 25
    /// The owner imported passkeys with their private keys.
    case importPasskeys = 26
    /// The vault got a new phrase beside the previous one (Recovery §14).
    case beginRotation = 27
    /// The owner gave up the keys of the previous phrase at a site; without a site, those of U2F.
    case giveUpSite = 28
    /// The previous phrase was removed from the vault.
    case endRotation = 29
    /// The owner exported passkeys with their private keys.
    case exportPasskeys = 30
    /// The store got a counter in the TPM, or another one.
    case turnOnCounter = 31
    case turnOffCounter = 32
    /// The store follows a folder of backups.
    case followFolder = 33
    case leaveFolder = 34
    /// The owner accepted the passkeys from before a reset again.
    case acceptBeforeReset = 35
    /// The owner revoked the permission to list the passkeys.
    case forgetReaders = 36
    /// The pairing with a dApp was kept, so that it can be used again without a sign-in.
    case rememberDApp = 37
    /// A wallet got the pairing with a dApp.
    case useDApp = 38
  }

  /// How it ended.
  public enum Outcome: UInt8, Sendable, CaseIterable {
    case done = 1
    case denied = 2
    case timedOut = 3
    /// The client withdrew the request.
    case cancelled = 4
    case verificationFailed = 5
    /// The site excludes a passkey that is here.
    case alreadyRegistered = 6
    /// The owner's policy for the site refused it; nobody was asked.
    case deniedByPolicy = 7
  }

  /// What verified the user.
  public enum Verification: UInt8, Sendable, CaseIterable {
    case none = 0
    case passphrase = 1
    case pin = 2
    /// A pinUvAuthToken; the entry of kind `verify` before it has its means.
    case token = 3
    case fingerprint = 4
    /// The user's account on this machine.
    case pam = 5
  }

  /// Where the request came in, if it was not this machine.
  public enum Door: UInt8, Sendable, CaseIterable {
    /// Another computer, by a QR code: hybrid transports.
    case hybrid = 1
  }

  /// Unix milliseconds.
  public let time: UInt64
  /// The rp.id, the origin of a dApp or the service of Keyri; `nil` if the request names none, as in U2F.
  public let site: String?
  public let kind: Kind
  public let outcome: Outcome
  public let verification: Verification
  /// `nil` for this machine.
  public let door: Door?

  /// A site as the history keeps it: a longer one than ``maximumSiteSize`` as "…" and as many characters of its end as fit.
  ///
  /// The end of a domain name says whose it is: `bank.example.….evil.example` belongs to `evil.example`.
  static func site(_ whole: String) -> String {
    guard whole.utf8.count > maximumSiteSize else { return whole }
    return cut + whole.suffix(ofUTF8Count: maximumSiteSize - cut.utf8.count)
  }

  /// Marks a site that is cut; no domain name begins with it.
  private static let cut = "\u{2026}"

  /// The longest site that is kept, bytes of UTF-8.
  public static let maximumSiteSize = 224

  /// Keeps the end of a site that is longer than ``maximumSiteSize``, behind "…".
  public init(
    time: UInt64, site: String?, kind: Kind, outcome: Outcome, verification: Verification, door: Door? = nil
  ) {
    self.time = time
    self.site = site.map(Self.site)
    self.kind = kind
    self.outcome = outcome
    self.verification = verification
    self.door = door
  }
}

// MARK: - CBOR

extension HistoryEntry {
  private enum Key {
    static let time: CBORValue = 1
    static let site: CBORValue = 2
    static let kind: CBORValue = 3
    static let outcome: CBORValue = 4
    static let verification: CBORValue = 5
    static let door: CBORValue = 6
    static let all: [CBORValue] = [time, site, kind, outcome, verification, door]
  }

  /// {1: time, 2: site?, 3: kind, 4: outcome, 5: verification, 6: door?}.
  var plaintext: [UInt8] {
    var map: CBORMap = [
      Key.time: .unsigned(time), Key.kind: .unsigned(UInt64(kind.rawValue)),
      Key.outcome: .unsigned(UInt64(outcome.rawValue)), Key.verification: .unsigned(UInt64(verification.rawValue)),
    ]
    map[Key.site] = site.map { .text($0) }
    map[Key.door] = door.map { .unsigned(UInt64($0.rawValue)) }
    return CBOREncoder.encode(.map(map))
  }

  init(plaintext: [UInt8]) throws(RecoveryError) {
    do throws(CBORError) {
      let map = try CBORDecoder.decode(plaintext).mapOfOurs()
      try map.refuseOtherKeys(Key.all.contains)
      guard let kind = Kind(rawValue: try map.requiredInteger(Key.kind)),
        let outcome = Outcome(rawValue: try map.requiredInteger(Key.outcome)),
        let verification = Verification(rawValue: try map.requiredInteger(Key.verification))
      else { throw .invalid("a kind, outcome or verification that does not exist") }
      let number = try map.optionalUnsigned(Key.door)
      let door = number.flatMap(UInt8.init(exactly:)).flatMap(Door.init)
      guard number == nil || door != nil else { throw .invalid("a door that does not exist") }
      let site = try map.optionalText(Key.site)
      guard site.map({ $0.utf8.count <= Self.maximumSiteSize }) ?? true else {
        throw .invalid("a site that is too long")
      }
      self.init(
        time: try map.requiredInteger(Key.time), site: site, kind: kind, outcome: outcome,
        verification: verification, door: door)
    } catch {
      throw .malformed(error.description)
    }
  }
}
