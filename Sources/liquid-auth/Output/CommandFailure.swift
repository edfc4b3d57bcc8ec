import ControlClient
import ControlProtocol
import Glibc
import ProcessIO
import StateDirectory

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
    /// What is asked for does not exist.
    case absent = 4
    /// The command was written wrong: EX_USAGE of sysexits.h.
    case usage = 64
  }

  /// The exit code.
  let code: Code
  /// Lower case, no full stop: what happened, then what to do.
  let description: String
  /// How the command is written, in lines, where it was written wrong.
  let usage: String?

  init(_ description: String, code: Code = .failed, usage: String? = nil) {
    self.code = code
    self.description = description
    self.usage = usage
  }

  /// With the options behind the command at its end, where there is one.
  func completed(by place: PlaceOptions?) -> CommandFailure {
    place.map { CommandFailure($0.completing(description), code: code) } ?? self
  }

  /// For people: the sentence, and how the command is written.
  ///
  /// It may repeat what was typed or what a file holds, which acts on no terminal.
  var text: String {
    (["liquid-auth: \(description)"] + (usage?.split(separator: "\n").map(String.init) ?? [])).map(\.printable)
      .joined(separator: "\n")
  }

  /// For programs.
  var json: JSON { ["error": .string(description), "exitCode": .number(Int64(code.rawValue))] }

  /// Says it on standard error, and ends the process.
  func end(isJSON: Bool) -> Never {
    StandardStream.error.write(isJSON ? json.line : text)
    Glibc.exit(code.rawValue)
  }
}

// MARK: - Exit codes of the libraries' errors

extension CommandFailure {
  /// What the authenticator answered.
  init(_ failure: ControlFailure) {
    switch failure.status {
    case .wrongPassphrase, .passphraseRequired: self.init(failure.description, code: .passphrase)
    case .noCredentials: self.init(failure.description, code: .absent)
    default: self.init(failure.description)
    }
  }

  /// Why the authenticator gave no answer, or not the one that was asked for.
  init(_ error: ControlClientError) {
    switch error {
    case .notRunning(let reason): self.init(reason, code: .notRunning)
    case .refused(let failure): self.init(failure)
    case .failed(let reason): self.init(reason)
    }
  }

  /// An error of the vault, the store or their directory.
  init(_ error: StateDirectoryError) {
    self.init(error.description, code: error.kind == .wrongPassphrase ? .passphrase : .failed)
  }
}
