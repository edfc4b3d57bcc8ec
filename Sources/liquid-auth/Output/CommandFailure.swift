import ControlDoor

/// Why a command ends without having done what was asked.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
  /// What scripts can tell apart; `liquid-auth --help` lists them.
  enum Code: Int32 {
    /// It failed, or was refused.
    case failed = 1
    /// The authenticator does not run.
    case notRunning = 2
    /// The passphrase is wrong, or is needed and cannot be asked for.
    case passphrase = 3
    /// What is asked for does not exist, for anybody.
    case impossible = 4
  }

  /// The exit code.
  let code: Code
  /// Lower case, no full stop: what happened, then what to do.
  let description: String

  init(_ description: String, code: Code = .failed) {
    self.code = code
    self.description = description
  }

  /// What the authenticator answered.
  init(_ failure: ControlFailure) {
    switch failure.status {
    case .wrongPassphrase, .passphraseRequired: self.init(failure.description, code: .passphrase)
    default: self.init(failure.description)
    }
  }
}
