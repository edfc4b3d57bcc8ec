import ArgumentParser
import ControlProtocol
import Doctor
import Glibc
import StateDirectory

/// `liquid-auth status`: the state of the authenticator, and its problems.
struct StatusCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the state of vault, authenticator and device, and what to do about problems.",
    discussion: """
      Works with and without a running authenticator, and never asks for a secret. The exit status is 0 if the \
      authenticator is ready, 2 if it is not running or there is no vault, and 1 if there is another problem. A value \
      that cannot be found is "unknown" in the table, and null in JSON.
      """)

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    var report = try Self.report(place)
    report.options = place.arguments
    let pointer = report.problems.isEmpty ? "" : Self.pointer + place.arguments
    output.write((report.text + pointer).wrappedForTerminal, json: report.json)
    guard report.problems.isEmpty else {
      throw ExitCode(report.isRunning == false || report.status?.vault.condition == .missing ? 2 : 1)
    }
  }

  /// What comes after problems.
  static let pointer = "\n\nto check each part of the system: liquid-auth doctor"

  private static func report(_ place: PlaceOptions) throws(CommandFailure) -> StatusReport {
    do throws(CommandFailure) {
      return StatusReport(
        running: try place.connect().ask(GetStatus()), system: .current, hasBackupService: BackupService.isFor(place))
    } catch {
      let path = try place.statePath()
      return StatusReport(stateDirectory: path, vault: VaultFinding(at: path), failure: error, system: .current)
    }
  }
}
