import ArgumentParser
import Glibc
import LiquidAuth
import ProcessIO
import StateDirectory

/// The options of every command: for its output, the authenticator's socket and the network.
struct WalletOptions: ParsableArguments {
  @Flag(help: "Write events to standard output, one JSON object on each line.") var json = false

  @Option(
    help: ArgumentHelp("The authenticator's control socket.", valueName: "path"), completion: .file(),
    transform: absolutePath)
  var control: String?

  @Option(
    help: ArgumentHelp("The state directory of the authenticator.", valueName: "dir"), completion: .directory,
    transform: absolutePath)
  var stateDir: String?

  @Option(
    help: ArgumentHelp(
      "Read this file instead of ~/.config/liquid-auth/wallet.conf.", valueName: "file"), completion: .file())
  var config: String?

  @Option(
    help: ArgumentHelp(
      "Also trust the certificate authorities in this PEM file.", valueName: "file"), completion: .file())
  var caFile: String?

  var output: EventOutput { EventOutput(isJSON: json, since: Self.start, in: place) }
  private static let start = ContinuousClock.now

  /// The control socket's path: the option, or the socket of the state directory.
  func controlPath() throws -> String {
    if let control { return control }
    return try StateDirectory.controlSocketPath(stateDirectory: stateDir, environment: environmentVariable)
  }

  /// Where the authenticator works.
  var place: CommandPlace { CommandPlace(stateDirectory: stateDir, control: control) }

  /// The files that the options and the configuration name, and the lock of the state directory, which names the
  /// authenticator's process.
  var files: [String] {
    let authorities = try? configuration().certificateAuthorities?.path
    let lock = place.statePath(environment: environmentVariable)
      .flatMap { try? StateDirectory(opening: $0).lockPath }
    return [config ?? WalletConfiguration.usualPath(environmentVariable), authorities, lock].compactMap(\.self)
  }

  /// The configuration, with the overrides of the command line.
  func configuration() throws(WalletFailure) -> WalletConfiguration {
    var configuration = try WalletConfiguration(readFrom: config, environment: environmentVariable)
    if let caFile { configuration.certificateAuthorities = CertificateFile(path: caFile, place: "--ca-file") }
    return configuration
  }
}
