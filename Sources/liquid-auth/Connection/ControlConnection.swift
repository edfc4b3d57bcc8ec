import ControlClient
import ControlDoor

/// A connection to the authenticator that runs, in the command's own words.
struct ControlConnection {
  private let client: ControlClient

  /// Connects, and agrees on the version.
  ///
  /// - Throws: `notRunning` when nobody listens there.
  static func open(_ path: String) throws(CommandFailure) -> ControlConnection {
    do {
      return ControlConnection(
        client: try ControlClient.open(path) {
          StandardStream.error.write("liquid-auth: waiting for the prompt that is open to be answered")
        })
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Asks, and waits for the answer: as long as it takes where a person or a key derivation is waited for.
  func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type = Answer.self
  ) throws(CommandFailure) -> Answer {
    do {
      return try client.ask(request)
    } catch {
      throw CommandFailure(error)
    }
  }
}

extension CommandFailure {
  fileprivate init(_ error: ControlClientError) {
    switch error {
    case .notRunning(let reason): self.init(reason, code: .notRunning)
    case .refused(let failure): self.init(failure)
    case .failed(let reason): self.init(reason)
    }
  }
}
