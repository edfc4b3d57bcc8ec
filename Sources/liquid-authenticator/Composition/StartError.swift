import StateDirectory

/// Why the daemon could not start.
struct StartError: Error, CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  let description: String

  init(_ error: StateDirectoryError) { description = error.description }
  init(_ error: TransportError) { description = error.description }

  /// Runs `body`; its error is the daemon's.
  static func from<Result>(_ body: () throws(StateDirectoryError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }

  /// Runs `body`; its error is the daemon's.
  static func from<Result>(_ body: () throws(TransportError) -> Result) throws(StartError) -> Result {
    do { return try body() } catch { throw StartError(error) }
  }
}
