public import DeterministicKeys

/// Sends algos (`pay`).
public struct Payment: Hashable, Sendable {
  /// Who receives (`rcv`); `nil` is the zero address, of which nobody has the key.
  public let receiver: AlgorandAddress?
  /// Microalgos (`amt`).
  public let amount: UInt64
  /// Who receives all that is left, and the account is closed (`close`).
  public let closeRemainderTo: AlgorandAddress?

  init(_ members: inout Members) throws(TransactionError) {
    receiver = try members.address("rcv")
    amount = try members.unsigned("amt")
    closeRemainderTo = try members.address("close")
  }
}
