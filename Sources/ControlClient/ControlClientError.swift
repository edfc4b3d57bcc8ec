package import ControlDoor

/// Why the authenticator gave no answer, or not the one that was asked for.
package enum ControlClientError: Error, Equatable {
  /// Nobody listens.
  case notRunning(String)
  /// It answered that it will not.
  case refused(ControlFailure)
  /// The connection could not be made, or broke.
  case failed(String)
}

extension ControlClientError: CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  package var description: String {
    switch self {
    case .notRunning(let reason), .failed(let reason): reason
    case .refused(let failure): failure.description
    }
  }
}
