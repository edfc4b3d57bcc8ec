import LiquidAuth

/// Why the wallet ends without having done what was asked.
struct WalletFailure: Error, Equatable, CustomStringConvertible {
  /// What scripts can tell apart; `liquid-auth-wallet --help` lists them.
  enum Code: Int32 {
    /// It failed, or was refused by the server or the dApp.
    case failed = 1
    /// The authenticator does not run.
    case notRunning = 2
    /// The person refused, did not answer, or could not be asked.
    case refused = 4
    /// Nothing came in time.
    case timedOut = 5
    /// The command was written wrong.
    case mistake = 64
    /// A signal ended it, or the reader of its events went away.
    case interrupted = 130
  }

  /// The exit code.
  let code: Code
  /// Lower case, no full stop: what happened, then what to do.
  let description: String

  init(_ description: String, code: Code = .failed) {
    self.code = code
    self.description = description
  }
}

// MARK: - Exit codes

extension WalletFailure {
  /// The exit code and message of any error that a command throws.
  init(ending error: any Error) {
    switch error {
    case let failure as WalletFailure: self = failure
    case let error as LiquidAuthError: self.init(error)
    default: self.init("\(error)")
    }
  }

  init(_ error: LiquidAuthError) {
    switch error.kind {
    case .userCanceled, .timedOut, .notVerified: self.init(error.description, code: .refused)
    case .notRunning: self.init(error.description, code: .notRunning)
    case .channelTimedOut: self.init(error.description, code: .timedOut)
    // The dApp's page has heard of the sign-in.
    case .cancelled: self.init("ended by a signal; \(LiquidAuthError.newLink)", code: .interrupted)
    default: self.init(error.description)
    }
  }

  /// A sign-in that was wanted by one ceremony, or by either.
  ///
  /// - Parameter isFirstUse: whether this machine keeps no passkey of the host, so that one may be registered unasked.
  init(_ error: LiquidAuthError, ceremony: LiquidCeremony?, isFirstUse: Bool) {
    guard [.unknownCredential, .noCredential].contains(error.kind), isFirstUse, ceremony == .authentication else {
      self.init(error)
      return
    }
    self.init("the server and this machine have no passkey in common; register one by leaving out --authenticate")
  }

  /// The only request of a dApp, to which the person did not agree.
  init(refused error: ARC27Error) { self.init("nothing was signed: \(error.inWords)", code: .refused) }
}
