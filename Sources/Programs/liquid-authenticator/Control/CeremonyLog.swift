import CTAP2
import ControlProtocol
import HelperProcess
import Prompts

/// One line for each ceremony: command, relying party if the log names it, result and duration; never its content.
enum CeremonyLog {
  /// The line; `nil` for a question that every program may ask without a prompt and that concerns no relying party:
  /// authenticatorGetInfo, and authenticatorClientPIN for the tries or the key agreement.
  static func line(_ report: CommandReport) -> LogLine? {
    let refusal = report.error.map { "\($0.reason) (\($0.status))" }
    guard let command = report.command else {
      return refusal.map { LogLine("refused: \($0)") }
    }
    if report.error == nil, report.site == nil {
      if command == GetInfo.name || command == ClientPIN.name && report.kind == nil { return nil }
    }
    let (seconds, attoseconds) = report.elapsed.components
    let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    var outcome = ""
    outcome.reserveCapacity(128)
    if case .anotherComputer = (report.client as? RequestOrigin)?.door { outcome += " for another computer" }
    // A refusal can be a whole sentence.
    outcome += refusal.map { ": \($0)" } ?? " done"
    outcome += ", "
    outcome += String(milliseconds)
    outcome += " ms"
    return LogLine(command, about: report.site, outcome)
  }

  /// The line for a wallet's signature request that was refused before its prompt: the dApp and the transaction;
  /// `nil` for all other failures, which the authenticator reports by itself.
  static func line(_ command: any WalletCommand, refusedBeforeQuestion failure: ControlFailure) -> LogLine? {
    guard let dApp = command.signsFor else { return nil }
    let subject = failure.transaction.map { "transaction \($0 + 1)" } ?? "it"
    let reason: String
    switch failure.status {
    case .wrongGroup: reason = "the transactions are not one complete group"
    case .notOurSigner: reason = "\(subject) needs a signature of another account"
    case .cannotBeShown: reason = "\(subject) cannot be shown"
    default: return nil
    }
    return LogLine("sign for a wallet", about: dApp, " refused before a prompt: \(reason)")
  }
}
