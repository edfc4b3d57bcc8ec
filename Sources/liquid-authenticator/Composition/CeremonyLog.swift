import CTAP2

/// One line a ceremony: which command, for whom, how it ended and how long it took; never what was in it.
enum CeremonyLog {
  /// The line, or `nil` for what is asked all the time and concerns nobody.
  static func line(_ report: CommandReport) -> String? {
    let refusal = report.error.map { "\($0.reason) (\($0.status))" }
    guard let command = report.command else { return refusal.map { "refused: \($0)" } }
    if report.error == nil, report.rpID == nil, command == GetInfo.name { return nil }
    let milliseconds = Int(report.elapsed / .milliseconds(1))
    let outcome = refusal ?? "done"
    return [command, report.rpID, outcome + ",", "\(milliseconds) ms"].compactMap { $0 }.joined(separator: " ")
  }
}
