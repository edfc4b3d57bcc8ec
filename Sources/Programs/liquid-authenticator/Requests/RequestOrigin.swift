import CTAP2
import CTAPHID
import HelperProcess
import Synchronization

/// Where a request came in, and what its client gets meanwhile.
struct RequestOrigin: RequestClient {
  var door: Door
  /// The status of a CTAP2 request that came over CTAPHID; `nil` for U2F, whose hosts do not wait, and for requests of
  /// the control socket.
  var status: RequestStatus?
  /// Whether the authenticator has withdrawn the request; `nil` for a request of the device.
  var withdrawal: Withdrawal?
}

/// Reports to the client what a request waits for; such a client waits for the answer.
struct RequestStatus: Sendable {
  /// Takes each new status.
  let report: @Sendable (KeepaliveStatus) async -> Void
  /// Returns whether another request waits for the end of this one, or was refused because of it.
  var isAwaited: @Sendable () async -> Bool = { false }
}

/// Whether the authenticator itself has withdrawn a request of the control socket, such as at a lock of the vault.
///
/// A request ends in the same way if its program closes the connection.
final class Withdrawal: Sendable {
  private let ours = Atomic(false)

  /// Whether the authenticator has withdrawn it.
  var isOurs: Bool { ours.load(ordering: .acquiring) }

  /// Notes that the authenticator withdraws it now.
  func note() { ours.store(true, ordering: .releasing) }
}
