public import DeterministicKeys

/// The port to who signs with an Algorand account: our own authenticator.
///
/// It decodes what it is given by itself, shows it to a person, and asks. What ``Provider`` has checked before is only
/// checked so that a dApp learns early and exactly what is wrong; nothing rests on it.
public protocol TransactionSigner: Sendable {
  /// Signs those transactions of one list that are to be signed, all of them or none.
  ///
  /// - Parameters:
  ///   - transactions: 1 to 16, one whole group in its order, or transactions that are of no group; at least one is to be
  ///     signed.
  ///   - origin: who asks: the dApp's origin, which the person is shown.
  /// - Returns: 64 bytes over "TX" ‖ transaction for each that was to be signed, and `nil` for each other, in their order.
  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(TransactionSignerFailure) -> [[UInt8]?]

  /// Signs a message, 1 to 1024 bytes of UTF-8: 64 bytes over "MX" ‖ message.
  func sign(message: [UInt8], origin: String) async throws(TransactionSignerFailure) -> [UInt8]
}

/// One transaction of a list, and whether it is to be signed.
public struct TransactionToSign: Equatable, Sendable {
  /// Canonical msgpack, without the prefix "TX".
  public let bytes: [UInt8]
  /// Whether the account is to sign it; if not, it is there to be seen, and for the group's id.
  public let isToBeSigned: Bool
  /// Who is to sign, where the dApp says that the sender was rekeyed to another account (`authAddr`).
  public let authAddr: AlgorandAddress?

  /// Joins the three.
  public init(bytes: [UInt8], isToBeSigned: Bool, authAddr: AlgorandAddress? = nil) {
    self.bytes = bytes
    self.isToBeSigned = isToBeSigned
    self.authAddr = authAddr
  }
}

/// Why nothing was signed.
///
/// A sentence is the adapter's: lower case, no full stop. All but that of `unavailable`, which may speak of this machine,
/// is told to the dApp.
public enum TransactionSignerFailure: Error, Equatable, Sendable {
  /// The person refused.
  case denied
  /// Nobody answered in time.
  case timedOut
  /// The transactions are not those of the group that they say they are of; the id that they have, 32 bytes.
  case wrongGroupID(computed: [UInt8])
  /// The account may not sign the transaction at that index.
  case notOurSigner(index: Int)
  /// What is to be signed cannot be shown; the transaction's index, `nil` for a message or the list, and why.
  case notUnderstood(index: Int?, reason: String)
  /// The authenticator is not running, its vault was not opened, or it failed.
  case unavailable(String)
}
