import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// The only way to private keys: the user's agreement to an export.
@Suite struct PasskeyExportTests {
  private func passkey(
    _ rpID: String, _ userID: UInt8, algorithm: COSEAlgorithm = .es256, key: [UInt8]? = nil
  ) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: rpID, userID: [userID], id: [UInt8](repeating: userID, count: 32), algorithm: algorithm, counter: 0,
        created: 1, changed: 0, origin: key == nil ? .registered : .imported, importedKey: key.map { Hex($0).secret }))
  }

  private func bytes(_ secret: SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

  // Holds: EXPORT-3
  @Test(arguments: try KeysAndRecovery.load().credentials.array.filter { $0.kind.text == "discoverable" })
  func `the secrets are the private key and both CredRandoms`(_ vector: Vector) throws {
    let keys = try KeysAndRecovery.keys()
    let parameters = try #require(KeysAndRecovery.parameters(of: vector))
    let id = vector.hashId.bytes
    let record = try #require(
      CredentialSource(
        rpID: vector.rpId.text, userID: parameters.userID, id: id, algorithm: parameters.algorithm,
        counter: parameters.counter ?? 0, policy: parameters.policy, created: 1, changed: 0, origin: .registered))
    let export = PasskeyExport(
      of: [keys.accountTag(of: record)], consent: UserConsent(Confirmation(userVerified: true)))
    let secrets = bytes(try export.secrets(of: [record], keys: keys))
    #expect(Hex(Array(secrets[..<32])) == vector.privateKey.hex)
    #expect(Array(secrets[32..<64]) == bytes(keys.credRandom(record.rpIDHash, id: id, userVerified: true)))
    #expect(Array(secrets[64...]) == bytes(keys.credRandom(record.rpIDHash, id: id, userVerified: false)))
  }

  // Holds: EXPORT-3
  @Test func `an imported passkey is exported with its own key, and others are refused`() async throws {
    let world = TestWorld()
    let imported = try passkey("a.example", 1, algorithm: .edDSA, key: [UInt8](repeating: 7, count: 32))
    try world.store.save(imported, state: nil)
    let vault = try #require(world.authenticator.currentVault)
    let export = try await world.authenticator.agreement(toExportOf: nil, from: vault)
    #expect(export.accountTags == [vault.keys.accountTag(of: imported)])
    #expect(
      bytes(try export.secrets(of: [imported, imported], keys: vault.keys))[96..<128]
        == [UInt8](repeating: 7, count: 32)[...])
    for other in try [passkey("a.example", 1), passkey("b.example", 1, key: [UInt8](repeating: 7, count: 32))] {
      let error = #expect(throws: RecoveryError.self) { try export.secrets(of: [other], keys: vault.keys) }
      #expect(error?.reason == "the user did not agree to the export of this passkey")
    }
  }

  // Holds: EXPORT-3, ROTATE-10
  @Test func `an imported passkey that has CredRandoms is exported with them`() throws {
    let (old, keys) = (CredentialKeys(mainKey: .random(count: 64)), CredentialKeys(mainKey: .random(count: 64)))
    let record = try passkey("a.example", 1, key: [UInt8](repeating: 7, count: 32)).keepingCredRandoms(of: old)
    let export = PasskeyExport(
      of: [keys.accountTag(of: record)], consent: UserConsent(Confirmation(userVerified: true)))
    let secrets = bytes(try export.secrets(of: [record], keys: keys))
    for (start, userVerified) in [(32, true), (64, false)] {
      let expected = bytes(old.credRandom(record.rpIDHash, id: record.id, userVerified: userVerified))
      #expect(Array(secrets[start..<start + 32]) == expected)
    }
  }

  // Holds: EXPORT-3
  @Test func `the user sees which passkeys are exported, and is verified`() async throws {
    let world = TestWorld()
    for source in try [passkey("a.example", 1), passkey("b.example", 2), passkey("a.example", 3)] {
      try world.store.save(source, state: nil)
    }
    let vault = try #require(world.authenticator.currentVault)
    func tags(_ sites: [String]?) async throws -> Int {
      try await world.authenticator.agreement(toExportOf: sites, from: vault).accountTags.count
    }
    #expect(try await tags(nil) == 3)
    #expect(try await tags(["a.example"]) == 2)
    #expect(try await tags(["b.example", "a.example"]) == 3)
    #expect(
      world.person.shown == [
        .init(prompt: UserPrompt(purpose: .export(passkeys: 3, sites: nil)), verification: true),
        .init(prompt: UserPrompt(purpose: .export(passkeys: 2, sites: ["a.example"])), verification: true),
        .init(
          prompt: UserPrompt(purpose: .export(passkeys: 3, sites: ["b.example", "a.example"])), verification: true),
      ])
    #expect(
      world.reports.all.map { $0.historyEntry(at: 5) }
        == [nil, "a.example", nil].map {
          HistoryEntry(time: 5, site: $0, kind: .exportPasskeys, outcome: .done, verification: .passphrase)
        })
  }

  // Holds: EXPORT-3
  @Test(
    arguments: [
      (.declined, .operationDenied, .denied), (.unavailable, .operationDenied, .denied),
      (.timedOut, .userActionTimeout, .timedOut), (.verificationFailed, .uvInvalid, .verificationFailed),
      (.verificationBlocked, .uvBlocked, .verificationFailed), (.cancelled, .keepaliveCancel, .cancelled),
    ] as [(UserInteractionError, CTAPStatus, HistoryEntry.Outcome)])
  func `after a refusal nothing is exported, and the history has an entry`(
    _ error: UserInteractionError, _ status: CTAPStatus, _ outcome: HistoryEntry.Outcome
  ) async throws {
    let world = TestWorld()
    try world.store.save(passkey("a.example", 1), state: nil)
    let vault = try #require(world.authenticator.currentVault)
    world.person.will(.fail(error))
    await #expect(throws: CTAPError(status, "")) {
      _ = try await world.authenticator.agreement(toExportOf: nil, from: vault)
    }
    let entry = try #require(world.reports.all.first?.historyEntry(at: 5))
    #expect((entry.kind, entry.outcome, entry.verification) == (.exportPasskeys, outcome, .none))
  }

  // Holds: EXPORT-3
  @Test func `a button does not verify, and a vault that was locked meanwhile gives nothing`() async throws {
    let world = TestWorld()
    try world.store.save(passkey("a.example", 1), state: nil)
    let vault = try #require(world.authenticator.currentVault)
    let keySource = world.keySource
    world.person.will(.answer(userPresent: true, userVerified: false), .agreeAfter { keySource.lock() })
    for status in [CTAPStatus.operationDenied, .keepaliveCancel] {
      await #expect(throws: CTAPError(status, "")) {
        _ = try await world.authenticator.agreement(toExportOf: nil, from: vault)
      }
    }
    #expect(world.person.shown.count == 2)
  }

  @Test func `the report has the time of the prompt, and one follows a vault that stays locked`() async throws {
    let world = TestWorld()
    try world.store.save(passkey("a.example", 1), state: nil)
    let (vault, clock) = (try #require(world.authenticator.currentVault), world.clock)
    world.person.will(.agreeAfter { clock.advance(by: .seconds(3)) })
    _ = try await world.authenticator.agreement(toExportOf: nil, from: vault)
    world.keySource.lock(thenFailWith: .declined)
    await #expect(throws: CTAPError(.operationDenied, "")) {
      _ = try await world.authenticator.vault(for: .prompt(UserPrompt(purpose: .select)), reporting: "a request")
    }
    #expect(world.reports.all.map(\.elapsed) == [.seconds(3), .zero])
    #expect(world.reports.all.last?.command == "a request" && world.reports.all.last?.status == .operationDenied)
  }

  @Test func `no platform waits for the answer to an export`() {
    #expect(UserPrompt(purpose: .export(passkeys: 1, sites: nil)).hasTimeToRead)
    #expect(UserPrompt(purpose: .wallet(.showPasskey)).hasTimeToRead)
    #expect(!UserPrompt(purpose: .reset(importedPasskeys: 0)).hasTimeToRead)
  }

  // Holds: EXPORT-3
  @Test func `for a site without a passkey nobody is asked`() async throws {
    let world = TestWorld()
    let vault = try #require(world.authenticator.currentVault)
    let none = await #expect(throws: CTAPError.self) {
      _ = try await world.authenticator.agreement(toExportOf: nil, from: vault)
    }
    #expect(none?.status == .noCredentials && none?.reason == "no passkey is stored here")
    try world.store.save(passkey("a.example", 1), state: nil)
    for site in ["b.example", "A.example", "a.example."] {
      let error = await #expect(throws: CTAPError.self) {
        _ = try await world.authenticator.agreement(toExportOf: ["a.example", site], from: vault)
      }
      #expect(
        error?.reason == "no passkey of \(site) is stored here; to see all, run: liquid-auth credentials list"
          && error?.command == ["liquid-auth", "credentials", "list"] && error?.status == .noCredentials)
    }
    #expect(world.person.shown == [] && world.reports.all.isEmpty)
  }
}
