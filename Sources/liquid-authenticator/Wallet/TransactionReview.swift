import AlgorandTransaction
import CTAP2
import ControlDoor
import DeterministicKeys

/// Transactions of a dApp, decoded here and not taken at the dApp's word: what the person is shown, and what is signed
/// then.
struct TransactionReview {
  /// One transaction of a request, decoded.
  struct Entry {
    let item: TransactionsToSign.Item
    let transaction: Transaction
  }

  /// Everything that the transactions do.
  let prompt: UserPrompt
  /// Those that the account signs.
  let statements: [AlgorandStatement]
  private let isSigned: [Bool]

  /// What the transactions say by themselves, which no vault is opened for.
  ///
  /// - Throws: `invalidLength` for none, `cannotBeShown` or `wrongGroup`, with the transaction or the group's id.
  static func decode(_ request: TransactionsToSign) throws(ControlFailure) -> NonEmpty<Entry> {
    var entries: [Entry] = []
    for (index, item) in request.items.enumerated() {
      do { entries.append(Entry(item: item, transaction: try Transaction(decoding: item.transaction))) } catch {
        throw ControlFailure(.cannotBeShown, "transaction \(index + 1): \(error)", transaction: UInt64(index))
      }
    }
    guard let decoded = NonEmpty(entries) else { throw ControlFailure(.invalidLength, "there is no transaction") }
    do { _ = try TransactionGroup(entries.map(\.transaction)) } catch {
      throw ControlFailure(.wrongGroup, error.description, group: error.computedID)
    }
    return decoded
  }

  /// Refuses what another account is to sign, and what nobody would read to its end.
  ///
  /// - Parameters:
  ///   - entries: those of the request.
  ///   - account: the one in use.
  ///   - origin: the dApp's.
  /// - Throws: `notOurSigner` with the transaction, or `cannotBeShown`.
  init(of entries: NonEmpty<Entry>, account: AlgorandAddress, origin: String) throws(ControlFailure) {
    for (index, entry) in entries.all.enumerated() where entry.item.isToBeSigned {
      guard entry.item.signer ?? entry.transaction.sender.text == account.text else {
        throw ControlFailure(
          .notOurSigner, "transaction \(index + 1) is to be signed by another account than yours, \(account)",
          transaction: UInt64(index))
      }
    }
    isSigned = entries.all.map(\.item.isToBeSigned)
    statements = entries.all.filter(\.item.isToBeSigned).map { .transaction($0.transaction.bytes) }
    let texts = entries.map { entry in
      UserPrompt.TransactionText(
        lines: entry.transaction.lines(for: account, isSigned: entry.item.isToBeSigned),
        isToBeSigned: entry.item.isToBeSigned)
    }
    prompt = UserPrompt(purpose: .signTransactions(texts), algorandAddress: account.text, origin: origin)
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
      guard line.isSender else { return [text] }
      if sender == account { return ["\(text) (you)"] }
      let signer = "WARNING Signer: your account \(account), which signs for it if it was rekeyed to yours"
      return isSigned ? [text, signer] : [text]
    }
  }
}
