import Recovery

/// What a number of the history is called; the number itself if this version does not know it.
struct HistoryWords {
  /// For programs, and in the list of all entries.
  let name: String
  /// For people, in the list of uses.
  let text: String

  private init(_ name: String, _ text: String? = nil) { (self.name, self.text) = (name, text ?? name) }

  /// What was requested.
  static func kind(_ number: UInt8) -> HistoryWords {
    switch HistoryEntry.Kind(rawValue: number) {
    case .register: .init("register", "new passkey")
    case .signIn: .init("sign-in")
    case .u2fRegister: .init("u2f-register", "new U2F key")
    case .u2fSignIn: .init("u2f-sign-in", "U2F sign-in")
    case .verify: .init("verify", "verification for a program")
    case .signTransactions: .init("transactions", "signature of transactions")
    case .signMessage: .init("message", "signature of a message")
    case .signAssociation: .init("association", "Keyri login")
    case .showPasskey: .init("show-passkey", "passkey shown to a wallet")
    case .changePIN: .init("pin-change", "PIN set or removed")
    case .reset: .init("reset", "reset of the key")
    case .nextSignIn: .init("next-sign-in", "sign-in")
    case .removePasskey: .init("remove", "passkey removed")
    case .renamePasskey: .init("rename", "passkey renamed")
    case .recoverPasskey: .init("recover", "passkey recovered")
    case .changeSettings: .init("settings", "settings changed")
    case .replaceLargeBlobs: .init("large-blobs", "large blobs changed")
    case .changePolicy: .init("policy", "policy changed")
    case .changePassphrase: .init("passphrase-change", "new passphrase")
    case .addSlot: .init("slot-add", "slot added to the vault")
    case .removeSlot: .init("slot-remove", "slot removed from the vault")
    case .findOldStore: .init("old-store", "old copy of the store found")
    case .acceptOldStore: .init("old-store-accept", "store accepted as it is")
    case .makeBackup: .init("backup", "backup made")
    case .mergeBackup: .init("merge", "backup merged")
    case .importPasskeys: .init("import", "passkeys imported")
    case .beginRotation: .init("rotate-begin", "move to a new phrase begun")
    case .giveUpSite: .init("rotate-give-up", "keys of the old phrase given up")
    case .endRotation: .init("rotate-end", "move to a new phrase ended")
    case .exportPasskeys: .init("export", "passkeys exported")
    case .turnOnCounter: .init("counter-on", "counter in the TPM turned on")
    case .turnOffCounter: .init("counter-off", "counter in the TPM turned off")
    case .followFolder: .init("folder-on", "backups to a folder turned on")
    case .leaveFolder: .init("folder-off", "backups to a folder turned off")
    case .acceptBeforeReset: .init("before-reset-accept", "passkeys from before a reset accepted")
    case .forgetReaders: .init("readers-forget", "permission to list passkeys revoked")
    case .rememberDApp: .init("dapp-remember", "dApp remembered")
    case .useDApp: .init("dapp-use", "connection to a remembered dApp")
    case nil: .init(String(number), "kind \(number)")
    }
  }

  /// How it ended; without a text if it was done.
  static func outcome(_ number: UInt8) -> HistoryWords {
    switch HistoryEntry.Outcome(rawValue: number) {
    case .done: .init("done", "")
    case .denied: .init("denied", "refused")
    case .timedOut: .init("timed-out", "not answered in time")
    case .cancelled: .init("cancelled", "withdrawn")
    case .verificationFailed: .init("verification-failed", "not verified")
    case .alreadyRegistered: .init("already-registered", "already registered")
    case .deniedByPolicy: .init("denied-by-policy", "refused by a policy")
    case nil: .init(String(number), "outcome \(number)")
    }
  }

  /// What verified the user.
  static func verification(_ number: UInt8) -> HistoryWords {
    switch HistoryEntry.Verification(rawValue: number) {
    case .some(.none): .init("none", "-")
    case .passphrase: .init("passphrase")
    case .pin: .init("pin", "PIN")
    case .token: .init("token", "an earlier verification")
    case .fingerprint: .init("fingerprint")
    case .pam: .init("pam", "PAM")
    case nil: .init(String(number), "way \(number)")
    }
  }

  /// Where the request came in, if that was not this machine; for programs.
  static func door(_ number: UInt8) -> String {
    switch HistoryEntry.Door(rawValue: number) {
    case .hybrid: "qr-code"
    case nil: String(number)
    }
  }
}
