import ControlClient
import ControlProtocol
import Glibc
import ProcessIO
import StateDirectory

/// Why a command failed.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
  /// The exit codes that scripts can distinguish; `liquid-auth --help` lists them.
  enum Code: Int32 {
    /// It failed, or was refused.
    case failed = 1
    /// The authenticator does not run, or there is no vault.
    case notRunning = 2
    /// The passphrase is wrong, a new one is not acceptable, or it is needed and cannot be asked for.
    case passphrase = 3
    /// The requested object does not exist.
    case absent = 4
    /// Another program already does this, and only one can.
    case inUse = 5
    /// The command line is wrong, or the input that it needs is missing: EX_USAGE of sysexits.h.
    case usage = 64
  }

  let code: Code
  let problem: Problem
  /// The lines of the usage, if the command line was wrong.
  let usage: String?
  /// Whether the authenticator has another version of the control protocol.
  let isVersionMismatch: Bool

  init(_ problem: Problem, code: Code = .failed, usage: String? = nil, isVersionMismatch: Bool = false) {
    self.code = code
    self.problem = problem
    self.usage = usage
    self.isVersionMismatch = isVersionMismatch
  }

  init(_ description: String, code: Code = .failed, usage: String? = nil, isVersionMismatch: Bool = false) {
    self.init(Problem(description), code: code, usage: usage, isVersionMismatch: isVersionMismatch)
  }

  /// A failure that ends with what to do: `to see why, run:` and a command of plain words.
  init(_ reason: String, hint: String, run command: [String], code: Code = .failed) {
    self.init(Problem(reason, hint: hint, run: command), code: code)
  }

  /// Lower case, no full stop: what happened, then what to do.
  var description: String { problem.text }

  /// For people: the description and the usage.
  ///
  /// Arguments and file content in it are escaped, so that they cannot control a terminal.
  var text: String {
    (["liquid-auth: \(description)"] + (usage?.split(separator: "\n").map(String.init) ?? [])).map(\.printable)
      .joined(separator: "\n")
  }

  /// For programs.
  var json: JSON { ["error": .string(description), "exitCode": .number(Int64(code.rawValue))] }

  /// Writes the failure to standard error, and ends the process.
  func reportAndExit(isJSON: Bool) -> Never {
    StandardStream.error.write(isJSON ? json.line : text)
    Glibc.exit(code.rawValue)
  }
}

extension CommandFailure {
  /// The user pressed Ctrl-C, or ended the input, at a question.
  static let cancelled = CommandFailure("cancelled; nothing was changed")

  /// The result could not be written; the reason is in `errno`.
  static var unwritten: CommandFailure { CommandFailure("cannot write to standard output: \(SystemNumber())") }

  /// What the command left as it was, because a new phrase was not used.
  ///
  /// - Parameter isSecond: whether it was for a vault that has another phrase.
  static func unused(isSecond: Bool) -> String { isSecond ? "the vault was not changed" : "no vault was made" }

  /// The user cancelled before confirming the words of a new phrase that was shown.
  static func cancelledAtPhrase(isSecond: Bool) -> CommandFailure {
    CommandFailure(
      "cancelled; \(unused(isSecond: isSecond)), and the words that you wrote down are useless; destroy the paper")
  }

  /// The user cancelled before confirming the words of all shares of a new phrase.
  static func cancelledAtShares(isSecond: Bool) -> CommandFailure {
    CommandFailure(
      "cancelled; \(unused(isSecond: isSecond)), and the shares that you wrote down are useless; destroy the papers")
  }

  /// The user cancelled after confirming the words of a new phrase.
  static let cancelledAfterPhrase = CommandFailure(
    "cancelled; no vault was made", hint: "keep the paper: to use its phrase, run:",
    run: ["liquid-auth", "init", "--import"])

  /// The user cancelled after confirming the words of all shares of a new phrase.
  static let cancelledAfterShares = CommandFailure(
    "cancelled; no vault was made", hint: "keep the papers: to use their shares, run:",
    run: ["liquid-auth", "recover", "--shares"])
}

extension CommandFailure {
  /// The same for a command that had a new phrase on paper, and may have added it to the vault.
  ///
  /// The vault can have the phrase although the command failed: if the directory could not be synchronised after the file
  /// was replaced, or if the connection broke.
  ///
  /// - Parameters:
  ///   - fingerprint: of the new phrase, 4 bytes.
  ///   - isShares: whether shares of it are on paper.
  func afterNewPhrase(_ fingerprint: [UInt8], isShares: Bool) -> CommandFailure {
    let next =
      isShares
      ? "the shares are useless: destroy the papers, and begin again" : "use the phrase on the paper"
    return CommandFailure(
      description,
      hint: "keep the \(isShares ? "papers" : "paper"): the vault may have the new phrase "
        + "\(fingerprint.hexadecimal); if liquid-auth rotate list says that no move has begun, \(next) with:",
      run: ["liquid-auth", "rotate", "begin"] + (isShares ? [] : ["--import"]), code: code)
  }
}

// MARK: - Exit codes of the libraries' errors

extension CommandFailure {
  /// The failure for a refusal of the authenticator.
  init(_ failure: ControlFailure) {
    let problem = failure.reason.isEmpty ? Problem(failure.description) : failure.problem
    switch failure.status {
    case .wrongPassphrase, .passphraseRequired: self.init(problem, code: .passphrase)
    case .noCredentials: self.init(problem, code: .absent)
    case .noVault: self.init(problem, code: .notRunning)
    case .versionMismatch: self.init(problem, isVersionMismatch: true)
    case .invalidCommand:
      self.init(Problem(problem.text, hint: "the authenticator is older than this command: restart it"))
    default: self.init(problem)
    }
  }

  /// The failure for an error of the connection to the authenticator.
  init(_ error: ControlClientError) {
    switch error {
    case .notRunning(let problem): self.init(problem, code: .notRunning)
    case .refused(let failure): self.init(failure)
    case .failed(let problem): self.init(problem)
    }
  }

  /// An error of the vault, the store or their directory.
  init(_ error: StateDirectoryError) {
    let code: Code =
      switch error.kind {
      case .wrongPassphrase: .passphrase
      case .noVault: .notRunning
      default: .failed
      }
    self.init(Problem(error), code: code)
  }
}
