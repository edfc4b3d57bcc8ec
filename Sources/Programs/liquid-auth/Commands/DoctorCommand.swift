import ArgumentParser
import CLinux
import ControlProtocol
import Doctor
import Glibc
import ProcessIO

/// `liquid-auth doctor`: each part of this system that the key needs, and the command that repairs it.
struct DoctorCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check each part of this system that the key needs, and show how to repair it.",
    discussion: """
      Each line begins with "ok", "note", or "!!" for a problem. The command that repairs a problem is below its line. \
      `doctor` never asks for a secret, and changes nothing without --fix. The exit status is 1 if there is a problem, \
      and otherwise 0.
      """)

  @Flag(help: "Run the commands that need no additional rights and change only your own services; then check again.")
  var fix = false
  @Option(help: .hidden) var root = ""
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  /// How long a program may take that answers a question, and one that repairs something.
  private static let (answerLimit, repairLimit) = (Duration.seconds(3), Duration.seconds(60))

  func run() throws {
    var report = report()
    if fix, !report.safeRemedies.isEmpty {
      for remedy in report.safeRemedies { Self.perform(remedy) }
      report = self.report()
    }
    output.write(report.text.wrappedForTerminal, json: report.json)
    guard report.isHealthy else { throw ExitCode(report.exitCode) }
  }

  /// Runs the commands until one fails; the second report shows the effect.
  private static func perform(_ remedy: Remedy) {
    for command in remedy.commands {
      StandardStream.error.write("running: \(Remedy(command).text.printable)")
      guard case .unknown(let reason) = Tool.run(command, within: repairLimit).output(of: command[0]) else { continue }
      StandardStream.error.write("liquid-auth: \(reason.printable)")
      return
    }
  }

  private func report() -> DoctorReport {
    var findings = reader.findings({ authenticator }, vault: vault, system: .current)
    findings.options = place.arguments
    return DoctorReport(
      checks: findings.checks.map { check in
        var check = check
        check.remedy = check.remedy?.completed(place.words)
        return check
      })
  }

  private var vault: VaultFinding {
    do { return VaultFinding(at: try place.statePath()) } catch {
      return VaultFinding(isThere: nil, problem: error.problem)
    }
  }

  private var authenticator: DoctorFindings.Authenticator {
    do throws(CommandFailure) {
      let connection = try place.connect()
      let status = try connection.ask(GetStatus())
      // The store may be damaged; the other lines do not need it.
      let information = try? connection.keyInformation()
      return .running(status, information, information.flatMap { try? connection.triesLeft($0) })
    } catch {
      return error.code == .notRunning
        ? .notRunning(error.problem) : .unknown(error.problem.text(with: place.arguments))
    }
  }

  /// The release of the running kernel, as uname(2) gives it.
  private static var kernel: String {
    var names = utsname()
    guard uname(&names) == 0 else { return "" }
    return withUnsafeBytes(of: names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private var reader: FindingsReader {
    FindingsReader(
      tree: SystemTree(root: root), home: environmentVariable("HOME") ?? "/", user: geteuid(),
      userName: SystemFindings.userName, isUserService: UserService.isFor(place), kernel: Self.kernel,
      environment: environmentVariable, ask: { Tool.run($0, within: Self.answerLimit) }, now: Int64(time(nil)),
      isClockSynchronized: clinux_is_clock_synchronized() == 1,
      program: OwnProgram.path(of: "liquid-auth") ?? CommandLine.arguments[0])
  }
}
