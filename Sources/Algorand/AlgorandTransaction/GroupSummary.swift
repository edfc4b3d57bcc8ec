public import DeterministicKeys
import Messages

/// The lines that a prompt shows of transactions that are signed together, and their short form.
public struct GroupSummary: Sendable {
  /// The lines of each transaction without those in ``common``; the first line is its kind.
  public let each: [[SummaryLine]]
  /// The lines for sender, network, validity and group that several transactions share; shown once.
  public let common: [SummaryLine]
  /// The network of each transaction, once.
  public let networks: [SummaryLine]
  /// The short form, which a long prompt repeats at its end.
  ///
  /// The gravest lines come first, in case the user reads only the beginning. For one transaction: its kind, every
  /// warning, what it moves or calls, and its fee. For several: their kinds, the transactions with warnings that the
  /// account signs, the totals by asset, the fees, and the other transactions with warnings.
  public let inShort: [SummaryLine]

  /// Summarizes what the transactions do to an account, and what its signature does to others.
  ///
  /// - Parameters:
  ///   - isSigned: for each transaction, whether the account signs it.
  ///   - account: the account in use.
  public init(_ group: TransactionGroup, isSigned: [Bool], account: AlgorandAddress) {
    let transactions = Array(zip(group.transactions, isSigned))
    let lines = transactions.map { $0.summary(for: account, isSigned: $1) }
    networks = group.transactions.map(\.networkLine).reduce(into: []) { networks, line in
      if !networks.contains(line) { networks.append(line) }
    }
    guard let first = group.transactions.first, transactions.count > 1 else {
      (each, common) = (lines, [])
      inShort = transactions.flatMap { $0.essence(for: account, isSigned: $1) }
      return
    }
    let common = first.frame(for: account).filter { line in
      group.transactions.allSatisfy { $0.frame(for: account).contains(line) }
    }
    self.common = common
    each = lines.map { $0.filter { !common.contains($0) } }
    // A group is committed as a whole. A transaction that is outside a group and not signed here does not concern the
    // account.
    let counted = transactions.filter { group.id != nil || $1 }.map { Counted(transaction: $0, isSigned: $1) }
    inShort =
      [SummaryLine(Message("Transactions"), Self.kinds(group.transactions))]
      + Self.warnings(lines, of: isSigned.indices.filter { isSigned[$0] }, isSigned: true)
      + Totals(counted, account: account).lines
      + Self.warnings(lines, of: isSigned.indices.filter { !isSigned[$0] }, isSigned: false)
  }

  /// The number of transactions of each kind, in order of first appearance.
  private static func kinds(_ transactions: [Transaction]) -> Message {
    let kinds = transactions.map(\.content.kind)
    var seen: [Message] = []
    for kind in kinds where !seen.contains(kind) { seen.append(kind) }
    let counted = seen.map { kind in
      [kind, Message(verbatim: "(\(kinds.count { $0 == kind }))")].joined(by: " ")
    }
    return counted.joined(by: ", ")
  }

  /// The warnings with their transactions: first those that give an account away, then in order of first appearance.
  private static func warnings(
    _ summaries: [[SummaryLine]], of indices: [Int], isSigned: Bool
  ) -> [SummaryLine] {
    var numbers: [(label: Message, of: [Int])] = []
    for index in indices {
      for line in summaries[index] where line.isWarning {
        let place = numbers.firstIndex { $0.label == line.label } ?? numbers.count
        if place == numbers.count { numbers.append((line.label, [])) }
        if numbers[place].of.last != index + 1 { numbers[place].of.append(index + 1) }
      }
    }
    return Transaction.gravestFirst(numbers, \.label).map { label, of in
      let list = of.map(String.init).joined(separator: ", ")
      let place =
        of.count == summaries.count
        ? Message("in all of them")
        : Message("in transaction \(list)", plural: "in transactions \(list)", count: of.count)
      return SummaryLine(label, isSigned ? place : Message("\(place) (not signed by you)"), isWarning: true)
    }
  }
}

extension Transaction {
  /// The summary as seen from an account: marks its own address, and a sender that it signs for.
  fileprivate func summary(for account: AlgorandAddress, isSigned: Bool) -> [SummaryLine] {
    summary.flatMap { line in
      line.isSender ? [senderLine(for: account)] + signerLines(for: account, isSigned: isSigned) : [line]
    }
  }

