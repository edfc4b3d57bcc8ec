import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// Changes of the chain in `history.json`.
@Suite struct HistoryCheckTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  private func faults(_ rows: [HistoryRow], head: HistoryHead?) -> [HistoryFault] {
    var check = HistoryCheck(head)
    for row in rows { check.add(row, sequence: Int64(bitPattern: row.sequence), keys: keys) }
    check.finish()
    return check.faults
  }

  // Holds: RECORD-3
  @Test func `every changed, removed or exchanged entry is found`() throws {
    let (rows, heads) = (try HistoryTests.rows(), try HistoryTests.load().heads.array.map(HistoryTests.head))
    #expect(faults(rows, head: heads[1]) == [])
    #expect(faults(Array(rows[4...]), head: heads[2]) == [])
    #expect(faults([], head: heads[0]) == [])
    for (index, row) in rows.enumerated() {
      for change in [\HistoryRow.previous, \.nonce, \.sealed] {
        var changed = rows
        changed[index][keyPath: change][3] ^= 1
        #expect(faults(changed, head: heads[1]) == [.changed(row.sequence)], "\(index)")
      }
      var removed = rows
      removed.remove(at: index)
      #expect(faults(removed, head: heads[1]) == [.missing(row.sequence...row.sequence)], "\(index)")
      let cut = Array(rows[..<index])
      #expect(faults(cut, head: heads[1]) == [.missing(row.sequence...8)], "\(index)")
      let late = Array(rows[(index + 1)...])
      #expect(faults(late, head: heads[1]) == [.missing(1...row.sequence)], "\(index)")
      for other in rows.indices where other > index {
        var swapped = rows
        (swapped[index], swapped[other]) = (rows[other], rows[index])
        (swapped[index].sequence, swapped[other].sequence) = (row.sequence, rows[other].sequence)
        #expect(
          faults(swapped, head: heads[1]) == [.changed(row.sequence), .changed(rows[other].sequence)],
          "\(index), \(other)")
      }
    }
  }

  // Holds: RECORD-3
  @Test func `entries and heads of an older copy are found`() throws {
    let (rows, heads) = (try HistoryTests.rows(), try HistoryTests.load().heads.array.map(HistoryTests.head))
    // Another entry 3, which an older copy had in this place: it opens.
    var before = HistoryHead()
    (before.last, before.hash) = (2, rows[1].hash)
    let other = HistoryEntry(time: 1, site: "a.example", kind: .signIn, outcome: .done, verification: .none)
    var forked = rows
    forked[2] = try keys.seal(other, after: before, nonce: [UInt8](repeating: 1, count: 24))
    #expect(faults(forked, head: heads[1]) == [.changed(3)])
    // The same in the last place.
    (before.last, before.hash) = (7, rows[6].hash)
    forked = rows
    forked[7] = try keys.seal(other, after: before, nonce: [UInt8](repeating: 1, count: 24))
    #expect(faults(forked, head: heads[1]) == [.changed(8)])
    // An older head, and one from after a rotation.
    #expect(faults(Array(rows[..<2]), head: heads[0]) == [.added(1), .added(2)])
    #expect(faults(rows, head: heads[2]) == [.added(1), .added(2), .added(3), .added(4)])
    #expect(faults(rows, head: nil) == [.noHead])
    #expect(faults([], head: nil) == [.noHead])
  }

  @Test func `a number outside the history is none of its entries`() throws {
    var check = HistoryCheck(try HistoryTests.load().heads.array.map(HistoryTests.head)[0])
    for number in [-1, 0, .max, .min] as [Int64] {
      #expect(check.add(try HistoryTests.rows()[0], sequence: number, keys: keys) == nil)
    }
    check.finish()
    #expect(check.faults == [.added(-1), .added(0), .added(.max), .added(.min)])
  }

  @Test func `a fault names the entries`() {
    let faults: [HistoryFault] = [.changed(3), .missing(4...4), .missing(4...9), .added(-7), .noHead, .oldStore]
    #expect(
      faults.map(\.description) == [
        "entry 3 was changed", "entry 4 is missing", "entries 4 to 9 are missing", "entry -7 was added",
        "the row that says where the history begins and ends was changed or removed",
        "the rest of the store is an old copy, older than the history",
      ])
  }
}
