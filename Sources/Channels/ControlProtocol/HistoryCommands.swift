package import CBOR

// The owner's commands for the history of ceremonies; they need the vault's passphrase on the connection.

/// A page of the history, the oldest entry first: {1: after?}.
package struct ListHistory: ControlCommand {
  package static let code: UInt8 = 0x6D
  /// The most entries of one page: each has at most 280 bytes.
  package static let pageSize = 500
  /// `next` of the previous page; `nil` for the first page.
  package var after: Int64?

  package init(after: Int64? = nil) { self.after = after }
  package init(_ members: CBORMap) throws(ControlFailure) { after = try decoded(members.optionalInt(1)) }
  package var members: CBORMap { CBORMap(present: [1: after.map { CBORValue($0) }]) }

  /// {1: [entry …], 2: next?}.
  package struct Answer: ControlAnswer, Equatable {
    /// The oldest first.
    package var entries: [HistoryDescription]
    /// What the next page follows; `nil` on the last one.
    package var next: Int64?

    package init(entries: [HistoryDescription], next: Int64? = nil) { (self.entries, self.next) = (entries, next) }

    package init(_ members: CBORMap) throws(ControlFailure) {
      entries = []
      for element in try decoded(members.requiredArray(1)) {
        guard let map = element.map else { throw ControlFailure(.unexpectedType, "an entry is not a map") }
        entries.append(try HistoryDescription(map))
      }
      next = try decoded(members.optionalInt(2))
    }

    package var members: CBORMap {
      CBORMap(present: [1: .array(entries.map { .map($0.members) }), 2: next.map { CBORValue($0) }])
    }
  }
}

/// An entry of the history: {1: number, 2: time, 3: kind, 4: outcome, 5: verification, 6: site?, 7: door?}, with the
/// numbers of Recovery §6; only 1 of an entry that does not open.
package struct HistoryDescription: Equatable, Sendable {
  package var number: Int64
  /// `nil` if the entry does not open.
  package var content: Content?

  package struct Content: Equatable, Sendable {
    /// Unix milliseconds.
    package var time: UInt64
    package var kind: UInt8
    package var outcome: UInt8
    package var verification: UInt8
    package var site: String?
    /// `nil` for this machine.
    package var door: UInt8?

    package init(
      time: UInt64, kind: UInt8, outcome: UInt8, verification: UInt8, site: String?, door: UInt8? = nil
    ) {
      (self.time, self.kind, self.outcome) = (time, kind, outcome)
      (self.verification, self.site, self.door) = (verification, site, door)
    }
  }

  package init(number: Int64, content: Content?) { (self.number, self.content) = (number, content) }

  init(_ members: CBORMap) throws(ControlFailure) {
    number = try decoded(members.requiredInt(1))
    guard let time = try decoded(members.optionalUnsigned(2)) else { return }
    content = Content(
      time: time, kind: try members.requiredInteger(3, as: UInt8.self),
      outcome: try members.requiredInteger(4, as: UInt8.self),
      verification: try members.requiredInteger(5, as: UInt8.self), site: try decoded(members.optionalText(6)),
      door: try members[7] == nil ? nil : members.requiredInteger(7, as: UInt8.self))
  }

  var members: CBORMap {
    CBORMap(present: [
      1: CBORValue(number), 2: content.map { .unsigned($0.time) }, 3: content.map { .number($0.kind) },
      4: content.map { .number($0.outcome) }, 5: content.map { .number($0.verification) },
      6: content?.site.map(CBORValue.text), 7: content?.door.map { .number($0) },
    ])
  }
}

/// Checks that the history is intact.
package struct CheckHistory: PlainCommand {
  package static let code: UInt8 = 0x6E
  package init() {}

  /// {1: entries, 2: time of the oldest?, 3: time of the newest?, 4: [fault …], 5: number of faults}.
  package struct Answer: ControlAnswer, Equatable {
    /// The most faults that are sent.
    package static let maximumFaults = 100

    /// The number of entries that open.
    package var count: UInt64
    /// Unix milliseconds.
    package var first: UInt64?
    /// Unix milliseconds.
    package var last: UInt64?
    /// The first faults, in the order of the entries: what happened to which entries, in words.
    package var faults: [String]
    /// How many there are.
    package var faultCount: UInt64

    /// Keeps the first ``maximumFaults`` faults.
    package init(count: UInt64, first: UInt64?, last: UInt64?, faults: [String]) {
      (self.count, self.first, self.last) = (count, first, last)
      (self.faults, faultCount) = (Array(faults.prefix(Self.maximumFaults)), UInt64(faults.count))
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      count = try decoded(members.requiredUnsigned(1))
      first = try decoded(members.optionalUnsigned(2))
      last = try decoded(members.optionalUnsigned(3))
      faults = try members.texts(4, "a fault")
      faultCount = try decoded(members.requiredUnsigned(5))
    }

    package var members: CBORMap {
      CBORMap(present: [
        1: .unsigned(count), 2: first.map(CBORValue.unsigned), 3: last.map(CBORValue.unsigned), 4: .texts(faults),
        5: .unsigned(faultCount),
      ])
    }
  }
}
