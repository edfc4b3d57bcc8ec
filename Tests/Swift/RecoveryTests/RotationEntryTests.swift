import Recovery
import TestSupport
import TestVectors
import Testing

/// What is left of the previous phrase: Recovery §14.
@Suite struct `Rotation list` {
  static func passkey(_ rpID: String, _ userID: UInt8, _ name: String? = nil) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: rpID, userID: [userID], name: name, id: [userID], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .registered))
  }

  static func entry(
    _ kind: HistoryEntry.Kind, _ site: String?, _ outcome: HistoryEntry.Outcome = .done
  ) -> HistoryEntry {
    HistoryEntry(time: 1, site: site, kind: kind, outcome: outcome, verification: .none)
  }

  func list(
    _ passkeys: [CredentialSource] = [], moved: [CredentialSource] = [], before: [HistoryEntry] = [],
    since: [HistoryEntry] = [], floor: UInt16 = 0
  ) -> [RotationEntry] {
    let found = moved.map { RotationPasskey($0) }
    return RotationEntry.list(
      passkeys: passkeys.map { RotationPasskey($0) }, isMoved: { passkey in found.contains(passkey) }, floor: floor,
      previous: before,
      present: before + [Self.entry(.beginRotation, nil)] + since)
  }

  static func others(
    _ site: String?, _ before: Int, _ since: Int, _ state: RotationEntry.State
  ) -> RotationEntry { RotationEntry(site: site, key: .others(before: before, since: since), state: state) }

  // Holds: ROTATE-3
  @Test func `a passkey is left until its account has one of the present phrase, or its site is given up`() throws {
    let (alice, bob) = (try Self.passkey("b.example", 1, "alice"), try Self.passkey("b.example", 2, "bob"))
    let carol = try Self.passkey("a.example", 1, "carol")
    func entry(_ site: String, _ name: String, _ state: RotationEntry.State) -> RotationEntry {
      RotationEntry(site: site, key: .passkey(name: name), state: state)
    }
    #expect(
      list([alice, bob, carol]) == [
        entry("a.example", "carol", .left), entry("b.example", "alice", .left), entry("b.example", "bob", .left),
      ])
    #expect(
      list([alice, bob, carol], moved: [bob]).map(\.state) == [.left, .left, .moved])
    #expect(
      list([alice, bob, carol], moved: [bob], since: [Self.entry(.giveUpSite, "b.example")]).map(\.state)
        == [.left, .givenUp, .moved], "a passkey that was moved stays moved")
    #expect(list([alice], since: [Self.entry(.giveUpSite, "a.example")]).map(\.state) == [.left])
  }

  // Holds: ROTATE-3
  @Test func `other keys are left until as many are registered again`() {
    let before = [
      Self.entry(.register, "ssh:"), Self.entry(.register, "ssh:"), Self.entry(.register, "x.example"),
      Self.entry(.u2fRegister, nil), Self.entry(.register, "denied.example", .denied),
      Self.entry(.signIn, "denied.example", .timedOut), Self.entry(.changePIN, nil), Self.entry(.verify, "y.example"),
    ]
    #expect(
      list(before: before) == [
        Self.others("ssh:", 2, 0, .left), Self.others("x.example", 1, 0, .left), Self.others(nil, 1, 0, .left),
      ])
    let since = [
      Self.entry(.register, "ssh:"), Self.entry(.register, "ssh:", .cancelled), Self.entry(.register, "x.example"),
      Self.entry(.register, "new.example"), Self.entry(.signIn, "ssh:"),
    ]
    #expect(
      list(before: before, since: since) == [
        Self.others("ssh:", 2, 1, .left), Self.others("x.example", 1, 1, .moved), Self.others(nil, 1, 0, .left),
      ])
    let more = since + [Self.entry(.register, "ssh:"), Self.entry(.u2fRegister, nil)]
    #expect(list(before: before, since: more).map(\.state) == [.moved, .moved, .moved])
    #expect(
      list(before: before, since: more + [Self.entry(.removePasskey, "ssh:")]).map(\.state) == [.left, .moved, .moved],
      "the new one was removed again")
    let givenUp = [Self.entry(.giveUpSite, nil), Self.entry(.giveUpSite, "ssh:")]
    #expect(list(before: before, since: givenUp).map(\.state) == [.givenUp, .left, .givenUp])
  }

  // Holds: ROTATE-3
  @Test func `keys that were removed or are dead do not count`() throws {
    let removed = [Self.entry(.register, "a.example"), Self.entry(.removePasskey, "a.example")]
    #expect(list(before: removed) == [])
    #expect(list(before: [removed[0], Self.entry(.signIn, "a.example"), removed[1]]) == [])
    #expect(list(before: [Self.entry(.removePasskey, "a.example")]) == [])
    #expect(
      list(before: removed + removed + [Self.entry(.register, "a.example")]) == [Self.others("a.example", 1, 0, .left)])
    let reset = [Self.entry(.register, "a.example"), Self.entry(.reset, nil), Self.entry(.register, "b.example")]
    #expect(list(before: reset, floor: 1) == [Self.others("b.example", 1, 0, .left)])
    #expect(list(before: reset, since: [Self.entry(.reset, nil)], floor: 1) == [])
    #expect(list(before: reset, since: [Self.entry(.reset, nil, .denied)], floor: 1).count == 1)
    #expect(list(before: [Self.entry(.signIn, "a.example"), Self.entry(.reset, nil)], floor: 1) == [])
  }

  // Holds: ROTATE-3, ROTATE-8
  @Test func `keys from before a reset are listed if the owner undid it`() {
    let before = [Self.entry(.register, "a.example"), Self.entry(.reset, nil), Self.entry(.register, "b.example")]
    let both = [Self.others("a.example", 1, 0, .left), Self.others("b.example", 1, 0, .left)]
    #expect(list(before: before) == both)
    #expect(list(before: before, since: [Self.entry(.reset, nil)]) == both)
    let since = [Self.entry(.register, "a.example"), Self.entry(.giveUpSite, "b.example"), Self.entry(.reset, nil)]
    #expect(list(before: before, since: since).map(\.state) == [.moved, .givenUp])
    #expect(list(before: before, since: since, floor: 65_535) == [])
  }

  // Holds: ROTATE-3
  @Test func `a removal of a passkey that was not registered here hides no other key`() {
    let removed = Self.entry(.removePasskey, "a.example")
    let (registered, used) = (Self.entry(.register, "a.example"), Self.entry(.signIn, "a.example"))
    let one = [Self.others("a.example", 1, 0, .left)]
    #expect(list(before: [removed, registered]) == one)
    #expect(list(before: [removed, removed, registered, used]) == one)
    #expect(list(before: [removed, used]) == one, "a key that the store does not have signed in")
    #expect(list(before: [registered, removed, used, used]) == one)
    #expect(list(before: [used, removed]) == one, "the key that signed in may be another one")
    #expect(list(before: [used, registered]) == one)
    #expect(list(before: [removed, registered, registered]) == [Self.others("a.example", 2, 0, .left)])
  }

  // Holds: ROTATE-3
  @Test func `a passkey does not hide another key of its site`() throws {
    let passkey = try Self.passkey("a.example", 1)
    func entry(_ state: RotationEntry.State) -> RotationEntry {
      RotationEntry(site: "a.example", key: .passkey(name: nil), state: state)
    }
    let registered = Self.entry(.register, "a.example")
    #expect(list([passkey], before: [registered, Self.entry(.signIn, "a.example")]) == [entry(.left)])
    let before = [registered, registered, Self.entry(.signIn, "a.example")]
    #expect(list([passkey], before: before) == [entry(.left), Self.others("a.example", 1, 0, .left)])
    #expect(
      list([passkey], moved: [passkey], before: before, since: [registered])
        == [entry(.moved), Self.others("a.example", 1, 0, .left)])
    #expect(
      list([passkey], before: before, since: [registered]) == [entry(.left), Self.others("a.example", 1, 1, .moved)])
    #expect(
      list([passkey], moved: [passkey], before: before, since: [registered, registered])
        == [entry(.moved), Self.others("a.example", 1, 1, .moved)])
    // The new passkey came with a backup of another machine.
    #expect(
      list([passkey], moved: [passkey], before: before) == [entry(.moved), Self.others("a.example", 1, 0, .left)])
    #expect(
      list([passkey], before: before, since: [Self.entry(.giveUpSite, "a.example")]).map(\.state)
        == [.givenUp, .givenUp])
    #expect(throws: RecoveryError.self) {
      try RotationEntry.refuseKeysLeft(in: list([passkey], moved: [passkey], before: before, since: [registered]))
    }
  }

  // Holds: ROTATE-3
  @Test func `a passkey that was not registered here does not count as one of the registrations`() throws {
    let recovered = try #require(
      CredentialSource(
        rpID: "a.example", userID: [1], id: [1], algorithm: .es256, counter: 0, created: 1, changed: 0,
        origin: .recovered))
    let passkey = RotationEntry(site: "a.example", key: .passkey(name: nil), state: .left)
    #expect(
      list([recovered], before: [Self.entry(.register, "a.example")])
        == [passkey, Self.others("a.example", 1, 0, .left)])
    #expect(list([recovered], before: [Self.entry(.signIn, "a.example")]) == [passkey])
    let old = try Self.passkey("a.example", 1)
    #expect(list([old]) == [passkey], "its registration is too old for the history")
  }

  // Holds: ROTATE-10
  @Test func `imported passkeys are not keys of the old phrase`() throws {
    let imported = try #require(
      CredentialSource(
        rpID: "a.example", userID: [1], id: [1], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .imported, importedKey: Hex([UInt8](repeating: 1, count: 32)).secret))
    #expect(list([imported]) == [])
    // A sign-in was with the imported passkey; a registration was not.
    #expect(list([imported], before: [Self.entry(.signIn, "a.example")]) == [])
    #expect(
      list([imported], before: [Self.entry(.signIn, "b.example")]) == [Self.others("b.example", 1, 0, .left)])
    let before = [Self.entry(.register, "a.example"), Self.entry(.signIn, "a.example")]
    #expect(list([imported], before: before) == [Self.others("a.example", 1, 0, .left)])
    let derived = try Self.passkey("a.example", 1)
    #expect(list([imported, derived], before: before).map(\.key) == [.passkey(name: nil)])
  }

  @Test func `a key whose registration is too old for the history counts once`() {
    let before = [Self.entry(.signIn, "a.example"), Self.entry(.signIn, "a.example"), Self.entry(.u2fSignIn, nil)]
    #expect(list(before: before) == [Self.others("a.example", 1, 0, .left), Self.others(nil, 1, 0, .left)])
    #expect(
      list(before: before, since: [Self.entry(.register, "a.example")]) == [
        Self.others("a.example", 1, 1, .moved), Self.others(nil, 1, 0, .left),
      ])
  }

  // Holds: ROTATE-3
  @Test func `each history counts from the last move on`() {
    let first = [Self.entry(.register, "first.example"), Self.entry(.beginRotation, nil)]
    let second = [Self.entry(.register, "second.example"), Self.entry(.giveUpSite, "second.example")]
    #expect(list(before: first + second) == [Self.others("second.example", 1, 0, .left)])
    // The beginning of the move is too old for the present history.
    let entries: [RotationEntry] = RotationEntry.list(
      passkeys: [], isMoved: { _ in false }, floor: 0, previous: [Self.entry(.register, "a.example")],
      present: [Self.entry(.register, "a.example")])
    #expect(entries == [Self.others("a.example", 1, 1, .moved)])
  }

  @Test func `long sites are compared as the history keeps them, and by their bytes`() throws {
    let long = String(repeating: "a", count: 300) + ".example"
    let passkey = try Self.passkey(long, 1)
    #expect(list([passkey], since: [Self.entry(.giveUpSite, long)]).map(\.state) == [.givenUp])
    #expect(
      list(before: [Self.entry(.register, "\u{e9}.example")], since: [Self.entry(.register, "e\u{301}.example")])
        == [Self.others("\u{e9}.example", 1, 0, .left)])
  }

  // Holds: ROTATE-4
  @Test func `the move does not end while a key is left`() throws {
    let (alice, bob) = (try Self.passkey("a.example", 1), try Self.passkey("a.example", 2))
    let error = #expect(throws: RecoveryError.self) { try RotationEntry.refuseKeysLeft(in: list([alice, bob])) }
    #expect(
      error?.description
        == "2 keys of the old phrase are left; register again at these sites, or give them up; see: liquid-auth rotate list"
    )
    let one = #expect(throws: RecoveryError.self) {
      try RotationEntry.refuseKeysLeft(in: list([alice, bob], moved: [bob]))
    }
    #expect(one?.description.hasPrefix("1 key of the old phrase is left; ") == true)
    try RotationEntry.refuseKeysLeft(in: list([alice, bob], moved: [alice, bob]))
    try RotationEntry.refuseKeysLeft(
      in: list([alice, bob], moved: [alice], since: [Self.entry(.giveUpSite, "a.example")]))
    try RotationEntry.refuseKeysLeft(in: [])
  }

  // Holds: ROTATE-4
  @Test func `the move does not end with a history that was modified`() throws {
    #expect(RotationEntry.historyFault(previous: [], present: []) == nil)
    #expect(
      RotationEntry.historyFault(previous: [], present: [.missing(3...5)])
        == "the history was modified outside liquid-auth: entries 3 to 5 are missing")
    let fault = RotationEntry.historyFault(previous: [.changed(2), .missing(4...4), .noHead], present: [.changed(1)])
    #expect(fault == "the history of the old phrase was modified outside liquid-auth: entry 2 was changed, and 2 more")
    try RotationEntry.refuse(historyFault: nil)
    let error = #expect(throws: RecoveryError.self) { try RotationEntry.refuse(historyFault: "the history is bad") }
    #expect(
      error?.description
        == "the history is bad; keys of the old phrase can be missing from the list; if you need none of them, run: "
        + "liquid-auth rotate end --accept-history")
  }

  // Holds: ROTATE-4
  @Test func `only known sites are given up, all or none`() throws {
    let entries = list([try Self.passkey("a.example", 1)], before: [Self.entry(.u2fRegister, nil)])
    #expect(
      try RotationEntry.givingUp(["a.example", nil], in: entries, now: 7) == [
        HistoryEntry(time: 7, site: "a.example", kind: .giveUpSite, outcome: .done, verification: .passphrase),
        HistoryEntry(time: 7, site: nil, kind: .giveUpSite, outcome: .done, verification: .passphrase),
      ])
    for (sites, name) in [
      (["a.example", "b.example"], "at b.example"), (["A.example"], "at A.example"), ([""], "at "),
    ] {
      let error = #expect(throws: RecoveryError.self) { try RotationEntry.givingUp(sites, in: entries, now: 7) }
      #expect(error?.description == "the old phrase has no known key \(name); see: liquid-auth rotate list")
    }
    let error = #expect(throws: RecoveryError.self) { try RotationEntry.givingUp([nil], in: [], now: 7) }
    #expect(error?.description == "the old phrase has no known key of U2F; see: liquid-auth rotate list")
  }

  // Holds: ROTATE-4
  @Test func `a site whose keys are moved is not given up`() throws {
    func entry(_ site: String?, _ state: RotationEntry.State) -> RotationEntry {
      RotationEntry(site: site, key: .others(before: 1, since: 0), state: state)
    }
    let entries = [
      entry("a.example", .moved), entry("a.example", .moved), entry("b.example", .moved), entry("b.example", .left),
      entry("c.example", .givenUp), entry(nil, .moved),
    ]
    for (sites, name) in [
      (["a.example"], "at a.example"), (["b.example", "a.example"], "at a.example"), ([nil], "of U2F"),
    ] as [([String?], String)] {
      let error = #expect(throws: RecoveryError.self) { try RotationEntry.givingUp(sites, in: entries, now: 7) }
      #expect(
        error?.description
          == "all keys of the old phrase \(name) are already moved; nothing was given up; see: liquid-auth rotate list"
      )
    }
    #expect(try RotationEntry.givingUp(["b.example", "c.example"], in: entries, now: 7).count == 2)
  }

  // Holds: ROTATE-2
  @Test func `the store of a new phrase begins with the settings and policies of the old one`() throws {
    var state = StoreState(storeID: [UInt8](repeating: 1, count: 16), epoch: 5, floor: 3, credentialIDForm: .hash)
    state.settings.alwaysUV = true
    state.settings.persistentToken = Hex([UInt8](repeating: 9, count: 32)).secret
    try state.policies.set(.deny, of: "a.example")
    state.counter = StoreCounter(index: 0x0180_0000, auth: Hex([UInt8](repeating: 2, count: 32)).secret, value: 7)
    let digest = [UInt8](repeating: 6, count: 16)
    state.backup = BackupTimes(written: 1, file: digest, checked: 2, folder: "/b", ownFile: digest)
    let new = state.ofNewPhrase(storeID: [UInt8](repeating: 4, count: 16))
    var expected = StoreState(
      storeID: [UInt8](repeating: 4, count: 16), credentialIDForm: .hash, policies: state.policies,
      counter: state.counter)
    expected.settings.alwaysUV = true
    expected.backup = BackupTimes(folder: "/b")
    #expect(new == expected)
  }
}
