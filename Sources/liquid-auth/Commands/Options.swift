import ArgumentParser
import Glibc
import ProcessIO
import StateDirectory

/// Where vault, store and control socket are.
struct PlaceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The directory with the vault and the store.", valueName: "dir"))
  var stateDir: String?

  @Option(help: ArgumentHelp("The authenticator's control socket.", valueName: "path"))
  var control: String?

  func validate() throws {
    guard stateDir != "" else { throw ValidationError("--state-dir takes the path of a directory") }
    guard control.map({ SocketAddress($0) != nil }) ?? true else {
      throw ValidationError("--control takes a path of 1 to \(SocketAddress.maximumPathSize) bytes")
    }
  }
}

/// A command that works on one state directory and its authenticator.
protocol PlacedCommand: ParsableCommand {
  var place: PlaceOptions { get }
}

extension PlaceOptions {
  /// Adds the place options to the command at the end of a sentence.
  func completing(_ sentence: String) -> String {
    CommandPlace(stateDirectory: stateDir, control: control).completing(sentence)
  }

  /// The state directory's path: the option, or `$XDG_STATE_HOME/liquid-auth`.
  func statePath() throws(CommandFailure) -> String {
    if let stateDir { return stateDir }
    do { return try StateDirectory.defaultPath(environment: environmentVariable) } catch { throw CommandFailure(error) }
  }

  /// The control socket's path: the option, or where the authenticator of this state directory listens.
  func controlPath(
    environment: (String) -> String? = environmentVariable
  ) throws(CommandFailure) -> String {
    if let control { return control }
    do {
      return try StateDirectory.controlSocketPath(stateDirectory: stateDir, environment: environment)
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Connects to the authenticator.
  func connect() throws(CommandFailure) -> ControlConnection {
    let path = try controlPath()
    // An authenticator listens some time after it has locked its directory: it first connects to the system bus, for at
    // most 5 s. It also stops listening before it ends.
    var triesLeft = 70
    while true {
      do { return try .open(path) } catch {
        guard error.code == .notRunning else { throw error }
        guard let process = runningElsewhere else { throw notRunning(error) }
        guard triesLeft > 0 else { throw unreachable(process, at: path) }
      }
      triesLeft -= 1
      usleep(100_000)
    }
  }

  /// The failure without an authenticator: it starts only with a vault.
  private func notRunning(_ error: CommandFailure) -> CommandFailure {
    guard control == nil, let state = try? statePath(), case let finding = VaultFinding(at: state),
      finding.isThere == false, let problem = finding.problem
    else { return error }
    return CommandFailure(problem, code: .notRunning)
  }

  /// The authenticator that works on the state directory, wherever it listens; `nil` if there is none, or if only a socket
  /// was named.
  private var runningElsewhere: Int32? {
    guard control == nil || stateDir != nil, let state = try? statePath(),
      let process = (try? StateDirectory(opening: state))?.lockHolder,
      // The kernel keeps 15 bytes of the name.
      let name = Descriptor.contents(of: "/proc/\(process)/comm"), name.starts(with: "liquid-authenti".utf8)
    else { return nil }
    return process
  }

  /// The failure for an authenticator that listens at another path than ours.
  func unreachable(_ process: Int32, at path: String) -> CommandFailure {
    let remedy =
      stateDir == nil && control == nil
      ? "set XDG_RUNTIME_DIR to the value that it has for the authenticator, or give --control PATH"
      : "give its path with --control PATH"
    return CommandFailure(
      "the authenticator runs as process \(process), but its control socket is not \(path); \(remedy)")
  }

  /// Connects and unlocks with the vault's passphrase.
  func connectAsOwner() throws(CommandFailure) -> ControlConnection {
    let connection = try connect()
    try connection.unlock()
    return connection
  }
}

/// Reads the whole number of an option; for any other text, the error gives the range.
func wholeNumber<Number: FixedWidthInteger & Sendable>(
  _ range: ClosedRange<Number>
) -> @Sendable (String) throws -> Number {
  { text in
    guard let number = Number(text), range.contains(number) else {
      throw ValidationError("it is a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// How results are written.
struct OutputOptions: ParsableArguments {
  @Flag(help: "Write the result, or the error, as JSON.")
  var json = false

  /// Writes a result as text or JSON.
  func write(_ text: @autoclosure () -> String, json value: @autoclosure () -> JSON) {
    writeResult(json ? value().description : text(), isJSON: json)
  }
}

/// Writes lines of a result to standard output; ends the process with the error if that fails.
func writeResult(_ text: String, isJSON: Bool) {
  guard StandardStream.output.write(text) else { CommandFailure.unwritten.end(isJSON: isJSON) }
}
