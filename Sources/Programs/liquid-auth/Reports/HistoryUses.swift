import ControlProtocol
import DisplayText
import Glibc
import Recovery

/// The history in plain words: one row for each use or change.
struct HistoryUses {
  private var rows: [[String]] = []
  /// The verification whose token the next entries used: the number of its row until one of them has joined it, its site,
  /// and what verified.
  private var verified: (row: Int?, site: String?, means: String)?

  /// - Parameter isUTC: whether times are in UTC; otherwise they are those of this machine's clock.
  static func text(_ entries: [HistoryDescription], of site: String? = nil, isUTC: Bool) -> String {
    guard !entries.isEmpty else { return HistoryText.none(of: site) }
    var uses = HistoryUses()
    for entry in entries { uses.add(entry, isUTC: isUTC) }
    return table([[HistoryText.heading(ofTimes: isUTC), "USE", "VERIFIED BY", "SITE"]] + uses.rows)
  }

  private mutating func add(_ entry: HistoryDescription, isUTC: Bool) {
    guard let content = entry.content else {
      rows.append(["-", HistoryText.changed])
      return
    }
    let kind = HistoryEntry.Kind(rawValue: content.kind)
    let isDone = HistoryEntry.Outcome(rawValue: content.outcome) == .done
    // Another account of the sign-in before it.
    guard kind != .nextSignIn || !isDone else { return }
    var means = Self.means(content.verification)
    if HistoryEntry.Verification(rawValue: content.verification) == .token, let verified,
      verified.site == nil || verified.site == content.site
    {
      means = verified.means
      if let row = verified.row { rows.remove(at: row) }
      self.verified?.row = nil
    }
    if kind == .verify, isDone { verified = (rows.count, content.site, means) }
    rows.append([
      HistoryText.time(content.time, isUTC: isUTC), Self.use(content), means, HistoryText.site(content),
    ])
  }

  private static func use(_ content: HistoryDescription.Content) -> String {
    let end = outcome(content.outcome)
    return kind(content.kind) + (end.isEmpty ? "" : ": \(end)")
  }

  private static func kind(_ number: UInt8) -> String {
    switch HistoryEntry.Kind(rawValue: number) {
    case .register: "new passkey"
    case .signIn, .nextSignIn: "sign-in"
    case .u2fRegister: "new U2F key"
    case .u2fSignIn: "U2F sign-in"
    case .verify: "verification for a program"
    case .signTransactions: "signature of transactions"
    case .signMessage: "signature of a message"
    case .signAssociation: "Keyri login"
    case .showPasskey: "passkey shown to a wallet"
    case .changePIN: "PIN set or removed"
    case .reset: "reset of the key"
    case .removePasskey: "passkey removed"
    case .renamePasskey: "passkey renamed"
    case .recoverPasskey: "passkey recovered"
    case .changeSettings: "settings changed"
    case .replaceLargeBlobs: "large blobs changed"
    case .changePolicy: "policy changed"
    case .changePassphrase: "new passphrase"
    case .addSlot: "slot added to the vault"
    case .removeSlot: "slot removed from the vault"
    case .findOldStore: "old copy of the store found"
    case .acceptOldStore: "store accepted as it is"
    case .makeBackup: "backup made"
    case .mergeBackup: "backup merged"
    case .importPasskeys: "passkeys imported"
    case .beginRotation: "move to a new phrase begun"
    case .giveUpSite: "keys of the old phrase given up"
    case .endRotation: "move to a new phrase ended"
    case .exportPasskeys: "passkeys exported"
    case .turnOnCounter: "counter in the TPM turned on"
    case .turnOffCounter: "counter in the TPM turned off"
    case .followFolder: "backups to a folder turned on"
    case .leaveFolder: "backups to a folder turned off"
    case .acceptBeforeReset: "passkeys from before a reset accepted"
    case .forgetReaders: "permission to list passkeys revoked"
    case .rememberDApp: "dApp remembered"
    case .useDApp: "connection to a remembered dApp"
    case nil: "kind \(number)"
    }
  }

  /// How it ended; empty if it was done.
  private static func outcome(_ number: UInt8) -> String {
    switch HistoryEntry.Outcome(rawValue: number) {
    case .done: ""
    case .denied: "refused"
    case .timedOut: "not answered in time"
    case .cancelled: "withdrawn"
    case .verificationFailed: "not verified"
    case .alreadyRegistered: "already registered"
    case .deniedByPolicy: "refused by a policy"
    case nil: "outcome \(number)"
    }
  }

  private static func means(_ number: UInt8) -> String {
    switch HistoryEntry.Verification(rawValue: number) {
    case .some(.none): "-"
    case .passphrase: "passphrase"
    case .pin: "PIN"
    case .token: "an earlier verification"
    case .fingerprint: "fingerprint"
    case .pam: "PAM"
    case nil: "way \(number)"
    }
  }
}

extension HistoryText {
  /// A time in UTC, or as the clock of this machine shows it.
  static func time(_ milliseconds: UInt64, isUTC: Bool) -> String {
    let utc = UTCTime(milliseconds: milliseconds).text
    var (seconds, local) = (time_t(clamping: milliseconds / 1000), tm())
    guard !isUTC, localtime_r(&seconds, &local) != nil else { return utc }
    func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(Int(local.tm_year) + 1900)-\(digits(local.tm_mon + 1))-\(digits(local.tm_mday)) "
      + [local.tm_hour, local.tm_min, local.tm_sec].map(digits).joined(separator: ":")
  }
}
