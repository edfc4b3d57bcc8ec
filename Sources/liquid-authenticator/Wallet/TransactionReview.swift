import AlgorandTransaction
import CTAP2
import ControlDoor
import DeterministicKeys

/// Transactions of a dApp, decoded here and not taken at the dApp's word: what the person is shown, and what is signed
/// then.
struct TransactionReview {
  /// Everything that the transactions do.
  let prompt: UserPrompt
  /// Those that the account signs.
  let statements: [AlgorandStatement]
  private let isSigned: [Bool]

  /// What the transactions say by themselves, which no vault is opened for.
  ///
  /// - Throws: `cannotBeShown` or `wrongGroup`, with the transaction or the group's id.
  static func decode(_ request: TransactionsToSign) throws(ControlFailure) -> [Transaction] {
    var transactions: [Transaction] = []
    for (index, item) in request.items.enumerated() {
      do { transactions.append(try Transaction(decoding: item.transaction)) } catch {
        throw ControlFailure(.cannotBeShown, "transaction \(index + 1): \(error)", transaction: UInt64(index))
      }
    }
    do { return try TransactionGroup(transactions).transactions } catch {
      throw ControlFailure(.wrongGroup, error.description, group: error.computedID)
    }
  }

  /// Refuses what another account is to sign, and what nobody would read to its end.
  ///
  /// - Parameters:
  ///   - transactions: those of the request, decoded.
  ///   - account: the one in use.
  /// - Throws: `notOurSigner` with the transaction, or `cannotBeShown`.
  init(
    of request: TransactionsToSign, decoded transactions: [Transaction], account: AlgorandAddress
  ) throws(ControlFailure) {
    for (index, item) in request.items.enumerated() where item.isToBeSigned {
      guard item.signer ?? transactions[index].sender.text == account.text else {
        throw ControlFailure(
          .notOurSigner, "transaction \(index + 1) is to be signed by another account than yours, \(account)",
          transaction: UInt64(index))
      }
    }
    isSigned = request.items.map(\.isToBeSigned)
    statements = zip(transactions, isSigned).filter(\.1).map { .transaction($0.0.bytes) }
    prompt = UserPrompt(
      purpose: .signTransactions(
        zip(transactions, isSigned).map { transaction, isSigned in
          UserPrompt.TransactionText(
            lines: transaction.lines(for: account, isSigned: isSigned), isToBeSigned: isSigned)
        }),
      algorandAddress: account.text, origin: request.origin)
    try PromptPages(prompt).checkCount()
  }

  /// One signature for each transaction that was to be signed, at its place in the group.
  func answer(with signatures: [[UInt8]]) -> TransactionSignatures {
    var rest = signatures[...]
    return TransactionSignatures(isSigned.map { $0 ? rest.popFirst() : nil })
  }
}

extension PromptPages {
  /// The most dialogs of one request of a wallet; who has to click through more does not read them.
  static let maximumCount = 40

  /// - Throws: `cannotBeShown` for more than ``maximumCount``.
  func checkCount() throws(ControlFailure) {
    let count = before.count + 1
    guard count <= Self.maximumCount else {
      throw ControlFailure(.cannotBeShown, "it takes \(count) dialogs to show, and \(Self.maximumCount) are allowed")
    }
  }
}

extension Transaction {
  /// The summary, a line each, with warnings marked; the sender is told from other accounts.
  fileprivate func lines(for account: AlgorandAddress, isSigned: Bool) -> [String] {
    summary.flatMap { line in
      let text = "\(line.isWarning ? "WARNING " : "")\(line.label): \(line.value)"
      guard line.label == "From" else { return [text] }
      if sender == account { return ["\(text) (you)"] }
      let signer = "WARNING Signer: your account \(account), which signs for it if it was rekeyed to yours"
      return isSigned ? [text, signer] : [text]
    }
  }
}
