import LiquidAuth
import Synchronization

/// HTTP that asks before the first request to a host that this machine does not know.
///
/// The first request of a sign-in tells the server the account's address.
final class FirstUseGate: HTTPPort {
  private struct State {
    var question: String?
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

  /// Why nothing was sent.
  var refusal: String? { state.withLock(\.refusal) }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(HTTPFailure) -> HTTPResponse {
    let question = state.withLock { state in
      defer { state.question = nil }
      return state.question
    }
    if let question, let refusal = await ask(question) {
      state.withLock { $0.refusal = refusal }
      throw .unreachable("it was not to be asked")
    }
    return try await base.send(request, maximumBodySize: maximumBodySize)
  }
}
