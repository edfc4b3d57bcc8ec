package import ControlProtocol
package import ProcessIO
import StateDirectory

/// One line of `liquid-auth doctor`: a part of this system, and whether it does what the key needs.
package struct Check: Equatable {
  /// The stable identifiers of the lines, in the order of the output.
  package enum Name: String, CaseIterable, Sendable {
    case authenticator, service
    case kernelModule = "kernel-module"
    case broker, rule, node
    case reportDescriptor = "report-descriptor"
    case fidoProperties = "fido-properties"
    case secondKey = "second-key"
    case snapBrowser = "snap-browser"
    case flatpakBrowser = "flatpak-browser"
    case firefox, applications, pinentry
    case notificationDaemon = "notification-daemon"
    case session
    case screenLock = "screen-lock"
    case vault, verification, u2f, prf, backup
    case backupFlags = "backup-flags"
    case bluetooth, memlock, clock, packages
  }

  package enum State: String, Sendable {
    case ok
    /// Information, or what could not be checked.
    case note
    case problem
  }

  package let name: Name
  /// What the line is about, if several lines have this name: a browser, a package.
  package var subject: String?
  package let state: State
  /// A phrase without a full stop.
  package var explanation: String
  /// What repairs it.
  package var remedy: Remedy?

  /// `kernel module`.
  package var title: String {
    ([name.rawValue.split(separator: "-").joined(separator: " ")] + (subject.map { [$0] } ?? []))
      .joined(separator: " ")
  }

  static func ok(_ name: Name, _ explanation: String, about subject: String? = nil) -> Check {
    Check(name: name, subject: subject, state: .ok, explanation: explanation)
  }

  static func note(_ name: Name, _ explanation: String, about subject: String? = nil, remedy: Remedy? = nil) -> Check {
    Check(name: name, subject: subject, state: .note, explanation: explanation, remedy: remedy)
  }

  static func problem(_ name: Name, _ explanation: String, about subject: String? = nil, remedy: Remedy? = nil) -> Check
  {
    Check(name: name, subject: subject, state: .problem, explanation: explanation, remedy: remedy)
  }
}

extension Remedy {
  /// The command line for a shell.
  package var text: String { commands.map { $0.map(Self.quoted).joined(separator: " ") }.joined(separator: " && ") }

  /// Leaves `--name=value` and `snap:plug` as they are, which a shell reads as one word.
  private static func quoted(_ word: String) -> String {
    let rest = word.filter { $0 != "=" && $0 != ":" }
    return !rest.isEmpty && !word.hasPrefix("=") && CommandPlace.quoted(rest) == rest ? word : CommandPlace.quoted(word)
  }
}

/// A value that another program gives.
package enum Asked<Value: Equatable>: Equatable {
  case known(Value)
  /// Why it is not known: a phrase without a full stop.
  case unknown(String)

  var value: Value? {
    guard case .known(let value) = self else { return nil }
    return value
  }
}

extension Tool.Result {
  /// The output after status 0; otherwise why there is none: a phrase without a full stop.
  package func output(of program: String) -> Asked<String> {
    switch self {
    case .ended(0, let output): return .known(output)
    case .ended(_, let output) where output.contains("Failed to connect to bus"):
      return .unknown("\(program) finds no D-Bus of this session")
    case .ended(let status, let output):
      let first = output.split(separator: "\n").first.map { ": \($0)" } ?? ""
      return .unknown("\(program) ended with status \(status)\(first)")
    case .missing: return .unknown("\(program) is not installed")
    case .tooSlow: return .unknown("\(program) did not answer in time")
    case .failed(let reason): return .unknown("\(program) did not start: \(reason)")
    }
  }
}
