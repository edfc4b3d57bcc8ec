import ControlProtocol
import Glibc
import StateDirectory

/// Why the daemon could not start.
struct StartError: Error {
  let problem: Problem
  /// The exit status: `EX_CONFIG` if a restart cannot help before the state directory is repaired, so that a service
  /// manager need not try.
  let exitStatus: Int32

  init(_ error: StateDirectoryError) {
    problem = Problem(error)
    exitStatus =
      switch error.kind {
      case .inUse, .system: EXIT_FAILURE
      default: EX_CONFIG
      }
  }

  init(_ error: TransportError) {
    problem = error.problem
    exitStatus = EXIT_FAILURE
  }

  /// Runs `body`; throws its error as a start error.
  static func from<Result>(_ body: () throws(StateDirectoryError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }

  /// Runs `body`; throws its error as a start error.
  static func from<Result>(_ body: () throws(TransportError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }
}
