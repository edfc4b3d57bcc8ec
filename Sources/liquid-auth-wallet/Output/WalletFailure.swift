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
