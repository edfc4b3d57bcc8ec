import AlgorandTransaction
import CBOR
import DeterministicKeys

/// One transaction of a request to sign: ARC-1, Semantic of WalletTransaction, which ARC-27 refers to.
struct WalletTransaction: Equatable {
  /// The transaction (`txn`).
  let transaction: Transaction
  /// The account to which the sender was rekeyed, according to the dApp.
  let authAddr: AlgorandAddress?
  /// The requested signers: empty for none, `nil` for the account that the transaction needs.
  let signers: [AlgorandAddress]?
  /// The transaction as signed by another account; only allowed with empty signers.
  let stxn: Signed?

  /// A signed transaction, and the text in which the dApp sent it.
  struct Signed: Equatable {
    let text: String
    let transaction: SignedTransaction
  }

  private static let known: Set<LooseCBORName> = [
    "txn", "authAddr", "msig", "signers", "stxn", "message", "groupMessage",
  ]

  /// Reads the list of a request: at most 16, and at most as many bytes as the authenticator accepts at once.
  static func list(_ params: ARC27Members) throws(ARC27Error) -> [WalletTransaction] {
    var isFirst = true
    let list = try params.list("txns") { item throws(ARC27Error) in
      defer { isFirst = false }
      return try WalletTransaction(item, isFirst: isFirst)
    }
    let items = try params.required("txns", list)
    let size = items.reduce(0) { $0 + $1.transaction.bytes.count }
    guard size <= Provider.maximumTransactionsSize else {
      throw .invalidInput("params.txns has \(size) bytes in all, of \(Provider.maximumTransactionsSize) at most")
    }
    return items
  }

  private init(_ item: ARC27Member, isFirst: Bool) throws(ARC27Error) {
    let members = try ARC27Members(item.value, path: item.path)
    try members.refuseOthers(than: Self.known)
    if let msig = members.member("msig") { throw msig.fault("is not supported; this is not a multisig account") }
    // The dApp's own text about its transactions is never shown: prompts show only what the daemon decodes.
    _ = try members.member("message")?.text()
    if let message = members.member("groupMessage") {
      _ = try message.text()
      guard isFirst else { throw message.fault("is allowed only in the first transaction") }
    }
    let transaction = try Self.transaction(members.required("txn", members.member("txn")))
    self.transaction = transaction
    authAddr = try members.member("authAddr")?.address()
    signers = try members.list("signers") { member throws(ARC27Error) in try member.address() }
    stxn = try members.member("stxn").map { member throws(ARC27Error) in try Self.signed(member, as: transaction) }
    if stxn != nil, signers != [] {
      throw .invalidInput("\(item.path).stxn is allowed only with an empty list of signers")
    }
  }

  private static func transaction(_ member: ARC27Member) throws(ARC27Error) -> Transaction {
    let bytes = try member.base64()
    // The first byte of a transaction is that of a map, never a letter.
    guard !bytes.starts(with: "TX".utf8) else {
      throw member.fault("begins with \"TX\", which is a prefix for signing and not part of the transaction")
    }
    do throws(TransactionError) { return try Transaction(decoding: bytes) } catch {
      throw member.fault("is refused: \(error)")
    }
  }

  private static func signed(_ member: ARC27Member, as transaction: Transaction) throws(ARC27Error) -> Signed {
    let bytes = try member.base64()
    let signed: SignedTransaction
    do throws(TransactionError) {
      signed = try SignedTransaction(decoding: bytes)
    } catch {
      throw member.fault("is refused: \(error)")
    }
    guard signed.transaction == transaction else { throw member.fault("is not the signed form of txn") }
    return Signed(text: try member.text(), transaction: signed)
  }
}

extension WalletTransaction {
  /// Whether an account is to sign this transaction.
  ///
  /// - Throws: ``ARC27Error/unauthorizedSigner(_:)`` with the first other address, and ``ARC27Error/invalidInput(_:)``
  ///   for a list that only a multisignature could satisfy.
  func isToBeSigned(by account: AlgorandAddress) throws(ARC27Error) -> Bool {
    if let signers {
      if let stranger = signers.first(where: { $0 != account }) { throw .unauthorizedSigner(stranger.text) }
      guard signers.count < 2 else {
        throw .invalidInput("a transaction without msig has one signer, not \(signers.count)")
      }
      guard !signers.isEmpty else { return false }
    }
    let expected = authAddr ?? transaction.sender
    guard expected == account else { throw .unauthorizedSigner(expected.text) }
    return true
  }
}
