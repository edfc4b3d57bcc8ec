/// The port to a node of one Algorand network.
public protocol AlgodPort: Sendable {
  /// Hands signed transactions to the network: one whole group, or one transaction that is of no group.
  ///
  /// - Parameter signedTransactions: their canonical msgpack, one behind the other.
  func post(_ signedTransactions: [UInt8]) async throws(AlgodFailure)
}

/// Why a node did not take transactions.
public enum AlgodFailure: Error, Equatable, Sendable {
  /// The node refused them; its own words.
  case rejected(String)
  /// The node did not answer in time; it may have taken them.
  case timedOut
  /// The node could not be asked, or did not answer as a node does. For the person, not for the dApp.
  case unavailable(String)
}
