import CTAP2
import ControlProtocol

/// One line for each ceremony: command, relying party, result and duration; never its content.
enum CeremonyLog {
  /// The line; `nil` for a question that every program may ask without a prompt and that concerns no relying party:
  /// authenticatorGetInfo, and authenticatorClientPIN for the tries or the key agreement.
  static func line(_ report: CommandReport) -> String? {
    let refusal = report.error.map { "\($0.reason) (\($0.status))" }
    guard let command = report.command else { return refusal.map { "refused: \($0)" } }
    if report.error == nil, report.rpID == nil {
      if command == GetInfo.name || command == ClientPIN.name && report.kind == nil { return nil }
    }
    let (seconds, attoseconds) = report.elapsed.components
    let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    var line = command
    line.reserveCapacity(128)
    if let rpID = report.rpID {
      line += " "
      line += rpID
    }
    // A refusal can be a whole sentence.
    line += refusal.map { ": \($0)" } ?? " done"
    line += ", "
    line += String(milliseconds)
    line += " ms"
    return line
  }

  /// The line for a wallet's signature request that was refused before its prompt: the origin and the transaction;
  /// `nil` for all other failures, which the authenticator reports by itself.
  static func line(_ command: any WalletCommand, refusedBeforeQuestion failure: ControlFailure) -> String? {
    guard let origin = command.signsFor else { return nil }
    let subject = failure.transaction.map { "transaction \($0 + 1)" } ?? "it"
    let reason: String
    switch failure.status {
    case .wrongGroup: reason = "the transactions are not one complete group"
    case .notOurSigner: reason = "\(subject) needs a signature of another account"
    case .cannotBeShown: reason = "\(subject) cannot be shown"
    default: return nil
    }
    return "sign for a wallet \(origin) refused before a prompt: \(reason)"
  }
}
