import ControlProtocol
import LiquidAuth

/// Why a wallet command failed.
struct WalletFailure: Error, Equatable, CustomStringConvertible {
  /// The exit codes; `liquid-auth-wallet --help` lists them.
  enum Code: Int32 {
    /// The command failed, or the server or the dApp refused.
    case failed = 1
    /// The authenticator does not run, or there is no vault.
    case notRunning = 2
    /// The user or a policy refused, or the user did not answer or could not be asked.
    case refused = 4
    /// A timeout expired.
    case timedOut = 5
    /// The command line is invalid.
    case mistake = 64
    /// A signal ended the process, or the reader of its events closed the pipe.
    case interrupted = 130
  }

  /// The exit code.
  let code: Code
  let problem: Problem

  init(_ problem: Problem, code: Code = .failed) { (self.code, self.problem) = (code, problem) }

  init(_ description: String, code: Code = .failed) { self.init(Problem(description), code: code) }

  /// Lower case, no full stop: what happened, then what to do.
  var description: String { problem.text }
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
    let problem = Problem(error.reason, hint: error.hint, remedy: error.command.map { Remedy($0) })
    switch error.kind {
    case .userCanceled, .timedOut, .notVerified: self.init(problem, code: .refused)
    case .channelTimedOut: self.init(problem, code: .timedOut)
    // The dApp's page already knows of the sign-in.
    case .cancelled: self.init("ended by a signal; \(LiquidAuthError.newLink)", code: .interrupted)
    default: self.init(problem)
    }
  }

  /// Makes the failure of a sign-in.
  ///
  /// - Parameter isFirstUse: whether this machine has no passkey for the host, so that registration is safe.
  init(_ error: LiquidAuthError, ceremony: LiquidCeremony?, isFirstUse: Bool) {
    guard [.unknownCredential, .noCredential].contains(error.kind), isFirstUse, ceremony == .authentication else {
      self.init(error)
      return
    }
    self.init("the server and this machine have no passkey in common; register one by leaving out --authenticate")
  }

  /// Makes the failure of a request to the authenticator that signs nothing; its reason already has the place options.
  init(authenticator error: PortError) {
    switch error.kind {
    case .declined: self.init(error.reason, code: .refused)
    case .timedOut: self.init("nobody answered the authenticator's prompt", code: .refused)
    default: self.init(error.reason)
    }
  }

  /// Makes the failure of a request for a signature, likewise.
  init(unsigned error: PortError) {
    let failure = Self(authenticator: error)
    let isRefused = failure.code == .refused
    self.init(isRefused ? failure.problem.after("nothing was signed: ") : failure.problem, code: failure.code)
  }

  /// The user refused the only request of a dApp.
  init(refused error: ARC27Error) { self.init("nothing was signed: \(error.inWords)", code: .refused) }
}
