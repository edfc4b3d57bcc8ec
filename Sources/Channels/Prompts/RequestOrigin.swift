import CTAP2
package import CTAPHID
package import HelperProcess
import Synchronization

/// Where a request came in, and what its client gets meanwhile.
package struct RequestOrigin: RequestClient {
  package var door: Door
  /// The status of a CTAP2 request that came over CTAPHID; `nil` for U2F, whose hosts do not wait, and for requests of
  /// the control socket.
  package var status: RequestStatus?
  /// Whether the authenticator has withdrawn the request; `nil` for a request of the device.
  package var withdrawal: Withdrawal?

  package init(door: Door, status: RequestStatus? = nil, withdrawal: Withdrawal? = nil) {
    (self.door, self.status, self.withdrawal) = (door, status, withdrawal)
  }
}

/// Reports to the client what a request waits for; such a client waits for the answer.
package struct RequestStatus: Sendable {
  /// Takes each new status.
  package let report: @Sendable (KeepaliveStatus) async -> Void
  /// Returns whether another request waits for the end of this one, or was refused because of it.
  package var isAwaited: @Sendable () async -> Bool

  package init(
    report: @escaping @Sendable (KeepaliveStatus) async -> Void,
    isAwaited: @escaping @Sendable () async -> Bool = { false }
  ) {
    (self.report, self.isAwaited) = (report, isAwaited)
  }
}

/// Whether the authenticator itself has withdrawn a request of the control socket, such as at a lock of the vault.
///
/// A request ends in the same way if its program closes the connection.
package final class Withdrawal: Sendable {
  private let ours = Atomic(false)

  package init() {}

  /// Whether the authenticator has withdrawn it.
  package var isOurs: Bool { ours.load(ordering: .acquiring) }

  /// Notes that the authenticator withdraws it now.
  package func note() { ours.store(true, ordering: .releasing) }
}
