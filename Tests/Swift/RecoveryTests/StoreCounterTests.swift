import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct StoreCounterTests {
  private static let storeID = [UInt8](repeating: 7, count: 16)

  private func row(_ member: CBORValue) -> [UInt8] {
    CBOREncoder.encode(.map([1: .bytes(Self.storeID), 2: 0, 3: 0, 17: member, 20: true, 21: true]))
  }

  @Test(arguments: try Vector("store-counter").counters.array)
  func `the counter has the bytes of the vectors, in the state row`(_ vector: Vector) throws {
    let counter = try #require(
      StoreCounter(index: vector.index.integer(), auth: vector.auth.hex.secret, value: vector.value.integer()))
    let state = StoreState(storeID: Self.storeID, counter: counter)
    #expect(Hex(state.plaintext(version: 6)) == Hex(row(try CBORDecoder.decode(vector.member.bytes))))
    let read = try StoreState.read(state.plaintext(version: 6))
    #expect(read.state == state && read.version == 3)
  }

  @Test(arguments: try Vector("store-counter").malformed.array)
  func `a state row with a malformed counter is refused`(_ vector: Vector) throws {
    let member = try CBORDecoder.decode(vector.member.bytes)
    #expect(throws: RecoveryError.self, "\(vector)") { try StoreState.read(row(member)) }
  }

  // Holds: COUNTER-2
  @Test(arguments: try Vector("store-counter").compared.array)
  func `the value of the counter says whether the store is an old copy`(_ vector: Vector) throws {
    let counter = try #require(
      StoreCounter(index: 1, auth: Hex([UInt8](repeating: 0, count: 32)).secret, value: vector.stored.integer()))
    let outcome =
      switch counter.compared(with: vector.counted.integer()) {
      case .newest: "newest"
      case .oldCopy(let openings): "old copy, opened \(openings) times"
      case .counterWentBack: "the counter went back"
      }
    #expect(outcome == vector.outcome.text)
  }

  @Test(arguments: [0, 31, 33])
  func `an auth value has 32 bytes`(count: Int) {
    #expect(StoreCounter(index: 1, auth: Hex([UInt8](repeating: 0, count: count)).secret, value: 1) == nil)
  }

  @Test func `a reset keeps the counter`() throws {
    let counter = StoreCounter(index: 1, auth: Hex([UInt8](repeating: 0, count: 32)).secret, value: 1)
    var state = StoreState(storeID: Self.storeID, counter: counter)
    try state.reset()
    #expect(state.counter == counter && state.epoch == 1)
  }
}
