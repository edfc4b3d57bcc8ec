import CTAP2
import CTAPHID
import EventLoop
import Prompts
import Recovery
import StateDirectory

extension RequestContext {
  /// Counts the times from the clock's zero, as the authenticator does.
  init(channel: UInt64, times: CTAPHIDDriver.Times, client: (any RequestClient)?, isHybrid: Bool = false) {
    let zero = Instant(nanoseconds: 0)
    self.init(
      channel: channel, poweredUpAt: zero.duration(to: times.poweredUpAt),
      pluggedInAt: zero.duration(to: times.pluggedInAt), client: client, isHybrid: isHybrid)
  }
}

extension RequestStatus {
  /// Returns a status that also counts the requests in a queue.
  func orAwaited<Authenticator: Sendable>(in queue: RequestQueue<Authenticator>) -> RequestStatus {
    var status = self
    status.isAwaited = { [isAwaited] in
      if queue.waitingCount > 0 { return true }
      return await isAwaited()
    }
    return status
  }
}

/// Serves both the device and the control socket: their requests wait in one queue.
struct RequestRouter: Sendable {
  let options: DaemonOptions
  let directory: StateDirectory
  let vault: CurrentVault
  let keySource: VaultKeySource
  let prompter: UserPrompter
  /// Counts the signatures of accounts and association keys.
  let signatures: SignatureCounts
  let queue: RequestQueue<Authenticator>
  /// Delays the requests of programs at the control socket.
  let refused: RefusedPrograms
  /// Runs requests that may write durably, so that a slow disk does not delay keepalives.
  let writer: any TaskExecutor

  /// Commands that run on the loop; the authenticator runs the writes of a sign-in on `writer`.
  private static let reading = [GetInfo.code, GetAssertion.code, GetNextAssertion.code, Selection.code]

  /// Answers a CTAP2 message in its turn; one that is withdrawn before that gets KEEPALIVE_CANCEL.
  ///
  /// A report does not wait for its turn: while a person reads a wallet's transactions, a platform can still find the
  /// key.
  ///
  /// - Parameter isOfDevice: whether it came through the device, so that it goes before those of the control socket.
  func respond(to message: [UInt8], in context: RequestContext, isOfDevice: Bool) async -> [UInt8] {
    if queue.isTaken, Authenticator.isReport(message) {
      // On the loop it would have to wait for a request that is writing.
      let authenticator = queue.copy
      return await withTaskExecutorPreference(writer) {
        var authenticator = authenticator
        return await authenticator.respond(to: message, in: context)
      }
    }
    do throws(CancellationError) {
      let isReading = message.first.map(Self.reading.contains) ?? true
      let origin = context.client as? RequestOrigin
      return try await refused.submit(to: queue, from: origin, isOfDevice: isOfDevice) { authenticator in
        if isReading { return await authenticator.respond(to: message, in: context) }
        return await withTaskExecutorPreference(writer) { await authenticator.respond(to: message, in: context) }
      }
    } catch {
      return [CTAPStatus.keepaliveCancel.rawValue]
    }
  }
}
