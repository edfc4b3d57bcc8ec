import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The pairings in the state row.
@Suite struct PairingsTests {
  private static func secret(_ bytes: [UInt8]) -> SecretBytes { Hex(bytes).secret }

  private static func pairing(
    _ origin: String, path: String = "", rpID: String = "a.example", id: String = "p", credential: [UInt8] = [0x63]
  ) -> Pairing {
    Pairing(origin: origin, path: path, rpID: rpID, id: id, credential: secret(credential))
  }

  @Test func `a site finds the newest pairing by origin, host and rp.id`() throws {
    var pairings = Pairings()
    try pairings.keep(Self.pairing("https://www.a.example:8443"))
    try pairings.keep(Self.pairing("https://b.example", rpID: "b.example"))
    for site in ["https://www.a.example:8443", "www.a.example:8443", "a.example"] {
      #expect(pairings.pairing(with: site)?.origin == "https://www.a.example:8443")
    }
    #expect(pairings.pairing(with: "www.a.example") == nil)
    #expect(pairings.pairing(with: "") == nil)
  }

  // Holds: WALLET-29
  @Test(arguments: [
    ("https://a.example", "a.example", true), ("https://www.a.example:8443", "a.example", true),
    ("http://localhost:3000", "localhost", true), ("http://[::1]:3000", "[::1]", true), ("http://[::1]", "[::1]", true),
    ("https://a.example", "www.a.example", false), ("https://nota.example", "a.example", false),
    ("https://a.example", "b.example", false), ("https://a.example:443", "example:443", false), ("o", "o", false),
  ])
  func `the relying party of a pairing is the host of its origin, or above it`(
    _ origin: String, _ rpID: String, _ isOfRelyingParty: Bool
  ) {
    #expect(Self.pairing(origin, rpID: rpID).isOfRelyingParty == isOfRelyingParty)
  }

  @Test func `a new pairing takes the place of the one with the same server`() throws {
    var pairings = Pairings()
    try pairings.keep(Self.pairing("https://a.example", id: "1"))
    try pairings.keep(Self.pairing("https://a.example", id: "2"))
    #expect(pairings.all.map(\.id) == ["2"])
  }

  @Test func `beyond the limit, the oldest goes`() throws {
    var pairings = Pairings()
    for number in 0...Pairings.maximumCount { try pairings.keep(Self.pairing("https://\(number).example")) }
    #expect(pairings.all.count == Pairings.maximumCount)
    #expect(pairings.all.first?.origin == "https://1.example")
  }

  // Holds: WALLET-29
  @Test(arguments: [
    pairing(""), pairing("o", rpID: "a b"), pairing("o\u{7F}"), pairing("\u{F6}"),
    pairing(String(repeating: "o", count: 301)), pairing("o", id: ""),
    pairing("o", id: String(repeating: "p", count: 129)), pairing("o", credential: []),
    pairing("o", path: ".evil.example"), pairing("o", path: ":1"), pairing("o", path: "/a b"),
    pairing("o", path: "/" + String(repeating: "a", count: 255)),
    pairing("o", credential: [UInt8](repeating: 1, count: 1025)),
  ])
  func `a pairing beyond the limits is not kept`(_ pairing: Pairing) {
    var pairings = Pairings()
    #expect(throws: RecoveryError(.pairing, "")) { try Pairings.check(pairing) }
    #expect(throws: RecoveryError(.pairing, "")) { try pairings.keep(pairing) }
    #expect(pairings.all.isEmpty)
  }

  @Test func `the state row keeps them, and a reset and another phrase do not`() throws {
    var state = StoreState(storeID: [UInt8](repeating: 1, count: 16))
    try state.pairings.keep(Self.pairing("https://a.example", path: "/auth", credential: [1, 2]))
    try state.pairings.keep(Self.pairing("https://b.example", credential: [3]))
    #expect(try StoreState.read(state.plaintext(version: 3)).state == state)
    #expect(state.ofNewPhrase(storeID: state.storeID).pairings.all.isEmpty)
    try state.reset()
    #expect(state.pairings.all.isEmpty)
  }

  @Test func `a token is in the plaintext, and not in the map that is read`() throws {
    var state = StoreState(storeID: [UInt8](repeating: 1, count: 16))
    let (first, second) = (Array("first token".utf8), Array("second".utf8))
    try state.pairings.keep(Self.pairing("https://a.example", credential: first))
    try state.pairings.keep(Self.pairing("https://b.example", credential: second))
    var plaintext = state.plaintext(version: 3)
    for token in [first, second] { #expect(plaintext.contains(token)) }
    let secrets = try StateSecrets(taking: &plaintext)
    #expect(secrets.pairings == [Self.secret(first), Self.secret(second)])
    for token in [first, second] { #expect(!plaintext.contains(token)) }
  }

  /// The state row with another member 22.
  private func read(_ member: CBORValue) throws -> StoreState {
    let state = StoreState(storeID: [UInt8](repeating: 1, count: 16))
    var map = try #require(try CBORDecoder.decode(state.plaintext(version: 3)).map)
    map[22] = member
    return try StoreState.read(CBOREncoder.encode(.map(map))).state
  }

  @Test(
    arguments: [
      [], 7, [7], [[1: "o", 2: "r", 3: "p"]], [[1: "o", 2: "r", 3: "p", 4: .bytes([])]],
      [[1: "o", 2: "r", 3: "p", 4: "c"]], [[1: "o", 2: "r", 3: "p", 4: .bytes([1]), 9: 1]],
      [[2: "r", 3: "p", 4: .bytes([1])]], [[1: "o", 2: "r", 3: "p", 4: .bytes([1]), 5: "auth"]],
      [[1: "o", 2: "r", 3: "p", 4: .bytes([1])], [1: "o", 2: "r", 3: "p", 4: .bytes([1])]],
    ] as [CBORValue])
  func `a state row with malformed pairings is refused`(_ member: CBORValue) {
    #expect(throws: RecoveryError.self) { try read(member) }
  }

  @Test func `a state row with a pairing is read`() throws {
    let state = try read([[1: "o", 2: "r", 3: "p", 4: .bytes([1])]])
    #expect(state.pairings.all == [Self.pairing("o", rpID: "r", credential: [1])])
    let below = try read([[1: "o", 2: "r", 3: "p", 4: .bytes([1]), 5: "/auth"]])
    #expect(below.pairings.all == [Self.pairing("o", path: "/auth", rpID: "r", credential: [1])])
  }

  @Test func `the pairings of a site go with its last passkey`() throws {
    let machine = try Machine()
    let (alice, bob) = (try machine.register("alice"), try machine.register("bob"))
    var state = try machine.store.state()
    try state.pairings.keep(Self.pairing("https://a.example.com", rpID: "example.com"))
    try state.pairings.keep(Self.pairing("https://other.example", rpID: "other.example"))
    try machine.store.setState(state)
    try machine.vault.remove(alice, now: 2000)
    #expect(try machine.store.state().pairings.all.count == 2)
    machine.store.isFull = true
    #expect(throws: RecoveryError.self) { try machine.vault.remove(bob, now: 2000) }
    #expect(try machine.store.state().pairings.all.count == 2, "both go, or none")
    machine.store.isFull = false
    try machine.vault.remove(bob, now: 2000)
    #expect(try machine.store.state().pairings.all.map(\.origin) == ["https://other.example"])
  }
}
