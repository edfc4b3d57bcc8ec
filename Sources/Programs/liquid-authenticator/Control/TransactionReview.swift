import AlgorandStatements
import AlgorandTransaction
import CTAP2
import ControlProtocol
import DeterministicKeys
import Messages
import Prompts

/// A dApp's transactions, decoded here without trust in the dApp: what the user is shown, and what is signed.
struct TransactionReview {
  /// The transactions of a request, decoded.
  struct Decoded {
    /// One transaction.
    struct Entry {
      let item: SignTransactions.Item
      let transaction: Transaction
    }

    let entries: NonEmpty<Entry>
    let group: TransactionGroup
  }

  /// Everything that the transactions do.
  let prompt: UserPrompt
  /// The transactions that the account signs.
  let statements: [AlgorandStatement]
  private let isSigned: [Bool]

  /// Decodes the transactions and checks their group; needs no vault.
  ///
  /// - Throws: `invalidLength` for an empty request, `cannotBeShown` or `wrongGroup`, with the transaction or the
  ///   group's id.
  static func decode(_ request: SignTransactions) throws(ControlFailure) -> Decoded {
    var entries: [Decoded.Entry] = []
    for (index, item) in request.items.enumerated() {
      do { entries.append(Decoded.Entry(item: item, transaction: try Transaction(decoding: item.transaction))) } catch {
        throw ControlFailure(.cannotBeShown, "transaction \(index + 1): \(error)", transaction: UInt64(index))
      }
    }
    guard let list = NonEmpty(entries) else { throw ControlFailure(.invalidLength, "there is no transaction") }
    do { return Decoded(entries: list, group: try TransactionGroup(entries.map(\.transaction))) } catch {
      throw ControlFailure(.wrongGroup, error.description, group: error.computedID)
    }
  }

  /// Throws if another account must sign.
  ///
  /// - Parameters:
  ///   - decoded: the transactions of the request.
  ///   - account: the account in use.
  ///   - origin: the dApp's origin; `nil` if there is no dApp.
  ///   - showsAll: whether long fields are shown whole.
  /// - Throws: `notOurSigner` with the transaction; `cannotBeShown` if there would be too many pages.
  init(
    of decoded: Decoded, account: AlgorandAddress, origin: String?, showsAll: Bool = false
  ) throws(ControlFailure) {
    let entries = decoded.entries
    for (index, entry) in entries.all.enumerated() where entry.item.isToBeSigned {
      guard entry.item.signer ?? entry.transaction.sender.text == account.text else {
        throw ControlFailure(
          .notOurSigner, "transaction \(index + 1) needs a signature of \(account), which is not your account",
          transaction: UInt64(index))
      }
    }
    isSigned = entries.all.map(\.item.isToBeSigned)
    statements = entries.all.filter(\.item.isToBeSigned).map { .transaction($0.transaction.bytes) }
    let summary = GroupSummary(decoded.group, isSigned: isSigned, account: account)
    let isShortened = !showsAll && (summary.each.joined() + summary.common).contains { $0.short != nil }
    let hint = isShortened ? [Message("To read long fields whole, deny, and connect with --show-all.")] : []
    let each = entries.numbered { number, entry in
      // Warnings come first.
      let lines = summary.each[number - 1].dropFirst()
      return UserPrompt.TransactionText(
        kind: entry.transaction.content.kind,
        lines: (lines.filter(\.isWarning) + lines.filter { !$0.isWarning }).map { $0.text(isWhole: showsAll) }
          + (entries.count == 1 ? hint : []),
        isToBeSigned: entry.item.isToBeSigned)
    }
    var texts = UserPrompt.TransactionTexts(
      each: each, isGroup: decoded.group.id != nil, common: summary.common.map { $0.text(isWhole: showsAll) },
      inShort: summary.inShort.map { $0.text(isWhole: false) } + (entries.count == 1 ? [] : hint))
    texts.networks = summary.networks.map { $0.text(isWhole: false) }
    let surrenders = entries.all.filter(\.item.isToBeSigned).compactMap(\.transaction.surrender)
    texts.surrender = surrenders.contains(.control) ? .control : surrenders.first
    prompt = UserPrompt(
      purpose: .wallet(.signTransactions(texts)), algorandAddress: account.text, origin: origin)
    let count = prompt.pageCount
    guard count <= Self.maximumPages else {
      throw ControlFailure(
        .cannotBeShown,
        "the transactions need \(count) pages, and a prompt has at most \(Self.maximumPages)"
          + (showsAll ? "; connect without --show-all" : "; ask the dApp for fewer or shorter ones"))
    }
  }

  /// The most pages of one prompt.
  static let maximumPages = 60

  /// One signature for each transaction that was to be signed, at its place in the group.
  func answer(with signatures: [[UInt8]]) -> SignTransactions.Answer {
    var rest = signatures[...]
    return SignTransactions.Answer(isSigned.map { $0 ? rest.popFirst() : nil })
  }
}

extension Transaction {
  /// What its sender gives away beside the amount.
  fileprivate var surrender: UserPrompt.Surrender? {
    if rekeyTo != nil { return .control }
    return switch content {
    case .payment(let payment): payment.closeRemainderTo == nil ? nil : .rest
    case .assetTransfer(let transfer): transfer.closeTo == nil ? nil : .rest
    case .assetConfiguration, .assetFreeze, .applicationCall, .keyRegistration: nil
    }
  }
}

extension SummaryLine {
  /// The line with its label; warnings are marked.
  ///
  /// - Parameter isWhole: whether a long value is shown whole.
  fileprivate func text(isWhole: Bool) -> Message {
    let line = [label, isWhole ? value : short ?? value].joined(by: ": ")
    return isWarning ? Message("WARNING \(line)") : line
  }
}
