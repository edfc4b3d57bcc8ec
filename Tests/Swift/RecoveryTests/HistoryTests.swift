import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The vectors in `history.json`, computed by `Tests/EndToEnd/judges/history.py`.
@Suite struct HistoryTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  static func load() throws -> Vector { try Vector("history") }

  static func row(_ vector: Vector) -> HistoryRow {
    HistoryRow(
      sequence: vector.sequence.integer(), previous: vector.previous.bytes, nonce: vector.nonce.bytes,
      sealed: vector.sealed.bytes)
  }

  static func rows() throws -> [HistoryRow] { try load().chain.array.map(row) }

  static func entry(_ vector: Vector) throws -> HistoryEntry {
    HistoryEntry(
      time: vector.time.integer(), site: vector.site.optional?.text,
      kind: try #require(HistoryEntry.Kind(rawValue: vector.kind.integer())),
      outcome: try #require(HistoryEntry.Outcome(rawValue: vector.outcome.integer())),
      verification: try #require(HistoryEntry.Verification(rawValue: vector.verification.integer())),
      door: try vector.door.optional.map { door in try #require(HistoryEntry.Door(rawValue: door.integer())) })
  }

  static func head(_ vector: Vector) -> HistoryHead {
    var head = HistoryHead()
    (head.first, head.before) = (vector.first.integer(), vector.before.bytes)
    (head.last, head.hash) = (vector.last.integer(), vector.hash.bytes)
    head.generation = vector.generation.optional?.integer() ?? 0
    return head
  }

  // Holds: RECORD-1
  @Test func `each entry of the chain has the bytes of the vectors`() throws {
    var head = HistoryHead()
    for vector in try Self.load().chain.array {
      let entry = try Self.entry(vector)
      #expect(Hex(entry.plaintext) == vector.plaintext.hex, "\(vector)")
      let row = try keys.seal(entry, after: head, nonce: vector.nonce.bytes)
      #expect(row == Self.row(vector), "\(vector)")
      #expect(Hex(row.hash) == vector.hash.hex, "\(vector)")
      #expect(row.sealed.count == 272)
      #expect(try keys.open(row) == entry, "\(vector)")
      (head.last, head.hash) = (row.sequence, row.hash)
    }
    #expect(head.count == 8)
  }

  // Holds: RECORD-7
  @Test(arguments: try load().changes.array)
  func `each kind of change has the bytes of the vectors`(_ vector: Vector) throws {
    var head = try Self.load().heads.array.map(Self.head)[1]
    (head.last, head.hash) = (vector.sequence.integer() - 1, vector.previous.bytes)
    let entry = try Self.entry(vector)
    #expect(Hex(entry.plaintext) == vector.plaintext.hex)
    let row = try keys.seal(entry, after: head, nonce: vector.nonce.bytes)
    #expect(row == Self.row(vector))
    #expect(Hex(row.hash) == vector.hash.hex)
    #expect(try keys.open(row) == entry)
  }

  @Test(arguments: try load().entriesThatMustNotOpen.array) func `an invalid entry does not open`(_ vector: Vector) {
    #expect(throws: RecoveryError.self, "\(vector)") { try keys.open(Self.row(vector)) }
  }

  @Test(arguments: try load().heads.array) func `a head has the bytes of the vectors`(_ vector: Vector) throws {
    let head = Self.head(vector)
    #expect(Hex(try keys.seal(head, nonce: vector.nonce.bytes)) == vector.sealed.hex)
    #expect(try keys.openHistoryHead(vector.sealed.bytes, nonce: vector.nonce.bytes) == head)
    var changed = vector.sealed.bytes
    changed[20] ^= 1
    #expect(throws: RecoveryError.notAuthentic) { try keys.openHistoryHead(changed, nonce: vector.nonce.bytes) }
  }

  @Test(arguments: try load().headsBeforeVersion10.array)
  func `a head of an older store opens`(_ vector: Vector) throws {
    #expect(try keys.openHistoryHead(vector.sealed.bytes, nonce: vector.nonce.bytes) == Self.head(vector))
  }

  // Holds: RECORD-11
  @Test(arguments: try load().marks.array)
  func `the mark of the store finds an old end of the history, and an old store`(_ vector: Vector) throws {
    let head = try Self.head(Self.load().heads[vector.head.integer()])
    func mark(_ vector: Vector) -> HistoryMark {
      var mark = HistoryMark(of: HistoryHead(generation: vector.generation.integer()))
      (mark.last, mark.hash) = (vector.last.integer(), vector.hash.bytes)
      return mark
    }
    let found = head.judged(by: mark(vector.mark), next: vector.next.optional?.bytes)
    let missing = vector.missing.optional?.array.map { $0.integer(UInt64.self) }
    var fault = missing.map { HistoryFault.missing($0[0]...$0[1]) }
    if let changed = vector.changed.optional { fault = .changed(changed.integer()) }
    if vector.isStoreOld.optional != nil { fault = .oldStore }
    #expect(found.fault == fault)
    #expect(HistoryMark(of: found.head) == vector.goesOnFrom.optional.map(mark) ?? HistoryMark(of: head))
    #expect(found.head.before == head.before && found.head.first == head.first)
  }

  @Test(arguments: try load().headsThatMustNotOpen.array) func `an invalid head does not open`(_ vector: Vector) {
    #expect(throws: RecoveryError.self, "\(vector)") {
      try keys.openHistoryHead(vector.sealed.bytes, nonce: vector.nonce.bytes)
    }
  }

  // Holds: RECORD-9
  @Test func `of a site that is too long, the end is kept, and the cut is marked`() {
    func kept(_ site: String) -> String? {
      HistoryEntry(time: 0, site: site, kind: .signIn, outcome: .done, verification: .none).site
    }
    let limit = HistoryEntry.maximumSiteSize
    #expect(kept(String(repeating: "a", count: limit)) == String(repeating: "a", count: limit))
    #expect(kept(String(repeating: "a", count: limit + 1)) == "…" + String(repeating: "a", count: limit - 3))
    let false_ = "bank.example." + String(repeating: "a.", count: limit) + "evil.example"
    #expect(kept(false_)?.hasPrefix("…") == true && kept(false_)?.hasSuffix(".a.evil.example") == true)
    #expect(kept(false_)?.utf8.count == limit)
    // No part of a character.
    #expect(kept("ż" + String(repeating: "a", count: limit - 4)) == "ż" + String(repeating: "a", count: limit - 4))
    #expect(kept("xż" + String(repeating: "a", count: limit - 2)) == "…" + String(repeating: "a", count: limit - 3))
    #expect(
      kept(String(repeating: "x", count: limit) + "ż" + String(repeating: "a", count: limit - 4)) == "…"
        + String(repeating: "a", count: limit - 4))
    #expect(kept("") == "")
    // What was kept once is kept as it is.
    for site in [false_, String(repeating: "ż", count: limit)] { #expect(kept(site).flatMap(kept) == kept(site)) }
  }

  @Test func `an empty history has no entries`() { #expect(HistoryHead().count == 0) }

  @Test func `member 21 of the state marks a store with a history`() throws {
    let state = StoreState(storeID: Array(0xA0...0xAF))
    let plaintext = state.plaintext(version: 3)
    #expect(Hex(plaintext) == Hex("a50150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf0200030014f515f5"))
    let read = try StoreState.read(plaintext)
    #expect(read.state == state && read.version == 3)
    // Without member 20 it is not valid.
    let other = plaintext.dropFirst().dropLast(4)
    #expect(throws: RecoveryError.self) { try StoreState.read([0xA4] + other + [0x15, 0xF5]) }
  }
}
