import Glibc
import StateDirectory

/// Why the daemon could not start.
struct StartError: Error, CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  let description: String
  /// What the process ends with: `EX_CONFIG` where starting again is of no use before the person has mended the state
  /// directory, so that a service manager can leave it at that.
  let exitStatus: Int32

  init(_ error: StateDirectoryError) {
    description = error.description
    exitStatus =
      switch error.kind {
      case .inUse, .system: EXIT_FAILURE
      default: EX_CONFIG
      }
  }

  init(_ error: TransportError) {
    description = error.description
    exitStatus = EXIT_FAILURE
  }

  /// Runs `body`; its error is the daemon's.
  static func from<Result>(_ body: () throws(StateDirectoryError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }

  /// Runs `body`; its error is the daemon's.
  static func from<Result>(_ body: () throws(TransportError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }
}
