import ArgumentParser
import ControlClient
import ControlProtocol
import Doctor
import Glibc
import ProcessIO
import StateDirectory

/// Where vault, store and control socket are.
struct PlaceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The directory with the vault and the store.", valueName: "dir"), completion: .directory,
    transform: absolutePath)
  var stateDir: String?

  @Option(
    help: ArgumentHelp("The authenticator's control socket.", valueName: "path"), completion: .file(),
    transform: absolutePath)
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
  private var commandPlace: CommandPlace { CommandPlace(stateDirectory: stateDir, control: control) }

  /// The words of the place options.
  var words: [String] { commandPlace.options }

  /// The place options, each after a space, for the end of one of our commands.
  var arguments: String { commandPlace.arguments }

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
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for an authenticator that does not listen yet.
  ///   - onWait: called once with its process, if it does not listen within a second.
  func connect(
    timeout: Duration = ControlClient.connectTimeout, onWait: (Int32) -> Void = { _ in }
  ) throws(CommandFailure) -> ControlConnection {
    do throws(CommandFailure) {
      return try .open(controlPath(), in: commandPlace, timeout: timeout, onWait: onWait)
    } catch {
      throw error.code == .notRunning ? notRunning(error) : error
    }
  }

  /// Connects to the authenticator; `nil` if none runs in the place.
  func connectIfRunning() throws(CommandFailure) -> ControlConnection? {
    do throws(CommandFailure) { return try connect() } catch {
      guard error.code == .notRunning else { throw error }
      return nil
    }
  }

  /// The failure without an authenticator: it starts only with a vault.
  private func notRunning(_ error: CommandFailure) -> CommandFailure {
    guard control == nil, let state = try? statePath(), case let finding = VaultFinding(at: state),
      finding.isThere == false, let problem = finding.problem
    else { return error }
    return CommandFailure(problem, code: .notRunning)
  }

  /// Connects and unlocks with the vault's passphrase.
  func connectAsOwner() throws(CommandFailure) -> ControlConnection {
    let connection = try connect()
    try connection.unlock()
    return connection
  }
}

extension CommandFailure {
  /// Adds the place options to the command that ends the description, if there is one.
  func completed(by place: PlaceOptions?) -> CommandFailure {
    guard let place else { return self }
    return CommandFailure(
      problem.text(with: place.arguments), code: code, usage: usage, isVersionMismatch: isVersionMismatch)
  }
}