  /// The short form of one transaction.
  fileprivate func essence(for account: AlgorandAddress, isSigned: Bool) -> [SummaryLine] {
    let signer = signerLines(for: account, isSigned: isSigned)
    let main = essence
    let from = sender == account ? [] : [senderLine(for: account)]
    return Array(main.prefix(1)) + from + signer + Array(main.dropFirst())
  }

  /// The lines that transactions of one request usually share.
  fileprivate func frame(for account: AlgorandAddress) -> [SummaryLine] {
    [senderLine(for: account)] + validityFrame
  }

  private func senderLine(for account: AlgorandAddress) -> SummaryLine {
    sender == account
      ? SummaryLine(Message("From"), Message("\(sender.grouped) (you)"))
      : SummaryLine(Message("From"), verbatim: sender.grouped)
  }

  private func signerLines(for account: AlgorandAddress, isSigned: Bool) -> [SummaryLine] {
    guard isSigned, sender != account else { return [] }
    let value = Message("your account \(account.grouped); valid only if the sender was rekeyed to it")
    return [SummaryLine(Message("Signer"), value, isWarning: true)]
  }
}

// MARK: - Totals

/// A transaction that counts in the totals: part of a group, or signed by the account.
private struct Counted {
  let transaction: Transaction
  let isSigned: Bool
}

/// The sums that transactions move, as seen from one account.
private struct Totals {
  /// Sums and receivers by asset, `nil` for algos; sixteen of the largest amounts fit into 128 bits.
  private struct Sum {
    var amounts: [UInt64?: UInt128] = [:]
    var receivers: [UInt64?: Set<AlgorandAddress?>] = [:]

    mutating func add(_ movement: Movement) {
      amounts[movement.asset, default: 0] += UInt128(movement.amount)
      receivers[movement.asset, default: []].insert(movement.to)
    }

    /// Algos first, then assets by their numbers, which are above 0.
    func lines(_ label: Message, namesReceivers: Bool) -> [SummaryLine] {
      amounts.sorted { $0.key ?? 0 < $1.key ?? 0 }.map { asset, sum in
        let amount = asset.map { Message("\(smallestUnits(sum)) of asset \($0)") } ?? algos(sum)
        return SummaryLine(label, namesReceivers ? Message("\(amount) to \(to(asset))") : amount)
      }
    }

    private func to(_ asset: UInt64?) -> Message {
      let all = receivers[asset] ?? []
      guard all.count == 1, let only = all.first else {
        return Message("\(all.count) receiver", plural: "\(all.count) receivers", count: all.count)
      }
      return only.map { Message(verbatim: $0.grouped) } ?? Message("the zero address")
    }
  }

  private var sent = Sum()
  private var sentForOthers = Sum()
  private var received = Sum()
  private var fees: UInt128 = 0
  private var callsApplications = false

  init(_ transactions: [Counted], account: AlgorandAddress) {
    for counted in transactions {
      let transaction = counted.transaction
      if transaction.sender == account || counted.isSigned { fees += UInt128(transaction.fee) }
      if case .applicationCall = transaction.content { callsApplications = true }
      // A transfer to oneself moves nothing.
      guard let movement = Movement(transaction), movement.amount > 0, movement.to != movement.from else { continue }
      if movement.from == account {
        sent.add(movement)
      } else if counted.isSigned {
        sentForOthers.add(movement)
      }
      if movement.to == account { received.add(movement) }
    }
  }

  var lines: [SummaryLine] {
    sent.lines(Message("You send"), namesReceivers: true)
      + sentForOthers.lines(Message("Others send, signed by you"), namesReceivers: true)
      + received.lines(Message("You receive"), namesReceivers: false)
      + [SummaryLine(Message("Fees"), algos(fees))]
      + (callsApplications
        ? [SummaryLine(Message("Not counted"), Message("what the called applications move"))] : [])
  }
}

/// What one transaction moves, without the remainder of a closed account or asset, which is a warning.
private struct Movement {
  let from: AlgorandAddress
  let to: AlgorandAddress?
  /// `nil` for algos.
  let asset: UInt64?
  let amount: UInt64

  init?(_ transaction: Transaction) {
    switch transaction.content {
    case .payment(let payment):
      (from, to, asset, amount) = (transaction.sender, payment.receiver, nil, payment.amount)
    case .assetTransfer(let transfer):
      from = transfer.assetSender ?? transaction.sender
      (to, asset, amount) = (transfer.receiver, transfer.asset, transfer.amount)
    case .assetConfiguration, .assetFreeze, .applicationCall, .keyRegistration: return nil
    }
  }
}
