import CTAP2
import Testing

@Suite struct NonEmptyTests {
  // Holds: WALLET-8
  @Test func `an empty list is nil`() {
    #expect(NonEmpty([Int]()) == nil)
    #expect(NonEmpty([1]) == NonEmpty(last: 1))
    #expect(NonEmpty([1, 2, 3]) == NonEmpty([1, 2], last: 3))
  }

  @Test func `elements keep their order and number`() {
    let list = NonEmpty(["a", "b"], last: "c")
    #expect(list.all == ["a", "b", "c"])
    #expect(list.count == 3)
    #expect(list.map { $0 + "!" }.all == ["a!", "b!", "c!"])
    #expect(list.numbered { "\($0)\($1)" }.all == ["1a", "2b", "3c"])
  }
}
