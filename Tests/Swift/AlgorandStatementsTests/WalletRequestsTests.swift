import CBOR
import CryptoPrimitives
import DeterministicKeys
import Messages
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import AlgorandStatements
@testable import CTAP2
@testable import CTAP2Tests

/// Requests of a wallet outside of the ceremonies.
@Suite struct WalletRequestsTests {
  private static func vectors() throws -> Vector { try Vector("keys-and-recovery") }

  static let prompt = UserPrompt(
    purpose: .wallet(
      .signTransactions(
        .init(
          each: NonEmpty(
            last: .init(
              kind: Message(verbatim: "payment"), lines: [Message(verbatim: "Amount: 1")], isToBeSigned: true)),
          isGroup: false, common: [], inShort: []))),
    algorandAddress: try? vectors().phoneCandidates.address.text, origin: "https://d.example")

  private func counts(of world: TestWorld) throws -> SignatureCounts {
    try #require(world.keySource.current).signatures
  }

  // MARK: Accounts

  @Test func `the first address is the account in use`() async throws {
    let world = TestWorld(isOpen: false)
    let addresses = try await world.addresses(0..<3)
    let vectors = try Self.vectors()
    #expect(addresses[0].text == vectors.phoneCandidates.address.text)
    #expect(Set(addresses).count == 3)
    #expect(try await world.addresses(2..<3) == [addresses[2]])
    // The vault was unlocked with this reason.
    #expect(world.keySource.reasons == [.wallet(.showAccount(rpID: nil))])
    #expect(world.person.shown.isEmpty)
  }

  // Holds: WALLET-2
  @Test func `the addresses of every account are those of the xHD library`() async throws {
    let world = TestWorld()
    let leaves = try Vector("xhd-wallet").upstream.peikert_g9.array.filter { $0.context.text == "Address" }
    #expect(Set(leaves.map { $0.account.integer() }) == [0, 1, 2, 3])
    for leaf in leaves {
      let (account, index) = (leaf.account.integer(UInt32.self), leaf.keyIndex.integer(UInt32.self))
      let addresses = try await world.addresses(index..<index + 1, of: account)
      #expect(addresses.map(\.text) == [leaf.address.text], "m/44'/283'/\(account)'/0/\(index)")
    }
  }

  // Holds: WALLET-2
  @Test func `indices and accounts are below 2^31`() async throws {
    let world = TestWorld()
    #expect(try await world.addresses(1 << 31 - 1..<1 << 31, of: 1 << 31 - 1).count == 1)
    await #expect(throws: CTAPError(.other, "")) { try await world.addresses(1 << 31..<1 << 31 + 1) }
    await #expect(throws: CTAPError(.other, "")) { try await world.addresses(0..<1, of: 1 << 31) }
  }

  @Test func `a vault that stays locked gives no address`() async {
    let world = TestWorld(isOpen: false)
    world.keySource.lock(thenFailWith: .cancelled)
    await #expect(throws: CTAPError(.keepaliveCancel, "")) { try await world.addresses(0..<1) }
  }

  // MARK: The account's passkey

  @Test func `without a record, the passkey is that of phone wallets`() async throws {
    let vectors = try Self.vectors().phoneCandidates
    let world = TestWorld(isOpen: false)
    let passkey = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
    #expect(Hex(passkey.id) == vectors.ids["0"].hex)
    #expect(!passkey.isStored)
    #expect(world.keySource.reasons == [.wallet(.showAccount(rpID: vectors.rpId.text))])
  }

  @Test func `with a record, the passkey is that of the record`() async throws {
    let vectors = try Self.vectors().phoneCandidates
    var world = TestWorld()
    let userID = Array(vectors.address.text.utf8)
    let first = try await world.register(userID: userID, rpID: vectors.rpId.text)
    var passkey = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
    #expect(passkey.isStored)
    #expect(passkey.id == first.credentialID)
    #expect(Hex(passkey.id) == vectors.ids["0"].hex)
    let second = try await world.register(userID: userID, rpID: vectors.rpId.text)
    passkey = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
    #expect(passkey.id == second.credentialID)
    #expect(Hex(passkey.id) == vectors.ids["1"].hex)
    // At another relying party there is none.
    #expect(try await !world.authenticator.accountPasskey(rpID: "example.com").isStored)
  }

