import ArgumentParser
import CTAPHID
import CVersion
import Glibc
import ProcessIO

/// `liquid-auth`: set-up and management of the authenticator.
struct LiquidAuthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "liquid-auth",
    abstract: "Set up and manage passkeys that come from a recovery phrase.",
    discussion: """
      The authenticator itself is another program, liquid-authenticator. It holds the passkeys while it runs; this \
      command talks to it over a socket that only you can use.

      Exit status:
        0   done
        1   failed, or refused
        2   the authenticator is not running, or there is no vault
        3   the passphrase is wrong, a new one is not acceptable, or the command
            needs it and cannot ask for it
        4   there is no such object
        5   another program already follows the folder of backups
        64  the command line is wrong: a command name, an option or an argument;
            or input that it needs is missing
      `connect`, `answer` and `keyri` have a list of their own: see liquid-auth-wallet --help.

      With --json, a failure is the last line of standard error: {"error": "…", "exitCode": …}. `connect`, \
      `answer` and `keyri` write it to standard output instead, as their last event.

      Completions for your shell: liquid-auth --generate-completion-script bash|zsh|fish
      """,
    version: "liquid-auth \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))",
    subcommands: [
      SetupCommand.self, InitCommand.self, StatusCommand.self, DoctorCommand.self, CredentialsCommand.self,
      LogCommand.self, PolicyCommand.self, VaultCommand.self, PINCommand.self, ConfigCommand.self, BlobsCommand.self,
      BackupCommand.self, RestoreCommand.self, ImportCommand.self, ExportCommand.self, RecoverCommand.self,
      RotateCommand.self, DeriveCommand.self, AccountsCommand.self,
      UnlockCommand.self, LockCommand.self, DeviceCommand.self, ConnectPassthrough.self, AnswerPassthrough.self,
      KeyriPassthrough.self, LinkCommand.self, DemoCommand.self,
    ])

  /// Parses the arguments, runs the command and ends the process; failures go to standard error, with their exit code.
  ///
  /// Phrase and passphrase pass through this process, so it hardens itself first.
  ///
  /// - Returns: the rest of an asynchronous command. A synchronous command runs on the caller's thread, because Swift's pool
  ///   of threads wakes once a second while one of its threads waits.
  static func start() -> () async -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let isJSON = arguments.contains("--json")
    do { try Hardening.apply() } catch {
      CommandFailure("cannot forbid core dumps: \(error)").reportAndExit(isJSON: isJSON)
    }
    if let failure = unknownCommand(in: arguments) { failure.reportAndExit(isJSON: isJSON) }
    var place: PlaceOptions?
    do {
      var command = try parseAsRoot(WalletProgram.withHelpAsked(arguments))
      place = (command as? any PlacedCommand)?.place
      if let asynchronous = command as? any AsyncParsableCommand {
        return { [place] in
          var command = asynchronous
          do { try await command.run() } catch { reportAndExit(error, place, isJSON: isJSON) }
          Glibc.exit(0)
        }
      }
      try command.run()
      Glibc.exit(0)
    } catch {
      reportAndExit(error, place, isJSON: isJSON)
    }
  }

  /// Ends the process with an error, or with the help or version that was asked for.
  private static func reportAndExit(_ error: any Error, _ place: PlaceOptions?, isJSON: Bool) -> Never {
    do { throw error } catch let failure as CommandFailure {
      failure.completed(by: place).reportAndExit(isJSON: isJSON)
    } catch {
      // Help and completions are not mistakes.
      guard exitCode(for: error) == .validationFailure else {
        guard exitCode(for: error) == .success else { exit(withError: error) }
        writeResult(fullMessage(for: error), isJSON: isJSON)
        Glibc.exit(0)
      }
      mistake(error, in: Array(CommandLine.arguments.dropFirst())).reportAndExit(isJSON: isJSON)
    }
  }

  /// The failure for a word that is not a command, where a command must be: the parser would take it for an extra
  /// argument, or show the help of all commands.
  static func unknownCommand(in arguments: [String]) -> CommandFailure? {
    var group: any ParsableCommand.Type = Self.self
    var words = arguments.dropFirst(arguments.first == "help" ? 1 : 0)
    while let name = words.popFirst(), !name.hasPrefix("-"), !group.configuration.subcommands.isEmpty,
      group.configuration.defaultSubcommand == nil
    {
      guard let next = subcommand(name, of: group) else {
        guard name != "help" else { return nil }
        let help = "See '\(group == Self.self ? "" : "liquid-auth ")\(group._commandName) --help' for more information."
        let meant = suggestion(for: name, in: group)
        return CommandFailure(
          "unknown command '\(name)'\(meant)", code: .usage, usage: "Usage: \(usageString(for: group))\n  \(help)")
      }
      group = next
    }
    return nil
  }

  /// The failure for a mistake in the command line: what is wrong, and the usage.
  static func mistake(_ error: any Error, in arguments: [String]) -> CommandFailure {
    let whole = fullMessage(for: error)
    let usage = whole.split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }.joined(separator: "\n")
    let sentence = CommandLineMistake.sentence(message(for: error), of: whole)
    return CommandFailure(
      misspelledCommand(in: arguments) ?? unknownOption(in: arguments) ?? sentence, code: .usage, usage: usage)
  }
}
