import CLinux
import CTAPHID
import CVersion
import EventLoop
import Glibc
import HelperProcess
import ProcessIO
import StateDirectory

/// `liquid-authenticator`: the key itself.
enum DaemonCommand {
  /// After SIGUSR1, how long no request may come before the daemon ends: a browser asks for a PIN between two requests.
  private static let quietTime = Duration.seconds(30)
  /// How long a program that sends requests all the time can delay that end.
  private static let quietLimit = Duration.seconds(600)

  /// Starts the daemon, sleeps until a signal comes, and stops it; all other work is on other threads.
  static func start() -> Never {
    // Each step of a dialog has a thread; an arena of memory for each would cost system calls and memory.
    mallopt(M_ARENA_MAX, 1)
    let options = options()
    let log = Log.standardError(options.logLevel, place: options.place, environment: environmentVariable)
    let signals = StopSignals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
    let (daemon, helper): (Daemon, HelperProcess)
    do throws(StartError) {
      helper = try self.helper(options)
      daemon = try Daemon(options, helper: helper, log: log)
    } catch {
      log.error(error.problem)
      exit(error.exitStatus)
    }
    helper.watchEnd(on: daemon.loop) {
      log.error("the helper process has ended, and with it all dialogs: liquid-authenticator ends; start it again")
      // As below, if a prompt does not end.
      alarm(5)
      Task(executorPreference: daemon.loop) {
        await daemon.stop()
        exit(EX_OSERR)
      }
    }
    Task(executorPreference: daemon.loop) {
      do throws(StartError) {
        try await daemon.start()
      } catch {
        log.error(error.problem)
        await daemon.stop()
        exit(error.exitStatus)
      }
    }
    var number = signals.wait()
    if number == SIGUSR1 {
      log.info("will end after 30 seconds without a request, or in ten minutes, to be started again")
      Task(executorPreference: daemon.loop) {
        await daemon.quiet(for: quietTime, limit: quietLimit)
        await daemon.stop()
        exit(EX_TEMPFAIL)
      }
      repeat { number = signals.wait() } while number == SIGUSR1
    }
    log.info("stopped by signal \(number)")
    Task(executorPreference: daemon.loop) {
      await daemon.stop()
      exit(EXIT_SUCCESS)
    }
    // After a second signal, or if a prompt has not ended in five seconds, the process ends and the kernel removes the
    // device.
    alarm(5)
    signals.wait()
    TerminalDevice.giveBack()
    exit(EXIT_FAILURE)
  }

  private static func helper(_ options: DaemonOptions) throws(StartError) -> HelperProcess {
    do throws(SystemNumber) {
      return try HelperProcess(
        program: options.pinentry, askpass: options.askpass ?? "",
        prompt: OwnProgram.path(ofInternal: "liquid-auth-prompt"),
        protector: OwnProgram.path(ofInternal: "liquid-auth-protector"),
        account: environmentVariable("XDG_RUNTIME_DIR").map { $0 + "/liquid-auth/pam.sock" } ?? "")
    } catch {
      throw StartError(TransportError("start the helper process", errno: error.number))
    }
  }

  /// Prints what the user asked for, and ends the process.
  private static func printAndExit(_ text: String) -> Never {
    guard Descriptor.write(text.utf8, to: StandardStream.output.rawValue) else {
      StandardStream.error.write("liquid-authenticator: cannot write to standard output: \(SystemNumber())")
      exit(EXIT_FAILURE)
    }
    exit(EXIT_SUCCESS)
  }

  private static func options() -> DaemonOptions {
    do throws(DaemonOptions.Refusal) {
      var options = try DaemonOptions(Array(CommandLine.arguments.dropFirst()))
      options.resolvePaths(by: absolutePath)
      return options
    } catch {
      switch error {
      case .help:
        printAndExit(DaemonOptions.help)
      case .version:
        let version = "\(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))"
        printAndExit("liquid-authenticator \(version)\n")
      case .usage(let reason):
        StandardStream.error.write(
          """
          liquid-authenticator: \(Log.printable(reason))
          Usage: liquid-authenticator [<options>]
            See 'liquid-authenticator --help' for more information.
          """)
        exit(EX_USAGE)
      }
    }
  }
}
