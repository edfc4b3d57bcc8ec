import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct StoreStateRulesTests {
  private func state(epoch: UInt16 = 0, floor: UInt16 = 0) -> StoreState {
    StoreState(storeID: Array(0xA0...0xAF), epoch: epoch, floor: floor)
  }

  @Test(arguments: try KeysAndRecovery.load().epochs.array)
  func `epoch and floor follow the events of a machine`(_ events: Vector) throws {
    var state = state()
    for event in events.array {
      switch event.event.text {
      case "reset": try state.reset()
      case "accept-before-reset": state.acceptBeforeReset()
      case "id used with consent", "merge": state.see(epoch: event.idOrBackupEpoch.integer())
      default: Issue.record("an event that the vectors added: \(event.event.text)")
      }
      #expect(state.epoch == event.epoch.integer())
      #expect(state.floor == event.floor.integer())
    }
  }

  @Test func `the last epoch cannot be reset`() throws {
    var state = state(epoch: .max - 1, floor: 3)
    try state.reset()
    #expect(state.epoch == .max)
    let before = state
    #expect(throws: RecoveryError.self) { try state.reset() }
    #expect(state == before)
  }

  @Test func `see(epoch:) returns whether the epoch is higher`() {
    var state = state(epoch: 2)
    let answers = [2, 0, 3, 3].map { state.see(epoch: $0) }
    #expect(answers == [false, false, true, false])
    #expect(state.epoch == 3)
  }

  @Test(arguments: try KeysAndRecovery.load().nextCounter.array)
  func `the next counter is the first of the epoch, or the one after the highest known`(
    _ vector: Vector
  ) {
    let next = state(epoch: vector.epoch.integer()).nextCounter(known: vector.known.optional?.integer())
    let isFull = vector.next.json == "KEY_STORE_FULL"
    #expect(next == (isFull ? nil : vector.next.integer(UInt32.self)))
  }

  @Test(
    arguments: [
      (0, 65_534, 65_535), (1, 65_535, 65_536), (1, 131_071, nil), (0, .max, nil), (.max, .max - 1, .max),
      (.max, .max, nil), (.max, 0, 0xFFFF_0000),
    ] as [(UInt16, UInt32, UInt32?)])
  func `the next counter stays in the epoch of the known one`(_ epoch: UInt16, _ known: UInt32, _ next: UInt32?) {
    #expect(state(epoch: epoch).nextCounter(known: known) == next)
  }

  @Test func `unusable counters are skipped until the epoch ends`() {
    var tried: [UInt32] = []
    let found = state(epoch: 1).firstUsableCounter(known: 65_540) { counter -> UInt32? in
      tried.append(counter)
      return counter == 65_543 ? counter : nil
    }
    #expect(found == 65_543)
    #expect(tried == [65_541, 65_542, 65_543])

    tried = []
    let none = state().firstUsableCounter(known: 65_533) { counter -> UInt32? in
      tried.append(counter)
      return nil
    }
    #expect(none == nil)
    #expect(tried == [65_534, 65_535])
  }

  @Test(arguments: try KeysAndRecovery.load().live.array)
  func `an id without a row is live by its epoch and the account entry`(_ vector: Vector) throws {
    let (salt, epoch) = ([UInt8](repeating: 1, count: 16), vector.idEpoch.integer(UInt16.self))
    let counter = UInt32(epoch) << 16 | (vector.counter.optional?.integer() ?? 0)
    let parameters: CredentialParameters? =
      switch vector.kind.text {
      case "discoverable":
        .discoverable(userID: [1], counter: counter, algorithm: .es256)
      case "non-discoverable": .nonDiscoverable(userID: [1], salt: salt, epoch: epoch, algorithm: .es256)
      default: .u2f(salt: salt, epoch: epoch)
      }
    let account = try vector.known.optional.map { known -> AccountEntry in
      if vector.deleted.optional?.isTrue == true { return .tombstone(counter: known.integer(), changed: 1) }
      let source = CredentialSource(
        rpID: "example.com", userID: [1], id: [1], algorithm: .es256, counter: known.integer(), created: 1, changed: 1,
        origin: .registered)
      return .record(try #require(source))
    }
    let isLive = state(floor: vector.floor.integer()).isLive(try #require(parameters), account: account)
    #expect(isLive == vector.live.isTrue)
  }
}