  @Test func `a passkey that was removed is not stored`() async throws {
    let vectors = try Self.vectors().phoneCandidates
    var world = TestWorld()
    _ = try await world.register(userID: Array(vectors.address.text.utf8), rpID: vectors.rpId.text)
    let record = try #require(try world.store.credentials(rpIDHash: RPIDHash(rpID: vectors.rpId.text)).first)
    try world.store.remove(record, changed: 1)
    let passkey = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
    #expect(!passkey.isStored)
    #expect(Hex(passkey.id) == vectors.ids["0"].hex)
  }

  // Holds: WALLET-23
  @Test(arguments: [CredProtectLevel.userVerificationOptionalWithCredentialIDList, .userVerificationRequired])
  func `a protected passkey is shown only after verification`(_ level: CredProtectLevel)
    async throws
  {
    let vectors = try Self.vectors().phoneCandidates
    var world = TestWorld()
    let made = await world.makeCredential(
      Requests.makeCredential(
        rk: true, uv: true, rpID: vectors.rpId.text, userID: Array(vectors.address.text.utf8),
        changes: Requests.registering(["credProtect": .unsigned(UInt64(level.rawValue))])))
    #expect(made.status == .success)
    let asked = ScriptedPerson.Shown(
      prompt: UserPrompt(purpose: .wallet(.showPasskey), rpID: vectors.rpId.text), verification: true)
    #expect(try await world.authenticator.accountPasskey(rpID: vectors.rpId.text).isStored)
    #expect(world.person.shown.last == asked)
    let deeds: [ScriptedPerson.Operation] = [.fail(.declined), .answer(userPresent: true, userVerified: false)]
    for operation in deeds {
      world.person.will(operation)
      await #expect(throws: CTAPError(.operationDenied, "")) {
        try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
      }
    }
    #expect(world.person.shown.count == 4)
    #expect(world.reports.all.suffix(2).map(\.status) == [.operationDenied, .operationDenied])
    #expect(world.reports.all.last?.site?.text == vectors.rpId.text)
  }

  // Holds: WALLET-7
  @Test func `the dialog for a protected passkey names the requesting host`() async throws {
    let vectors = try Self.vectors().phoneCandidates
    var world = TestWorld()
    _ = await world.makeCredential(
      Requests.makeCredential(
        rk: true, uv: true, rpID: vectors.rpId.text, userID: Array(vectors.address.text.utf8),
        changes: Requests.registering(["credProtect": 3])))
    let host = "wallet.\(vectors.rpId.text)"
    for (asked, shown) in [(nil, nil), (vectors.rpId.text, nil), (host, host)] as [(String?, String?)] {
      _ = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text, host: asked)
      #expect(world.person.shown.last?.prompt.purpose == .wallet(.showPasskey))
      #expect(world.person.shown.last?.prompt.host == shown)
    }
    world.keySource.lock()
    _ = try await world.authenticator.accountPasskey(rpID: vectors.rpId.text, host: host)
    #expect(world.keySource.reasons == [.wallet(.showAccount(rpID: vectors.rpId.text, host: host))])
  }

  // Holds: WALLET-23
  @Test func `without verification, a protected passkey is not shown`() async throws {
    let vectors = try Self.vectors().phoneCandidates
    var world = TestWorld(canVerify: false)
    let made = await world.makeCredential(
      Requests.makeCredential(
        rk: true, rpID: vectors.rpId.text, userID: Array(vectors.address.text.utf8),
        changes: Requests.registering(["credProtect": 3])))
    #expect(made.status == .success)
    await #expect(throws: CTAPError(.invalidOption, "")) {
      try await world.authenticator.accountPasskey(rpID: vectors.rpId.text)
    }
    #expect(world.person.shown.count == 1, "of the registration")
    #expect(
      world.reports.all.last?.error?.reason
        == "the site protects its passkey, and verification is off; \(Self.remedy)")
  }

  private static let remedy = "start the authenticator with --verification passphrase"

  // MARK: The owner's policies

  private func set(_ policy: SitePolicy, of site: String, in world: TestWorld) throws {
    var state = try world.store.state()
    try state.policies.set(policy, of: site)
    try world.store.setState(state)
  }

  // Holds: POLICY-6
  @Test(arguments: ["d.example", "https://d.example"]) func `deny refuses signatures for a dApp without a prompt`(
    site: String
  ) async throws {
    let world = TestWorld()
    try set(.deny, of: site, in: world)
    await #expect(throws: CTAPError(.operationDenied, "")) {
      try await world.authenticator.sign([.transaction([0x80])], asking: Self.prompt)
    }
    #expect(world.person.shown.isEmpty)
    #expect(try counts(of: world).algorand == 0)
    let entry = world.reports.all.last?.historyEntry(at: 1)
    #expect(entry?.outcome == .deniedByPolicy && entry?.site == "https://d.example")
    var other = Self.prompt
    other.origin = "https://other.example"
    #expect(try await world.authenticator.sign([.transaction([0x80])], asking: other).count == 1)
  }

  // Holds: POLICY-6
  @Test func `deny refuses Keyri and the passkey of a site; always-verify refuses signatures without verification`()
    async throws
  {
    let world = TestWorld(canVerify: false)
    for site in ["keyri.example", "d.example", "site.example"] { try set(.deny, of: site, in: world) }
    await #expect(throws: CTAPError(.operationDenied, "")) {
      try await world.authenticator.signAssociation(publicUserID: "al", data: [0x31], service: "keyri.example")
    }
    for (rpID, host) in [("site.example", nil), ("other.example", "a.d.example")] as [(String, String?)] {
      await #expect(throws: CTAPError(.operationDenied, "")) {
        try await world.authenticator.accountPasskey(rpID: rpID, host: host)
      }
      #expect(world.reports.all.last?.historyEntry(at: 1)?.outcome == .deniedByPolicy)
    }
    #expect(try await world.authenticator.accountPasskey(rpID: "other.example").isStored == false)
    try set(.alwaysVerify, of: "d.example", in: world)
    await #expect(throws: CTAPError(.invalidOption, "")) {
      try await world.authenticator.sign([.transaction([0x80])], asking: Self.prompt)
    }
    #expect(
      world.reports.all.last?.error?.reason
        == "the policy of the site is always-verify, and verification is off; \(Self.remedy)")
    #expect(world.person.shown.isEmpty)
    #expect(try counts(of: world).algorand == 0 && counts(of: world).association == 0)
  }

  // Holds: POLICY-6
  @Test func `with always-verify, a verified user signs`() async throws {
    let world = TestWorld()
    try set(.alwaysVerify, of: "d.example", in: world)
    #expect(try await world.authenticator.sign([.transaction([0x80])], asking: Self.prompt).count == 1)
    #expect(world.person.shown.map(\.verification) == [true])
  }

  // Holds: POLICY-6
  @Test func `deny refuses a ceremony with the extension liquid`() async throws {
    var world = TestWorld()
    try set(.deny, of: Requests.rpID, in: world)
    let form: CBORMap = ["liquid": ["challenge": .bytes([UInt8](repeating: 1, count: 32))]]
    #expect(
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: Requests.registering(form)))
        .status != .success)
    #expect(world.person.shown.isEmpty)
    #expect(try counts(of: world).algorand == 0)
  }

  // MARK: Signatures by the account

  // Holds: PEERARC27-4
  @Test func `each statement is signed with its prefix, after one consent with verification`() async throws {
    let world = TestWorld()
    let address = try await world.addresses(0..<1)[0]
    let signatures = try await world.authenticator.sign(
      [.transaction([1, 2]), .message([1, 2]), .transaction([])], asking: Self.prompt)
    let signed: [[UInt8]] = [[0x54, 0x58, 1, 2], [0x4D, 0x58, 1, 2], [0x54, 0x58]]
    for (signature, message) in zip(signatures, signed) {
      #expect(Ed25519.isValidSignature(signature, for: message, publicKey: address.publicKey))
    }
    #expect(signatures.count == 3)
    #expect(world.person.shown == [.init(prompt: Self.prompt, verification: true)])
    #expect(try counts(of: world).algorand == 3)
    #expect(try counts(of: world).association == 0)
    let report = try #require(world.reports.all.last)
    #expect(report.site?.text == "https://d.example")
    #expect(report.error == nil)
  }

  @Test func `without verification set up, presence is enough`() async throws {
    let world = TestWorld(canVerify: false)
    #expect(try await world.authenticator.sign([.message([1])], asking: Self.prompt).count == 1)
    #expect(world.person.shown == [.init(prompt: Self.prompt, verification: false)])
  }

  static let refusals: [(ScriptedPerson.Operation, CTAPStatus)] = [
    (.fail(.declined), .operationDenied), (.fail(.unavailable), .operationDenied),
    (.fail(.timedOut), .userActionTimeout),
    (.fail(.cancelled), .keepaliveCancel), (.fail(.verificationFailed), .uvInvalid),
    (.fail(.verificationBlocked), .uvBlocked), (.answer(userPresent: false, userVerified: true), .operationDenied),
    (.answer(userPresent: true, userVerified: false), .operationDenied),
  ]

  // Holds: WALLET-26
  @Test(arguments: refusals.indices)
  func `after a refusal, nothing is signed or counted`(_ index: Int) async throws {
    let (operation, status) = Self.refusals[index]
    let world = TestWorld()
    world.person.will(operation, operation)
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.sign([.transaction([1])], asking: Self.prompt)
    }
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.signAssociation(publicUserID: "al", data: [1], service: "s")
    }
    #expect(try counts(of: world).algorand == 0)
    #expect(try counts(of: world).association == 0)
    #expect(world.reports.all.map(\.status) == [status, status])
  }

  // Holds: WALLET-14
  @Test func `a vault that is locked during the prompt signs nothing`() async throws {
    let world = TestWorld()
    let counts = try counts(of: world)
    world.person.will(.agreeAfter { [keySource = world.keySource] in keySource.lock() })
    await #expect(throws: CTAPError(.keepaliveCancel, "")) {
      try await world.authenticator.sign([.transaction([1])], asking: Self.prompt)
    }
    #expect(counts.algorand == 0)
  }

  // Holds: WALLET-22
  @Test(arguments: [nil, "another"] as [String?])
  func `a request for another account is refused without a prompt`(_ address: String?) async throws {
    let world = TestWorld()
    var prompt = Self.prompt
    prompt.algorandAddress = address
    await #expect(throws: CTAPError(.notAllowed, "")) {
      try await world.authenticator.sign([.transaction([1])], asking: prompt)
    }
    #expect(world.person.shown.isEmpty)
    #expect(try counts(of: world).algorand == 0)
  }

  // Holds: WALLET-12
  @Test(arguments: [
    (UserInteractionError.verificationFailed, CTAPStatus.uvInvalid), (.verificationBlocked, .uvBlocked),
    (.wrongPassphrase, .uvInvalid), (.declined, .operationDenied), (.timedOut, .userActionTimeout),
    (.cancelled, .keepaliveCancel),
  ])
  func `a wrong passphrase and a refusal have different errors`(_ error: UserInteractionError, _ status: CTAPStatus)
    async throws
  {
    let world = TestWorld()
    world.person.will(.fail(error), .fail(error))
    let association = (publicUserID: "al@example.com", data: Array("d".utf8), service: "s")
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.sign([.transaction([1])], asking: Self.prompt)
    }
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.signAssociation(
        publicUserID: association.publicUserID, data: association.data, service: association.service)
    }
    world.keySource.lock(thenFailWith: error)
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.accountAddresses(0..<1, of: 0, for: .wallet(.showAccount(rpID: nil)))
    }
    await #expect(throws: CTAPError(status, "")) { try await world.authenticator.accountPasskey(rpID: "a") }
    await #expect(throws: CTAPError(status, "")) {
      try await world.authenticator.associationPublicKey(publicUserID: "a")
    }
  }

  @Test func `the unlock prompt names the request`() async throws {
    let world = TestWorld(isOpen: false)
    _ = try await world.authenticator.sign([.transaction([1])], asking: Self.prompt)
    #expect(world.keySource.reasons == [.prompt(Self.prompt)])
    #expect(world.person.shown.map(\.prompt) == [Self.prompt])
  }

  // Holds: WALLET-26
  @Test func `a signature of a liquid ceremony is counted too`() async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: [(6, ["liquid": true])]))
    #expect(answer.status == .success)
    #expect(try counts(of: world).algorand == 1)
    _ = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, ["liquid": true])]))
    #expect(try counts(of: world).algorand == 2)
    // Passkeys are not counted.
    _ = await world.getAssertion(Requests.getAssertion(uv: true))
    #expect(try counts(of: world).algorand == 2)
  }

  // MARK: Pairings

  private static let pairing = Pairing(
    origin: "https://d.example", rpID: "d.example", id: "p", credential: Hex(Array("token".utf8)).secret)

  /// A world whose store has a passkey of the pairing's site.
  private static func worldWithPasskey() throws -> TestWorld {
    let world = TestWorld()
    let vault = try #require(world.keySource.current)
    try vault.save(
      vault.makeDiscoverableCredential(
        CredentialRegistration(
          rpID: "d.example", user: PublicKeyCredentialUserEntity(id: [1]), algorithm: .es256), known: nil, now: 1))
    return world
  }

  // Holds: WALLET-29
  @Test func `a pairing is kept and given after a prompt each, with verification`() async throws {
    let world = try Self.worldWithPasskey()
    try await world.authenticator.keep(Self.pairing)
    for site in ["https://d.example", "d.example"] {
      #expect(try await world.authenticator.pairing(with: site) == Self.pairing)
    }
    let shown = [WalletPurpose.rememberDApp(replaces: false), .useDApp, .useDApp].map { purpose in
      ScriptedPerson.Shown(
        prompt: UserPrompt(purpose: .wallet(purpose), rpID: "d.example", origin: "https://d.example"),
        verification: true)
    }
    #expect(world.person.shown == shown)
    let entries = world.reports.all.compactMap { $0.historyEntry(at: 1) }
    #expect(entries.map(\.kind) == [.rememberDApp, .useDApp, .useDApp])
    #expect(entries.allSatisfy { $0.outcome == .done && $0.site == "https://d.example" })
  }

  // Holds: WALLET-29
  @Test func `the prompt says if the pairing replaces that of its origin, and no other`() async throws {
    let world = try Self.worldWithPasskey()
    var pairing = Self.pairing
    for origin in ["https://d.example", "https://w.d.example", "https://d.example"] {
      pairing.origin = origin
      pairing.id += "+"
      try await world.authenticator.keep(pairing)
    }
    let purposes = [false, false, true].map { UserPrompt.Purpose.wallet(.rememberDApp(replaces: $0)) }
    #expect(world.person.shown.map(\.prompt.purpose) == purposes)
    #expect(try world.store.state().pairings.all.map(\.id) == ["p++", "p+++"])
  }

  // Holds: WALLET-29
  @Test func `without room for another pairing, the prompt names the oldest, which goes`() async throws {
    let world = try Self.worldWithPasskey()
    var (state, pairing) = (try world.store.state(), Self.pairing)
    for number in 0..<Pairings.maximumCount {
      pairing.origin = "https://\(number).d.example"
      try state.pairings.keep(pairing)
    }
    try world.store.setState(state)
    for _ in 0..<2 { try await world.authenticator.keep(Self.pairing) }
    let purposes: [WalletPurpose] = [
      .rememberDApp(replaces: false, oldest: "https://0.d.example"), .rememberDApp(replaces: true),
    ]
    #expect(world.person.shown.map(\.prompt.purpose) == purposes.map { UserPrompt.Purpose.wallet($0) })
    let kept = try world.store.state().pairings.all
    #expect(kept.first?.origin == "https://1.d.example" && kept.last == Self.pairing)
  }

  // Holds: WALLET-29
  @Test(arguments: refusals.indices)
  func `after a refusal, no pairing is kept or given`(_ index: Int) async throws {
    let (operation, status) = Self.refusals[index]
    let world = try Self.worldWithPasskey()
    world.person.will(operation)
    await #expect(throws: CTAPError(status, "")) { try await world.authenticator.keep(Self.pairing) }
    #expect(try world.store.state().pairings.all.isEmpty)
    try await world.authenticator.keep(Self.pairing)
    world.person.will(operation)
    await #expect(throws: CTAPError(status, "")) { try await world.authenticator.pairing(with: "d.example") }
    #expect(world.reports.all.map(\.status) == [status, .success, status])
  }

  // Holds: WALLET-29
  @Test func `a pairing beyond limits, of another site, or with a denied or unknown dApp asks nobody`() async throws {
    let withoutPasskey = TestWorld()
    await #expect(throws: CTAPError(.noCredentials, "")) {
      try await withoutPasskey.authenticator.keep(Self.pairing)
    }
    #expect(withoutPasskey.person.shown.isEmpty)
    let world = try Self.worldWithPasskey()
    let long = Pairing(
      origin: "https://d.example", rpID: "d.example", id: String(repeating: "x", count: 129),
      credential: Self.pairing.credential)
    let ofAnotherSite = Pairing(
      origin: "https://d.example", rpID: "bank.example", id: "p", credential: Self.pairing.credential)
    for pairing in [long, ofAnotherSite] {
      await #expect(throws: CTAPError(.invalidParameter, "")) { try await world.authenticator.keep(pairing) }
    }
    await #expect(throws: CTAPError(.noCredentials, "")) {
      try await world.authenticator.pairing(with: "d.example")
    }
    #expect(world.person.shown.isEmpty)
    try await world.authenticator.keep(Self.pairing)
    try set(.deny, of: "d.example", in: world)
    await #expect(throws: CTAPError(.operationDenied, "")) {
      try await world.authenticator.pairing(with: "d.example")
    }
    await #expect(throws: CTAPError(.operationDenied, "")) { try await world.authenticator.keep(Self.pairing) }
    #expect(world.person.shown.count == 1)
    let entries = world.reports.all.suffix(2).map { $0.historyEntry(at: 1) }
    #expect(entries.map { $0?.outcome } == [.deniedByPolicy, .deniedByPolicy])
  }

  // MARK: Association keys

  @Test func `an association key is that of the vectors`() async throws {
    let vectors = try Self.vectors().keyri
    let world = TestWorld(isOpen: false)
    let key = try await world.authenticator.associationPublicKey(publicUserID: vectors.publicUserIdText.text)
    #expect(Hex(key) == vectors.publicKey.hex)
    #expect(
      world.keySource.reasons
        == [.wallet(.showAssociationKey(publicUserID: vectors.publicUserIdText.text))])
    #expect(try await world.authenticator.associationPublicKey(publicUserID: "bob@example.com") != key)
  }

  @Test func `data is signed by the user's key after a prompt that shows it`() async throws {
    let world = TestWorld()
    let data = Array("1700000000000_abc".utf8)
    let signature = try await world.authenticator.signAssociation(
      publicUserID: "al", data: data, service: "https://s.example")
    let raw = try await world.authenticator.associationPublicKey(publicUserID: "al")
    let key = try P256.PublicKey(x: Array(raw.prefix(32)), y: Array(raw.suffix(32)))
    #expect(key.isValidSignature(signature, for: data))
    let purpose = WalletPurpose.signAssociation(
      publicUserID: "al", data: "1700000000000_abc", service: "https://s.example")
    #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .wallet(purpose)), verification: true)])
    #expect(try counts(of: world).association == 1)
    #expect(try counts(of: world).algorand == 0)
  }
}

extension TestWorld {
  fileprivate func addresses(_ indices: Range<UInt32>, of account: UInt32 = 0) async throws -> [AlgorandAddress] {
    try await authenticator.accountAddresses(indices, of: account, for: .wallet(.showAccount(rpID: nil)))
  }
}
