import ArgumentParser
import CTAPHID
import CVersion
import DisplayText
import EventLoop
import Glibc
import LiquidAuth
import ProcessIO
import StateDirectory

/// `liquid-auth-wallet`: our only program that uses the network; it never has a key of the phrase.
struct LiquidAuthWalletCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: calledName,
    abstract: "Sign in to dApps with an Algorand account, answer their requests, and those of browsers elsewhere.",
    discussion: """
      liquid-authenticator has the keys and shows the prompts; it must be running. This program talks to servers, dApps \
      and browsers on other computers, and has no key of yours.

      Exit status: 0 done; 1 failed, or refused by the server; 2 the authenticator is not running, or there is no \
      vault; 4 you or a policy refused, nobody answered a prompt, no prompt could be shown, or there is no terminal to \
      ask you on; 5 the dApp or the browser did not answer in time; 64 the command line is wrong, or there is no link; \
      130 ended by Ctrl-C, or because the reader of --json closed its end.
      """,
    version: "liquid-auth-wallet \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))",
    subcommands: [
      ConnectCommand.self, AnswerCommand.self, KeyriCommand.self, RekeyCommand.self, BalancesCommand.self,
    ])

  /// The name in help: `liquid-auth`, which starts this program under that name, or this program's own.
  static let calledName = CommandLine.arguments.first == "liquid-auth" ? "liquid-auth" : "liquid-auth-wallet"

  /// Parses, runs, and ends the process; failures go to standard error, with their exit code.
  ///
  /// The main thread only waits for signals. The first one cancels the operation, which then closes all that it opened;
  /// a second one ends the process at once. All tasks run on one loop, because Swift's own pool wakes once a second.
  static func start() -> Never {
    let signals = StopSignals()
    // A closed pipe makes a write fail, and must not end the process.
    signal(SIGPIPE, SIG_IGN)
    // The same for a limit on the size of files: GStreamer writes a cache.
    signal(SIGXFSZ, SIG_IGN)
    let operation = parsed()
    WalletSandbox.restrictFiles(operation.files)
    let loop: EventLoop
    do { loop = try EventLoop() } catch {
      operation.options.output.report(.failed(WalletFailure(OwnThread.nothingLeft)))
      Glibc.exit(WalletFailure.Code.failed.rawValue)
    }
    let isOver = Latch()
    let running = Task(executorPreference: loop) {
      let ending = await status(of: operation, on: loop)
      isOver.set()
      if operation.hold, !Task.isCancelled { TerminalQuestion.waitForEnter() }
      Glibc.exit(ending)
    }
    signals.wait()
    running.cancel()
    if !isOver.isSet { signals.wait() }
    _exit(WalletFailure.Code.interrupted.rawValue)
  }

  /// Parses the command line; help and mistakes end the process.
  private static func parsed() -> any WalletOperation {
    do {
      var command = try parseAsRoot()
      if let operation = command as? any WalletOperation { return operation }
      try command.run()
      Glibc.exit(0)
    } catch {
      guard exitCode(for: error) == .validationFailure else {
        guard exitCode(for: error) == .success else { exit(withError: error) }
        guard StandardStream.output.write(fullMessage(for: error)) else {
          StandardStream.error.write("liquid-auth-wallet: cannot write to standard output: \(SystemNumber())")
          Glibc.exit(EXIT_FAILURE)
        }
        Glibc.exit(EXIT_SUCCESS)
      }
      // With --json, an event reports the failure, whatever else is wrong with the command line.
      let arguments = Array(CommandLine.arguments.dropFirst())
      if arguments.contains("--json") {
        let failure = WalletFailure(sentence(of: error, in: arguments), code: .mistake)
        let place = CommandPlace(stateDirectory: nil, control: nil)
        EventOutput(isJSON: true, since: .now, in: place).report(.failed(failure))
      } else {
        StandardStream.error.write(mistake(error, in: arguments))
      }
      Glibc.exit(WalletFailure.Code.mistake.rawValue)
    }
  }

  private static func status(of operation: any WalletOperation, on loop: EventLoop) async -> Int32 {
    do {
      try await operation.perform(on: loop)
      return Task.isCancelled ? WalletFailure.Code.interrupted.rawValue : 0
    } catch {
      var failure = WalletFailure(ending: error)
      if Task.isCancelled, failure.code != .interrupted {
        failure = WalletFailure("ended by a signal", code: .interrupted)
      }
      operation.options.output.report(.failed(failure))
      return failure.code.rawValue
    }
  }

  /// A mistake in the command line: what is wrong, then the usage.
  static func mistake(_ error: any Error, in arguments: [String]) -> String {
    let usage = fullMessage(for: error).split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }.joined(separator: "\n")
    // It repeats the command line, which may contain a dApp's link.
    return "liquid-auth-wallet: \(sentence(of: error, in: arguments))\n\(usage)"
      .split(separator: "\n", omittingEmptySubsequences: false).map { DisplayText.line(String($0)) }
      .joined(separator: "\n")
  }

  /// What is wrong with the command line: a command or an option that does not exist, before anything else.
  private static func sentence(of error: any Error, in arguments: [String]) -> String {
    var (command, words): (any ParsableCommand.Type, ArraySlice<String>) = (Self.self, arguments[...])
    while let name = words.first,
      let next = command.configuration.subcommands.first(where: { $0._commandName == name })
    {
      command = next
      words.removeFirst()
    }
    let names = command.configuration.subcommands.map { $0._commandName }
    if let name = words.first, !names.isEmpty, !name.hasPrefix("-") {
      return "unknown command '\(name)'\(CommandLineMistake.suggestion(for: name, in: names))"
    }
    return CommandLineMistake.unknownOption(in: words, help: helpMessage(for: command, includeHidden: true))
      ?? CommandLineMistake.sentence(message(for: error), of: fullMessage(for: error))
  }
}

/// A command that stops at any time when its task is cancelled.
protocol WalletOperation: ParsableCommand, Sendable {
  /// The common options.
  var options: WalletOptions { get }
  /// Whether the terminal stays open until the user has read the output.
  var hold: Bool { get }
  /// The files and directories that the command line and the settings name.
  var files: [String] { get }
  /// Runs the command; closes all that it opened before it returns.
  ///
  /// - Parameter loop: runs this task, and must run every other task of the command.
  func perform(on loop: EventLoop) async throws
}

extension WalletOperation {
  /// Most commands run in a terminal that stays open.
  var hold: Bool { false }
  var files: [String] { options.files }
}
