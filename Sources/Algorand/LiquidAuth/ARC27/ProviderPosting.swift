import AlgorandTransaction
import CBOR

extension Provider {
  /// ARC-27, Post Transactions: posts signed transactions to their network, each group at once.
  func postTransactions(_ stxns: [[UInt8]]) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue] {
    try requireNode(.postTransactions)
    var signed: [SignedTransaction] = []
    for (index, bytes) in stxns.enumerated() {
      do throws(TransactionError) {
        signed.append(try SignedTransaction(decoding: bytes))
      } catch {
        throw .invalidInput("params.stxns[\(index)] is refused: \(error)")
      }
    }
    for transaction in signed { _ = try node(of: transaction.transaction, .postTransactions) }
    return try await post(signed, .postTransactions)
  }

  /// ARC-27, Sign And Post Transactions: shows no prompt unless all transactions can be posted afterwards.
  ///
  /// The answer holds ids, as in the standard's schema; its example shows signed transactions.
  func signAndPostTransactions(_ items: [WalletTransaction]) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue]
  {
    try requireNode(.signAndPostTransactions)
    for (index, item) in items.enumerated() {
      _ = try node(of: item.transaction, .signAndPostTransactions)
      guard item.signers != [] || item.stxn != nil else {
        throw .invalidInput("params.txns[\(index)] has no signature and cannot be posted")
      }
    }
    let signatures = try await signatures(for: items, .signAndPostTransactions)
    return try await post(
      zip(items, signatures).compactMap { item, signature in
        signature.map { signed(item, $0) } ?? item.stxn?.transaction
      }, .signAndPostTransactions)
  }

  /// Posts each group, and each transaction without one, in order; a failure does not stop the next.
  private func post(
    _ transactions: [SignedTransaction], _ method: ARC27Method
  ) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue] {
    var ids: [String?] = []
    var failures: [PortError] = []
    for group in Self.groups(of: transactions) {
      let algod = try node(of: group[0].transaction, method)
      do throws(PortError) {
        try await algod.post(group.flatMap(\.bytes))
        ids += group.map(\.transaction.id)
      } catch {
        failures.append(error)
        ids += group.map { _ in nil }
      }
    }
    guard failures.isEmpty else { throw .failedToPostSomeTransactions(successTxnIDs: ids, failures: failures) }
    return ["txnIDs": .array(ids.compactMap { $0.map(LooseCBORValue.text) })]
  }

  /// Adjacent transactions with the same group id form a group.
  private static func groups(of transactions: [SignedTransaction]) -> [[SignedTransaction]] {
    transactions.reduce(into: []) { groups, next in
      if let group = next.transaction.group, groups.last?.last?.transaction.group == group {
        groups[groups.count - 1].append(next)
      } else {
        groups.append([next])
      }
    }
  }

  /// Refuses methods that post if no network has a node, before any other check.
  private func requireNode(_ method: ARC27Method) throws(ARC27Error) {
    guard configuration.networks.contains(where: { $0.algod != nil }) else {
      throw .methodNotSupported(method.rawValue)
    }
  }

  private func node(of transaction: Transaction, _ method: ARC27Method) throws(ARC27Error) -> any AlgodPort {
    guard let algod = try configuration.network(transaction.genesisHash).algod else {
      throw .methodNotSupported(method.rawValue)
    }
    return algod
  }
}
