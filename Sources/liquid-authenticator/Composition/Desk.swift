import CTAP2
import StateDirectory

/// Serves both doors: the key's requests and those of the control socket wait in the same line.
struct Desk: Sendable {
  let options: DaemonOptions
  let directory: StateDirectory
  let people: People
  let queue: RequestQueue<Authenticator>

  /// Answers a CTAP2 message in its turn; one that is withdrawn before that is told so.
  func respond(to message: [UInt8], in context: RequestContext) async -> [UInt8] {
    do throws(CancellationError) {
      return try await queue.submit { await $0.respond(to: message, in: context) }
    } catch {
      return [CTAPStatus.keepaliveCancel.rawValue]
    }
  }
}
