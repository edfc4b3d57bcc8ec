import Testing

@testable import AlgorandTransaction

/// Members of maps: faults with their names, and values at the edge of what is allowed.
@Suite struct MembersTests {
  // Holds: TXN-2
  @Test(arguments: ["", "apar"]) func `a fault names the member, and the map that it is in`(name: String) throws {
    let faults: [(MessagePack, (String) -> TransactionError, (inout Members) throws -> Void)] = [
      (.bool(true), TransactionError.wrongType, { _ = try $0.unsigned("k") }),
      (.unsigned(3), TransactionError.outOfRange, { _ = try $0.unsigned("k", upTo: 2) }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.bool("k") }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.text("k") }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.bytes("k") }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.bytes("k", count: 2) }),
      (.bytes([1]), TransactionError.wrongLength, { _ = try $0.bytes("k", count: 2) }),
      (.bytes([0, 0]), TransactionError.zeroMember, { _ = try $0.bytes("k", count: 2) }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.members("k") }),
      (.unsigned(1), TransactionError.wrongType, { _ = try $0.array("k", upTo: 2, Members.unsigned) }),
      (
        .array([MessagePack](repeating: .unsigned(1), count: 3)), TransactionError.outOfRange,
        { _ = try $0.array("k", upTo: 2, Members.unsigned) }
      ),
      (.array([.bool(true)]), TransactionError.wrongType, { _ = try $0.array("k", upTo: 2, Members.unsigned) }),
      (.unsigned(1), TransactionError.missingMember, { _ = try $0.required("k", nil as Int?) }),
      (.unsigned(1), TransactionError.unknownMember, { try $0.finish() }),
    ]
    for (value, error, read) in faults {
      var members = try Members(map(("k", value)), of: name)
      #expect(throws: error(name.isEmpty ? "k" : "apar.k")) { try read(&members) }
    }
    var outer = try Members(map(("k", map(("j", .unsigned(1))))), of: "apar")
    let inner = try outer.members("k")
    #expect(throws: TransactionError.unknownMember("apar.k.j")) { try inner?.finish() }
  }

  @Test func `a member that is not there is zero, and the limits are allowed`() throws {
    var members = try Members(map(("a", .unsigned(2)), ("b", .bytes([1, 1])), ("c", .bool(true))))
    let (none, most) = (try members.unsigned("x"), try members.unsigned("a", upTo: 2))
    let (no, yes) = (try members.bool("x"), try members.bool("c"))
    let ones = try members.bytes("b", count: 2)
    #expect(none == 0 && most == 2 && !no && yes && ones == [1, 1])
    try members.finish()
  }

  @Test func `an id of 1 is an id, and one round is a time`() throws {
    let (one, key) = (MessagePack.unsigned(1), MessagePack.bytes([UInt8](repeating: 7, count: 32)))
    let transfer = try GroupSummaryTests.transaction("axfer", ["xaid": one])
    let freeze = try GroupSummaryTests.transaction("afrz", ["faid": one, "fadd": key])
    let registration = try GroupSummaryTests.transaction(
      "keyreg", last: 10, ["votekey": key, "selkey": key, "votefst": one, "votelst": one, "votekd": one])
    guard case .assetTransfer(let sent) = transfer.content, case .assetFreeze(let frozen) = freeze.content,
      case .keyRegistration(.online(let keys)) = registration.content
    else {
      Issue.record("another content")
      return
    }
    #expect(sent.asset == 1 && frozen.asset == 1)
    #expect(registration.firstValid == 10 && registration.lastValid == 10)
    #expect(keys.firstRound == 1 && keys.lastRound == 1 && keys.keyDilution == 1)
  }

  // Holds: TXN-2
  @Test func `a position in a list of an application call is at most the length of the list`() throws {
    func call(_ members: [String: MessagePack]) throws -> ApplicationCall? {
      guard case .applicationCall(let call) = try GroupSummaryTests.transaction("appl", members).content else {
        return nil
      }
      return call
    }
    func access(_ elements: MessagePack...) throws -> [ApplicationCall.ResourceReference]? {
      try call(["al": .array(elements)])?.access
    }
    let (one, two) = (MessagePack.unsigned(1), MessagePack.unsigned(2))
    let box = map(("i", one), ("n", .bytes([7])))
    #expect(try call(["apfa": .array([one]), "apbx": .array([box])])?.boxes.map(\.index) == [1])
    #expect(try access(map(("s", one)), map(("p", one))) == [.asset(1), .application(1)])
    #expect(try access(map(("h", map(("d", one), ("s", one))))) == [.holding(account: 1, asset: 1)])
    #expect(try access(map(("l", map(("d", one), ("p", one))))) == [.localState(account: 1, application: 1)])
    #expect(throws: TransactionError.outOfRange("al")) { try access(map(("l", map(("d", two))))) }
    #expect(throws: TransactionError.unknownMember("al.l.x")) { try access(map(("l", map(("d", one), ("x", one))))) }
  }
}

private func map(_ members: (String, MessagePack)...) -> MessagePack {
  .map(members.map { MessagePack.Member(key: $0.0, value: $0.1) })
}
