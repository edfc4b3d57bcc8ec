import CBOR
import CTAP2
import Recovery
import Testing

@Suite struct GetNextAssertionTests {
  /// Three accounts of example.com, the newest last.
  private func threeAccounts() async throws -> (TestWorld, [ParsedAuthenticatorData]) {
    var world = TestWorld()
    var registrations: [ParsedAuthenticatorData] = []
    for user in UInt8(1)...3 { registrations.append(try await world.register(userID: [user], name: "user \(user)")) }
    return (world, registrations)
  }

  // Holds: GA-13, GA-18, TIME-5
  @Test func `accounts follow from the newest to the oldest, with the flags of the first`() async throws {
    for uv in [nil, true] as [Bool?] {
      var (world, registrations) = try await threeAccounts()
      let prompts = world.person.shown.count
      var answers = [await world.getAssertion(Requests.getAssertion(uv: uv))]
      world.clock.advance(by: .seconds(30))
      answers.append(await world.getNextAssertion())
      world.clock.advance(by: .seconds(30))
      answers.append(await world.getNextAssertion())

      #expect(world.person.shown.count == prompts + 1)
      #expect(world.person.shown.last?.prompt.accountCount == 3)
      #expect(answers.map { $0.map?[5] } == [3, nil, nil])
      for (answer, registration) in zip(answers, registrations.reversed()) {
        let data = try #require(answer.map?[2]?.bytes)
        #expect(ParsedAuthenticatorData(data)?.flags == (uv == true ? 0x1D : 0x19))
        #expect(registration.verifies(answer.map?[3]?.bytes ?? [], over: data + Requests.clientDataHash))
      }
      let users = answers.map { $0.map?[4]?.map }
      #expect(users.map { $0?["id"]?.bytes } == [[3], [2], [1]])
      #expect(users.map { $0?["name"]?.text } == (uv == true ? ["user 3", "user 2", "user 1"] : [nil, nil, nil]))
      #expect(await world.getNextAssertion().bytes == [0x30])
    }
  }

  @Test(arguments: [true, nil])
  func `a request reads one account per answer`(uv: Bool?) async throws {
    var (world, _) = try await threeAccounts()
    let read = world.store.recordsRead
    #expect(await world.getAssertion(Requests.getAssertion(uv: uv)).map?[5] == 3)
    #expect(world.store.recordsRead == read + 1)
    #expect(await world.getNextAssertion().status == .success)
    #expect(world.store.recordsRead == read + 2)
  }

  @Test func `a silent request continues silently`() async throws {
    var (world, _) = try await threeAccounts()
    let prompts = world.person.shown.count
    #expect(await world.getAssertion(Requests.getAssertion(up: false)).map?[5] == 3)
    let next = await world.getNextAssertion()
    #expect(ParsedAuthenticatorData(next.map?[2]?.bytes ?? [])?.flags == 0x18)
    #expect(world.person.shown.count == prompts)
  }

  // Holds: RECORD-7
  @Test func `each further signature is an entry of the history, unless the sign-in was silent`() async throws {
    var (world, _) = try await threeAccounts()
    var kept: [HistoryEntry?] { Array(world.reports.all.map { $0.historyEntry(at: 7) }.dropFirst(3)) }
    func entry(_ kind: HistoryEntry.Kind, _ verification: HistoryEntry.Verification) -> HistoryEntry {
      HistoryEntry(time: 7, site: "example.com", kind: kind, outcome: .done, verification: verification)
    }
    _ = await world.getAssertion(Requests.getAssertion())
    for _ in 1...3 { _ = await world.getNextAssertion() }
    #expect(kept == [entry(.signIn, .none), entry(.nextSignIn, .none), entry(.nextSignIn, .none), nil])
    _ = await world.getAssertion(Requests.getAssertion(uv: true))
    _ = await world.getNextAssertion()
    #expect(kept.suffix(2) == [entry(.signIn, .passphrase), entry(.nextSignIn, .passphrase)])
    _ = await world.getAssertion(Requests.getAssertion(up: false))
    _ = await world.getNextAssertion()
    #expect(kept.suffix(2) == [nil, nil])
    #expect(world.reports.all.suffix(1).map(\.site?.text) == ["example.com"])
  }

  // Holds: GA-19
  @Test func `getNextAssertion without a getAssertion is not allowed`() async {
    var world = TestWorld()
    #expect(await world.getNextAssertion().bytes == [0x30])
    #expect(await world.send(0x08, [:]).bytes == [0x30])
  }

  // Holds: GA-19
  @Test func `getNextAssertion after a single account is not allowed`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    #expect(await world.getAssertion(Requests.getAssertion()).status == .success)
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  // Holds: GA-20, TIME-5
  @Test func `getNextAssertion after more than 30 s is not allowed`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    world.clock.advance(by: .seconds(30) + .nanoseconds(1))
    #expect(await world.getNextAssertion().bytes == [0x30])
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  static let interruptions: [[UInt8]] = [
    [0x04], [0x0B], [0x40], [0x01], [0x02, 0xFF], [0x06, 0xA0], [0x0A, 0xA1, 0x01, 0x03], [0x06, 0xA1, 0x02, 0x01],
    [0x08, 0xFF], [0x08, 0x80], [0x08, 0xA0, 0x00], [0x08] + [UInt8](repeating: 0, count: 1800),
  ]

  // Holds: GA-20
  @Test(arguments: interruptions)
  func `any other message ends the sequence`(message: [UInt8]) async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    _ = await world.send(message)
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  // Holds: GA-20
  @Test func `another client gets nothing, and ends the sequence`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    #expect(await world.getNextAssertion(channel: 2).bytes == [0x30])
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  @Test func `a replug ends the sequence`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    world.clock.advance(by: .seconds(1))
    world.replug()
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  @Test func `getNextAssertion does not unlock a vault that was locked meanwhile`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    world.keySource.lock()
    #expect(await world.getNextAssertion().bytes == [0x30])
    #expect(world.keySource.openings == 0)
  }

  @Test func `a lock ends the sequence, even if the vault is unlocked again`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    world.keySource.lock()
    _ = try await world.keySource.open(for: nil, from: nil)
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  @Test func `a change of the credentials ends the sequence`() async throws {
    var (world, _) = try await threeAccounts()
    _ = await world.getAssertion(Requests.getAssertion())
    world.authenticator.forgetRemaining()
    #expect(await world.getNextAssertion().bytes == [0x30])
  }
}
