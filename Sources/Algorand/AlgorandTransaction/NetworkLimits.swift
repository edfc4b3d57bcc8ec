import Messages

extension Transaction {
  /// A warning for each limit of the networks that the transaction exceeds: a node refuses it, so its signature is wasted,
  /// or serves something else than the network.
  ///
  /// The limits are those of go-algorand's consensus version 41 (`config/consensus.go`), which the public networks use. A
  /// later version may raise them, so the transaction is not refused here.
  var limitLines: [SummaryLine] {
    var excess: [(Message, limit: UInt64)] = []
    func check(_ count: UInt64, _ limit: UInt64, _ what: Message) {
      if count > limit { excess.append((what, limit)) }
    }
    let (noted, rounds) = (note.count, lastValid - firstValid)
    // MaxTxnNoteBytes, MaxTxnLife.
    check(UInt64(noted), 1024, Message("a note of \(noted) bytes"))
    check(rounds, 1000, Message("valid for \(rounds) rounds"))
    if case .applicationCall(let call) = content {
      let (count, size) = (call.arguments.count, call.arguments.reduce(0) { $0 + $1.count })
      // MaxAppArgs, MaxAppTotalArgLen, MaxAppTotalTxnReferences, MaxAppAccess.
      check(UInt64(count), 16, Message("\(count) arguments"))
      check(UInt64(size), 2048, Message("arguments of \(size) bytes in all"))
      check(UInt64(call.referenceCount), 8, Message("\(call.referenceCount) references"))
      check(UInt64(call.access.count), 16, Message("an access list of \(call.access.count) elements"))
    }
    return excess.map { what, limit in
      let text = Message("\(what); the network accepts at most \(limit)")
      return SummaryLine(Message("Over the limit"), text, isWarning: true)
    }
  }
}

extension ApplicationCall {
  /// The elements of the four lists that ``access`` replaces.
  fileprivate var referenceCount: Int {
    accounts.count + foreignApplications.count + foreignAssets.count + boxes.count
  }
}
