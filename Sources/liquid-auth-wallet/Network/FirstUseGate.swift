import LiquidAuth
import Synchronization

/// HTTP that asks before the first request to a host that this machine does not know.
///
/// The first request of a sign-in tells the server the account's address.
final class FirstUseGate: HTTPPort {
  private struct State {
    var question: String?
    /// What is told when the question is answered with yes.
    var held: [@Sendable () -> Void] = []
    var refusal: String?
  }

  private let base: any HTTPPort
  private let ask: @Sendable (String) async -> String?
  private let state = Mutex(State())

  /// - Parameter ask: asks whether the host is meant; what speaks against it, `nil` if nothing does.
  init(_ base: any HTTPPort, ask: @escaping @Sendable (String) async -> String?) {
    self.base = base
    self.ask = ask
  }

  /// The host is to be asked about before anything is sent.
  func close(for host: String) { state.withLock { $0.question = host } }

  /// Tells a step before it is taken: now, or after the question that comes first.
  func tell(_ step: @escaping @Sendable () -> Void) {
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
    // A no holds for whatever would follow.
    guard refusal == nil else { throw .unreachable("you declined") }
    held.forEach { $0() }
    return try await base.send(request, maximumBodySize: maximumBodySize)
  }
}
