import LiquidAuth
import Synchronization

/// An HTTP port that asks the user before the first request to an unknown host.
///
/// The first request of a sign-in reveals the account's address to the server.
final class FirstUseGate: HTTPPort {
  private struct State {
    var question: String?
    /// The steps to report once the user has agreed.
    var held: [@Sendable () -> Void] = []
    var refusal: String?
  }

  private let base: any HTTPPort
  private let ask: @Sendable (String) async -> String?
  private let state = Mutex(State())

  /// - Parameter ask: asks whether to use the host; returns the reason against it, or `nil`.
  init(_ base: any HTTPPort, ask: @escaping @Sendable (String) async -> String?) {
    self.base = base
    self.ask = ask
  }

  /// Requires a question about the host before the next request.
  func close(for host: String) { state.withLock { $0.question = host } }

  /// Reports a step before it is taken: now, or after a pending question.
  func report(_ step: @escaping @Sendable () -> Void) {
    let isHeld = state.withLock { state in
      if state.question != nil { state.held.append(step) }
      return state.question != nil
    }
    if !isHeld { step() }
  }

  /// Why nothing was sent.
  var refusal: String? { state.withLock(\.refusal) }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let (question, held) = state.withLock { state in
      defer { (state.question, state.held) = (nil, []) }
      return (state.question, state.held)
    }
    if let question {
      let answer = await ask(question)
      state.withLock { $0.refusal = answer }
    }
    // A refusal also applies to later requests.
    guard refusal == nil else { throw .unreachable("you refused") }
    held.forEach { $0() }
    return try await base.send(request, maximumBodySize: maximumBodySize)
  }
}
