import CBOR
import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import DeterministicKeys
import EventLoop
import Recovery
import StateDirectory
import Testing
import Vault

@testable import PromptsTests
@testable import liquid_authenticator

extension OpenVault {
  /// Sends the command as the owner.
  @discardableResult
  fileprivate func ask<Command: OwnerCommand>(
    _ command: Command, now: UInt64 = 0
  ) throws(ControlFailure) -> Command.Answer {
    var owner = Owner(vault: self, authenticator: .quiet(self), now: now)
    do { return try command.handle(&owner) } catch { throw ControlFailure(error) }
  }
}

@Suite struct StoredCredentialsTests {
  let vault: OpenVault

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0.copyBytes(from: (0..<64).map { UInt8($0) }) })
    vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
  }

  private static let recovery = RecoverCredential(rpID: "a.example", userHandle: [7], counter: 2, credProtect: 3)
  private static let reference = CredentialReference(rpID: "a.example", credentialID: [1])

  @Test(arguments: [-7, -8] as [Int64])
  func `a credential is recovered from its rpID, user handle, counter and algorithm`(_ algorithm: Int64) throws {
    var recovery = Self.recovery
    recovery.algorithm = algorithm
    let found = try vault.ask(recovery, now: 5)
    let publicKey = try #require(found.publicKey)
    #expect(found.credentialID == SHA256.hash(publicKey))
    #expect(publicKey.count == (algorithm == -7 ? 64 : 32))
    #expect(
      found
        == CredentialDescription(
          rpID: "a.example", userID: [7], credentialID: found.credentialID, algorithm: algorithm, counter: 2, policy: 3,
          created: 5, changed: 5, source: 1, publicKey: publicKey))
    #expect(try vault.ask(ShowCredential(found.reference)) == found)
    var listed = found
    listed.publicKey = nil
    #expect(try vault.ask(ListCredentials()) == ListCredentials.Answer(credentials: [listed]))
  }

  @Test func `the passkeys of a site name its remembered dApps, which go with the last of them`() throws {
    let found = try vault.ask(Self.recovery, now: 5)
    var state = try vault.store.state()
    for (origin, site) in [("https://w.a.example", "a.example"), ("https://b.example", "b.example")] {
      try state.pairings.keep(
        Pairing(origin: origin, rpID: site, id: "p", credential: SecretBytes.random(count: 8)))
    }
    try vault.store.setState(state)
    #expect(try vault.ask(ListCredentials()).credentials.map(\.dApps) == [["https://w.a.example"]])
    #expect(try vault.ask(ShowCredential(found.reference)).dApps == ["https://w.a.example"])
    try vault.ask(RemoveCredential(found.reference), now: 6)
    #expect(try vault.store.state().pairings.all.map(\.origin) == ["https://b.example"])
  }

  @Test func `a passkey with a large blob is shown with the key that opens the blob`() throws {
    let source = try #require(
      CredentialSource(
        rpID: "a.example", userID: [7], id: [UInt8](repeating: 1, count: 32), algorithm: .edDSA, counter: 0,
        policy: CredentialPolicy(largeBlobKey: true), created: 5, changed: 0, origin: .imported,
        importedKey: SecretBytes.random(count: 32)))
    try vault.store.save(source, state: nil)
    let key = vault.keys.largeBlobKey(source.rpIDHash, id: source.id).withUnsafeBytes { Array($0) }
    let reference = CredentialReference(rpID: "a.example", credentialID: source.id, isImported: true)
    #expect(try vault.ask(ShowCredential(reference)).largeBlobKey == key)
    #expect(try vault.ask(ListCredentials()).credentials.map(\.largeBlobKey) == [nil])
  }

  @Test func `a change by the owner ends an unfinished sign-in, and a list does not`() async throws {
    for user in [1, 2] as [UInt8] { try vault.ask(RecoverCredential(rpID: "a.example", userHandle: [user])) }
    var authenticator = Authenticator.quiet(vault)
    let context = RequestContext(channel: 1, poweredUpAt: .zero)
    let silent: CBORMap = [1: "a.example", 2: .bytes([UInt8](repeating: 0, count: 32)), 5: ["up": false]]
    let signIn = [0x02] + CBOREncoder.encode(.map(silent))
    let commands: [(any OwnerCommand, CTAPStatus)] = [
      (GetSettings(), .success), (ChangePolicy(), .success), (ChangePolicy(.site("b.example", 2)), .notAllowed),
      (ForgetTrezorKeys(), .notAllowed),
    ]
    for (command, status) in commands {
      #expect(await authenticator.respond(to: signIn, in: context).first == CTAPStatus.success.rawValue)
      try ControlSession.serve(&authenticator, for: vault.unlocking) { owner in _ = try command.handle(&owner) }
      let next = await authenticator.respond(to: [0x08], in: context)
      #expect(next.first == status.rawValue, "\(type(of: command))")
    }
  }

  @Test func `keys of a Trezor are kept for the phrase of the vault only, until they are removed`() throws {
    let mainKey = SecretBytes(count: 64) { $0.copyBytes(from: (0..<64).map { UInt8($0) }) }
    let keys = SecretBytes.random(count: SLIP22Keys.size)
    let other = KeepTrezorKeys(mainKey: SecretBytes.random(count: 64), keys: keys)
    #expect(throws: ControlFailure(.notAllowed, "")) { try vault.ask(other) }
    let short = KeepTrezorKeys(SecretBytes.random(count: 191))
    #expect(throws: ControlFailure(.invalidLength, "")) { try vault.ask(short) }
    #expect(try vault.store.state().slip22 == nil)
    try vault.ask(KeepTrezorKeys(mainKey: mainKey, keys: keys))
    #expect(try vault.store.state().slip22?.bytes == keys)
    try vault.ask(ForgetTrezorKeys())
    #expect(try vault.store.state().slip22 == nil)
  }

  @Test func `a store without a history has none to list or check`() {
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.ask(ListHistory()) }
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.ask(CheckHistory()) }
  }

  @Test func `recovery only replaces a lower counter`() throws {
    _ = try vault.ask(Self.recovery, now: 5)
    for counter in 0...2 as ClosedRange<UInt32> {
      var recovery = Self.recovery
      recovery.counter = counter
      #expect(throws: ControlFailure(.notAllowed, "")) { try vault.ask(recovery, now: 6) }
    }
    var next = Self.recovery
    next.counter = 3
    #expect(try vault.ask(next, now: 6).counter == 3)
    #expect(try vault.ask(ListCredentials()).credentials.count == 1)
  }

  @Test func `recovery does not undo a deletion`() throws {
    let found = try vault.ask(Self.recovery, now: 5)
    try vault.ask(RemoveCredential(found.reference), now: 6)
    #expect(throws: ControlFailure(.notAllowed, "")) { try vault.ask(Self.recovery, now: 7) }
    #expect(try vault.ask(ListCredentials()).credentials.isEmpty)
    #expect(
      try vault.store.account(rpIDHash: RPIDHash(rpID: "a.example"), userID: [7])
        == .tombstone(counter: 2, changed: 6))
  }

  @Test func `names change one by one, and an empty one is removed`() throws {
    let reference = try vault.ask(Self.recovery, now: 5).reference
    try vault.ask(RenameCredential(reference, name: "alice"), now: 6)
    try vault.ask(RenameCredential(reference, displayName: "Alice"), now: 7)
    var found = try vault.ask(ShowCredential(reference))
    #expect((found.name, found.displayName) == ("alice", "Alice"))
    #expect((found.created, found.changed, found.counter) == (5, 7, 2))
    try vault.ask(RenameCredential(reference, name: "", displayName: "Al"), now: 8)
    found = try vault.ask(ShowCredential(reference))
    #expect((found.name, found.displayName) == (nil, "Al"))
  }

  @Test func `a change after the clock went back still gets a later time`() throws {
    let reference = try vault.ask(Self.recovery, now: 5_000).reference
    try vault.ask(RenameCredential(reference, name: "alice"), now: 6)
    #expect(try vault.ask(ShowCredential(reference)).changed == 5_001)
    try vault.ask(RemoveCredential(reference), now: 6)
    #expect(
      try vault.store.account(rpIDHash: RPIDHash(rpID: "a.example"), userID: [7])?.changed == 5_002)
  }

  @Test func `a record with the latest possible time can be changed and removed`() throws {
    let reference = try vault.ask(Self.recovery, now: .max).reference
    try vault.ask(RenameCredential(reference, name: "alice"), now: 6)
    #expect(try vault.ask(ShowCredential(reference)).changed == .max)
    try vault.ask(RemoveCredential(reference), now: 6)
    #expect(try vault.ask(ListCredentials()).credentials.isEmpty)
  }

  @Test func `an unknown credential cannot be shown, renamed or removed`() throws {
    let found = try vault.ask(Self.recovery, now: 5)
    for reference in [Self.reference, CredentialReference(rpID: "b.example", credentialID: found.credentialID)] {
      #expect(throws: ControlFailure(.noCredentials, "")) { try vault.ask(ShowCredential(reference)) }
      #expect(throws: ControlFailure(.noCredentials, "")) {
        try vault.ask(RenameCredential(reference, name: "x"), now: 6)
      }
      #expect(throws: ControlFailure(.noCredentials, "")) { try vault.ask(RemoveCredential(reference), now: 6) }
    }
    #expect(try vault.ask(ShowCredential(found.reference)) == found)
  }

  // Holds: IMPORT-1
  @Test func `an imported passkey with the id of a derived one is shown, renamed and removed alone`() throws {
    let derived = try vault.ask(Self.recovery, now: 5)
    try vault.store.save(
      .imported(
        rpID: "a.example", userID: [7], name: "planted", displayName: nil, id: derived.credentialID, algorithm: .edDSA,
        created: 6, key: SecretBytes.random(count: 32)), state: nil)
    let all = try vault.ask(ListCredentials()).credentials
    #expect(all.map(\.isImported) == [true, false])
    let imported = all[0].reference
    #expect(try vault.ask(ShowCredential(imported)).name == "planted")
    #expect(try vault.ask(ShowCredential(derived.reference)) == derived)
    try vault.ask(RenameCredential(imported, name: "renamed"), now: 7)
    #expect(try vault.ask(ListCredentials()).credentials.map(\.name) == ["renamed", nil])
    try vault.ask(RemoveCredential(imported), now: 8)
    #expect(try vault.ask(ListCredentials()).credentials.map(\.reference) == [derived.reference])
    #expect(throws: ControlFailure(.noCredentials, "")) { try vault.ask(RemoveCredential(imported), now: 9) }
    #expect(try vault.ask(ShowCredential(derived.reference)) == derived)
  }

  @Test func `a search by the first digits of an id lists the passkeys whose ids begin with them`() throws {
    let all = try (1...9 as ClosedRange<UInt8>).map { user in
      try vault.ask(RecoverCredential(rpID: "a.example", userHandle: [user]), now: 5).reference
    }
    func digits(_ reference: CredentialReference) -> String {
      reference.credentialID.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
    for reference in all {
      for count in [0, 1, 2, 7, 64] {
        let first = String(digits(reference).prefix(count))
        let listed = try vault.ask(ListCredentials(digits: first)).credentials.map(\.reference)
        #expect(listed == all.reversed().filter { digits($0).hasPrefix(first) })
      }
      #expect(try vault.ask(ListCredentials(digits: digits(reference) + "0")).credentials.isEmpty)
    }
  }

  @Test func `a store that cannot be written reports unavailable`() throws {
    let found = try vault.ask(Self.recovery, now: 5)
    var state = try vault.store.state()
    try state.reset()
    try vault.store.setState(state)
    let store = try #require(vault.store as? InMemoryCredentialStore)
    store.isFull = true
    #expect(throws: ControlFailure(.unavailable, "")) {
      try vault.ask(RenameCredential(found.reference, name: "x"), now: 6)
    }
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.ask(RemoveCredential(found.reference), now: 6) }
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.ask(AcceptBeforeReset()) }
    var next = Self.recovery
    next.counter = 3
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.ask(next, now: 6) }
  }

  @Test func `acceptBeforeReset lowers the floor to 0`() throws {
    var state = try vault.store.state()
    try state.reset()
    try vault.store.setState(state)
    #expect(state.floor == 1)
    try vault.ask(AcceptBeforeReset())
    let after = try vault.store.state()
    #expect((after.epoch, after.floor) == (1, 0))
    // The second time, there is nothing to accept.
    let error = #expect(throws: ControlFailure.self) { try vault.ask(AcceptBeforeReset()) }
    #expect(error?.status == .notAllowed)
    #expect(error?.description == "this store has no reset to undo: there is nothing to accept")
  }

  // Holds: ROTATE-8
  @Test func `acceptBeforeReset lowers the floor of both phrases' stores`() throws {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    let both = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys),
      previous: vault)
    let floors = { try [both.store.state().floor, vault.store.state().floor] }
    for stores in [[both.store, vault.store], [vault.store], [both.store]] {
      for store in stores {
        var state = try store.state()
        try state.reset()
        try store.setState(state)
      }
      #expect(try floors() != [0, 0])
      try both.ask(AcceptBeforeReset())
      #expect(try floors() == [0, 0])
    }
    #expect(throws: ControlFailure(.notAllowed, "")) { try both.ask(AcceptBeforeReset()) }
    #expect(try both.store.state().epoch == 2 && vault.store.state().epoch == 2)
  }
}

