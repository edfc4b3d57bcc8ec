import ArgumentParser
import Glibc

/// `liquid-authenticator`: the key itself.
struct DaemonCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "liquid-authenticator",
    abstract: "A security key whose passkeys a phrase brings back.",
    discussion: """
      It runs until it is told to stop (SIGTERM, SIGINT) and takes its device with it. Set up a vault first with \
      liquid-auth init; while it runs, liquid-auth looks after it.

      Exit codes: 0 stopped; 1 could not start; 64 the command was written wrong.
      """)

  @OptionGroup var options: DaemonOptions

  /// Parses the command line and runs; `main.swift` is this one call.
  static func start() { main() }

  /// The main thread begins, sleeps until a signal comes, and ends; everything else happens on others.
  func run() throws {
    let log = Log.standardError(environment: Environment.value)
    let signals = StopSignals()
    let daemon: Daemon
    do throws(StartError) {
      daemon = try Daemon(options, log: log)
    } catch {
      log.error(error.description)
      throw ExitCode.failure
    }
    Task(executorPreference: daemon.workers) {
      do throws(StartError) {
        try await daemon.start()
      } catch {
        log.error(error.description)
        await daemon.stop()
        Glibc.exit(EXIT_FAILURE)
      }
    }
    log.info("ends after \(signals.wait())")
    Task(executorPreference: daemon.workers) {
      await daemon.stop()
      Glibc.exit(EXIT_SUCCESS)
    }
    // A second signal, or five seconds in which a prompt did not end, and the kernel takes the device away.
    alarm(5)
    _ = signals.wait()
    throw ExitCode.failure
  }
}
