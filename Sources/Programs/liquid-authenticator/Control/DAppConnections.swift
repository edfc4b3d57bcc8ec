import Synchronization

/// The wallets that are connected to a dApp, by their connections to the control socket; for the status.
final class DAppConnections: Sendable {
  private let isOpen = Mutex<[UInt64: Bool]>([:])

  /// How many have an open channel.
  var openCount: Int { isOpen.withLock { $0.values.count { $0 } } }
  /// How many wait for the dApp to come back.
  var awayCount: Int { isOpen.withLock { $0.values.count { !$0 } } }

  /// Stores the report of a connection.
  func set(isOpen: Bool, of connection: UInt64) { self.isOpen.withLock { $0[connection] = isOpen } }

  /// Forgets a connection that has ended.
  func ended(_ connection: UInt64) { isOpen.withLock { _ = $0.removeValue(forKey: connection) } }
}