@Suite struct StoredPoliciesTests {
  let vault: OpenVault

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0.copyBytes(from: (0..<64).map { UInt8($0) }) })
    vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
  }

  // Holds: POLICY-2
  @Test func `the owner sets, lists and removes policies`() throws {
    #expect(try vault.ask(ChangePolicy()) == PolicyList(others: 0, sites: []))
    try vault.ask(ChangePolicy(.site("b.example", 2)))
    try vault.ask(ChangePolicy(.site("ssh:", 1)))
    try vault.ask(ChangePolicy(.site("B.example", 0)))
    let all = PolicyList(
      others: 2,
      sites: [.init(site: "B.example", policy: 0), .init(site: "b.example", policy: 2), .init(site: "ssh:", policy: 1)])
    #expect(try vault.ask(ChangePolicy(.others(2))) == all)
    #expect(try vault.ask(ChangePolicy()) == all)
    #expect(try vault.store.state().policies.policy(of: "b.example") == .deny)
    for site in ["b.example", "B.example", "ssh:", "never.example"] { try vault.ask(ChangePolicy(.site(site, nil))) }
    try vault.ask(ChangePolicy(.others(0)))
    #expect(try vault.store.state().policies == SitePolicies())
  }

  static let refused: [ChangePolicy.Change] = [
    .site("a", 3), .site("a", 255), .site("", 1), .site("a b", 1), .site("é", 1), .site("a\n", nil), .others(3),
    .site(String(repeating: "a", count: 254), 2),
  ]

  @Test(arguments: refused) func `an invalid policy or site is refused, and changes nothing`(
    _ change: ChangePolicy.Change
  ) throws {
    #expect(throws: ControlFailure(.invalidParameter, "")) { try vault.ask(ChangePolicy(change)) }
    #expect(try vault.store.state().policies == SitePolicies())
  }
}

