import Testing

@testable import liquid_auth

// Holds: PROTECT-4
@Test(arguments: [
  (2, 2, "slot 2 is removed"), (2, 3, "slot 2 is removed; slot 3 is now slot 2"),
  (1, 3, "slot 1 is removed; slot 2 is now slot 1; slot 3 is now slot 2"),
])
func `removing a slot says which numbers change`(_ slot: Int, _ count: Int, _ text: String) {
  #expect(VaultCommand.Remove.text(removing: slot, of: count) == text)
}
