import ControlClient
import ControlDoor
import NIOPosix

/// The authenticator's control socket, for tasks: questions block a thread of their own, and cancelling the task ends
/// the connection, also while it is being made, and so withdraws what is asked.
struct ControlSocket: Sendable {
  private let path: String
  private let thread: NIOThreadPool
  private let onPrompt: @Sendable () -> Void
  private let notRunning = Latch()

  /// - Parameters:
  ///   - path: the socket.
  ///   - thread: where questions wait.
  ///   - onPrompt: told when a person is asked before an answer comes.
  init(_ path: String, thread: NIOThreadPool, onPrompt: @escaping @Sendable () -> Void) {
    self.path = path
    self.thread = thread
    self.onPrompt = onPrompt
  }

  /// Whether nobody listened there.
  var isNotRunning: Bool { notRunning.isSet }

  /// Asks on a connection of its own.
  func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type = Answer.self
  ) async throws(ControlClientError) -> Answer {
    try await withClient { client in try client.ask(request) }
  }

  /// Asks on a connection of its own; the packet that answers as it is.
  func exchange(_ request: ControlRequest) async throws(ControlClientError) -> [UInt8] {
    try await withClient { client in try client.exchange(request) }
  }

  private func withClient<Answer: Sendable>(
    _ body: @escaping @Sendable (ControlClient) throws -> Answer
  ) async throws(ControlClientError) -> Answer {
    do {
      let client = ControlClient(path, onPrompt: onPrompt)
      return try await withTaskCancellationHandler {
        try await thread.runIfActive {
          try client.connect()
          return try body(client)
        }
      } onCancel: {
        client.disconnect()
      }
    } catch let error as ControlClientError {
      if case .notRunning = error { notRunning.set() }
      throw error
    } catch {
      throw .failed("the authenticator was not asked: the wallet ends")
    }
  }
}