@Suite struct StoredSettingsTests {
  let vault: OpenVault

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
  }

  private static func secret(_ text: String) -> SecretBytes {
    Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
  }

  private static let policyViolation = ControlFailure(ControlStatus(rawValue: 0x37), "")

  @Test func `the owner sets, changes and removes the PIN`() throws {
    try vault.ask(SetPIN(Self.secret("1234")))
    #expect(try vault.ask(GetSettings()).isPINSet)
    let first = try vault.settings().pin
    try vault.ask(SetPIN(Self.secret("5678")))
    #expect(try vault.settings().pin != first)
    try vault.ask(RemovePIN())
    #expect(try vault.settings() == AuthenticatorSettings())
  }

  static let refused = ["123", "żół", "1234\u{0}", String(repeating: "x", count: 64)]

  // Holds: CONTROL-11
  @Test(arguments: refused) func `an invalid PIN is refused, and changes nothing`(_ pin: String) throws {
    try vault.ask(SetPIN(Self.secret("1234")))
    let before = try vault.settings()
    #expect(throws: Self.policyViolation) { try vault.ask(SetPIN(Self.secret(pin))) }
    #expect(try vault.settings() == before)
  }

  @Test func `the order of the means stays until the owner changes it again`() throws {
    #expect(try vault.ask(ChangeSettings(means: ["pam", "fingerprint"])).means == ["pam", "fingerprint"])
    #expect(try vault.ask(ChangeSettings(alwaysUV: true)).means == ["pam", "fingerprint"])
    #expect(try vault.settings().reported.means == [.pam, .fingerprint])
    #expect(try vault.ask(ChangeSettings(means: [])).means == [])
  }

  @Test(arguments: [["face"], ["pam", "pam"], ["passphrase"], [""], ["fingerprint", "PAM"]])
  func `means that are unknown or named twice are refused, and change nothing`(_ means: [String]) throws {
    try vault.ask(ChangeSettings(means: ["pam"]))
    #expect(throws: ControlFailure(.invalidParameter, "")) {
      try vault.ask(ChangeSettings(alwaysUV: true, means: means))
    }
    #expect(try vault.settings().means == [.pam] && !vault.settings().alwaysUV)
  }

  // Holds: CONTROL-11
  @Test func `settings change together or not at all`() throws {
    let told = try vault.ask(
      ChangeSettings(alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a.example"]))
    #expect(
      told
        == OwnerSettings(
          alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a.example"], forcePINChange: false,
          isPINSet: false, means: []))
    #expect(throws: Self.policyViolation) {
      try vault.ask(ChangeSettings(alwaysUV: false, minimumPINLength: 5))
    }
    #expect(throws: ControlFailure(ControlStatus(rawValue: 0x35), "")) {
      try vault.ask(ChangeSettings(alwaysUV: false, forcePINChange: true))
    }
    #expect(try vault.ask(GetSettings()) == told)
    #expect(try vault.ask(ChangeSettings(alwaysUV: false)).minimumPINLengthRPIDs == ["a.example"])
  }

  @Test func `programs that list passkeys without a prompt can no longer when the owner forgets them`() throws {
    var state = try vault.store.state()
    state.settings.persistentToken = SecretBytes.random(count: 32)
    try vault.store.setState(state)
    #expect(try vault.settings().hasPersistentToken)
    try vault.ask(ForgetReaders())
    #expect(try !vault.settings().hasPersistentToken)
  }

  @Test func `a PIN must be changed if it is too short, or if the owner requests it`() throws {
    try vault.ask(SetPIN(Self.secret("1234")))
    #expect(try vault.ask(ChangeSettings(minimumPINLength: 5)).forcePINChange)
    try vault.ask(SetPIN(Self.secret("12345")))
    #expect(try !vault.ask(GetSettings()).forcePINChange)
    #expect(try vault.ask(ChangeSettings(forcePINChange: true)).forcePINChange)
    #expect(throws: Self.policyViolation) { try vault.ask(SetPIN(Self.secret("12345"))) }
    try vault.ask(SetPIN(Self.secret("12346")))
    #expect(try !vault.ask(GetSettings()).forcePINChange)
  }

  @Test func `the large-blob array is stored only if it ends with its digest`() throws {
    let array: [UInt8] = [0x81, 0xA0] + SHA256.hash([0x81, 0xA0]).prefix(16)
    try vault.ask(SetLargeBlobArray(array, changedFrom: nil))
    let integrityFailure = ControlFailure(ControlStatus(rawValue: 0x3D), "")
    for bad in [[], Array(array.dropLast()), array + [0], [0x80] + array.dropFirst()] {
      #expect(throws: integrityFailure) {
        try vault.ask(SetLargeBlobArray(bad, changedFrom: nil))
      }
    }
    let long = [UInt8](repeating: 0, count: 8177)
    #expect(throws: ControlFailure(ControlStatus(rawValue: 0x18), "")) {
      try vault.ask(SetLargeBlobArray(long + SHA256.hash(long).prefix(16), changedFrom: nil))
    }
    #expect(try vault.store.largeBlobArray() == array)
  }
}

@Suite struct StoredHistoryTests {
  private let made: MadeVault

  init() throws { made = try MadeVault(passphrase: "right") }

  @Test func `the history comes in pages, and only the last one has nothing after it`() throws {
    let content = try made.directory.unlock(passphrase: secret("right")).content
    let store = try made.directory.openStore(of: content, keys: made.keys)
    let vault = OpenVault(keys: made.keys, ed25519Root: SecretBytes.random(count: 96), store: store)
    #expect(try vault.ask(ListHistory()) == ListHistory.Answer(entries: []))
    let times = Array(1...UInt64(ListHistory.pageSize) + 1)
    try store.appendDurably(
      times.map { HistoryEntry(time: $0, site: nil, kind: .signIn, outcome: .done, verification: .none) })
    let first = try vault.ask(ListHistory())
    #expect(first.entries.compactMap(\.content?.time) == Array(times.dropLast()))
    #expect(first.next != nil && first.next == first.entries.last?.number)
    let last = try vault.ask(ListHistory(after: first.next))
    #expect(last.entries.compactMap(\.content?.time) == [UInt64(times.count)] && last.next == nil)
  }
}
