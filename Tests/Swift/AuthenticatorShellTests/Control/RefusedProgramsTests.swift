import CTAPHID
import ControlProtocol
import EventLoop
import EventLoopTests
import Glibc
import HelperProcess
import Recovery
import Synchronization
import Testing

@testable import CTAP2
@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// Programs at the control socket whose requests a person refuses.
struct RefusedProgramsTests {
  private let clock = ManualClock()
  private let queue = RequestQueue<Int>(0)
  private let refused: RefusedPrograms

  init() { refused = RefusedPrograms(clock: clock) }

  private static func report(_ error: CTAPError?, from origin: RequestOrigin) -> CommandReport {
    CommandReport(command: "sign", rpID: nil, error: error, elapsed: .zero, kind: .signMessage, client: origin)
  }

  /// A request, whose dialog ends in this way; returns how many dialogs there were before it.
  private func request(
    _ error: UserInteractionError?, from door: Door, _ withdrawal: Withdrawal? = nil
  ) async throws -> Int {
    let origin = RequestOrigin(door: door, withdrawal: withdrawal)
    return try await refused.submit(to: queue, from: origin) { [refused] dialogs in
      dialogs += 1
      refused.ended(Self.report(error.map { CTAPError($0) }, from: origin))
      return dialogs - 1
    }
  }

  private func time(after wait: Duration) -> Duration { Instant(nanoseconds: 0).duration(to: clock.now) + wait }

  // Holds: CONTROL-19
  @Test func `refusals of requests for another computer count towards the program that sends them`() async throws {
    for _ in 0..<2 { _ = try await request(.declined, from: .anotherComputer(process: 7)) }
    let next = Task { try await request(nil, from: .controlSocket(process: 7)) }
    await clock.sleeper(until: time(after: .seconds(1)))
    #expect(try await request(nil, from: .anotherComputer(process: 8)) == 2)
    clock.advance(by: .seconds(1))
    #expect(try await next.value == 3)
  }

  // Holds: CONTROL-19
  @Test func `after two refusals the next requests wait without a dialog, longer each time, and others do not`()
    async throws
  {
    let (program, other) = (Door.controlSocket(process: 7), Door.controlSocket(process: 8))
    for _ in 0..<2 { _ = try await request(.declined, from: program) }
    var expected = 2
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
      let next = Task { try await request(.timedOut, from: program) }
      await clock.sleeper(until: time(after: .seconds(wait)))
      // Another program, and the device, are served meanwhile.
      #expect(try await queue.submit { $0 } == expected)
      _ = try await request(nil, from: other)
      _ = try await request(.declined, from: .device(node: nil))
      try await queue.submit { $0 -= 2 }
      clock.advance(by: .seconds(wait))
      #expect(try await next.value == expected)
      expected += 1
    }
    // Nothing is left that would wake the process.
    #expect(clock.sleeperCount == 0)
    // The person agrees: the count begins again.
    clock.advance(by: .seconds(300))
    for error in [nil, .declined, .cancelled] as [UserInteractionError?] { _ = try await request(error, from: program) }
    let waiting = Task { try await request(nil, from: program) }
    await clock.sleepers(1)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  // Holds: CONTROL-19
  @Test func `requests of a refused program that wait for their turn give it back`() async throws {
    let program = Door.controlSocket(process: 7)
    let (gates, gate) = AsyncStream.makeStream(of: Void.self)
    let first = Task { try await queue.submit { _ in for await _ in gates { break } } }
    while !queue.isTaken { await Task.yield() }
    // The attack: 24 requests at once, all of which the person would have to refuse.
    let requests = (0..<24).map { _ in Task { try await request(.declined, from: program) } }
    while queue.waitingCount < 24 { await Task.yield() }
    gate.yield()
    try await first.value
    await clock.sleepers(22)
    #expect(try await queue.submit { $0 } == 2)
    // After the wait, one more is shown, and the others wait again.
    clock.advance(by: .seconds(1))
    await clock.sleeper(until: .seconds(3))
    await clock.sleepers(21)
    #expect(try await queue.submit { $0 } == 3)
    requests.forEach { $0.cancel() }
    for request in requests { _ = try? await request.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test func `64 programs are remembered, and the one whose refusal is the oldest makes room`() async throws {
    let processes: Range<Int32> = 0..<65
    for process in processes {
      for _ in 0..<2 { _ = try await request(.declined, from: .controlSocket(process: process)) }
      clock.advance(by: .milliseconds(1))
    }
    // The first made room.
    _ = try await request(nil, from: .controlSocket(process: 0))
    let waiting = Task { try await request(nil, from: .controlSocket(process: 1)) }
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    _ = try await waiting.value
    // An hour later, all are forgotten.
    clock.advance(by: .seconds(3600))
    for process in processes.dropFirst(2) {
      for _ in 0..<2 { _ = try await request(.declined, from: .controlSocket(process: process)) }
    }
  }

  @Test func `a program is forgotten an hour after its last refusal, and not before`() async throws {
    let (program, other) = (Door.controlSocket(process: 7), Door.controlSocket(process: 8))
    for door in [program, other] { for _ in 0..<2 { _ = try await request(.declined, from: door) } }
    clock.advance(by: .milliseconds(3_599_999))
    _ = try await request(.declined, from: program)
    let waiting = Task { try await request(nil, from: program) }
    await clock.sleeper(until: time(after: .seconds(2)))
    clock.advance(by: .milliseconds(1))
    // Its next refusal is the first again.
    for _ in 0..<2 { _ = try await request(.declined, from: other) }
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(2))
    _ = try await waiting.value
  }

  // Holds: CONTROL-19
  @Test func `a request that the authenticator withdraws is no refusal of its program`() async throws {
    let program = Door.controlSocket(process: 7)
    let withdrawal = Withdrawal()
    withdrawal.note()
    for _ in 0..<5 {
      _ = try await request(.cancelled, from: program, withdrawal)
    }
    #expect(clock.sleeperCount == 0)
    // The program closes its connection.
    for _ in 0..<2 {
      _ = try await request(.cancelled, from: program, Withdrawal())
    }
    try await waits(program)
  }

  // Holds: CONTROL-19
  @Test func `a person who refuses while the authenticator withdraws the request has refused`() async throws {
    let program = Door.controlSocket(process: 7)
    let withdrawal = Withdrawal()
    withdrawal.note()
    for _ in 0..<2 { _ = try await request(.declined, from: program, withdrawal) }
    try await waits(program)
  }

  /// Fails, by a wait without end, unless the next request of a program waits for a second.
  private func waits(_ program: Door) async throws {
    let waiting = Task { try await request(nil, from: program) }
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    _ = try await waiting.value
  }

  // Holds: CONTROL-19
  @Test func `a later process with the same number, and one without a number, do not wait`() async throws {
    let program = Door.controlSocket(process: 7, instance: 1)
    for _ in 0..<2 { _ = try await request(.declined, from: program) }
    for _ in 0..<5 { _ = try await request(.declined, from: .controlSocket(process: nil)) }
    _ = try await request(nil, from: .controlSocket(process: 7, instance: 2))
    _ = try await request(nil, from: .controlSocket(process: nil))
    #expect(clock.sleeperCount == 0)
    let waiting = Task { try await request(nil, from: program) }
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    _ = try await waiting.value
  }

  // Holds: CONTROL-19
  @Test func `a refusal to unlock the vault for a wallet counts, whatever the wallet wants`() async throws {
    let program = Door.controlSocket(process: 7)
    var authenticator = Authenticator(
      keySource: RefusedVault(), interaction: UserPrompter(testing: ScriptedBackEnd()), extensions: [],
      randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: { 0 },
      report: { [refused] in refused.ended($0) })
    authenticator.client = RequestOrigin(door: program)
    let commands: [any WalletCommand] = [
      GetAccount(), GetAddresses(account: 0, first: 0, count: 1), GetAccountPasskey(rpID: "example.com"),
      GetAssociationKey(publicUserID: "alice"), GetRekeying(), SignMessage([0x61], origin: "https://dapp.example"),
      SignAssociation(publicUserID: "alice", data: [0x61], service: "example.com"),
    ]
    for command in commands {
      do {
        _ = try await command.handle(authenticator)
        Issue.record("the vault was opened")
      } catch {
        #expect((error as? CTAPError)?.prompt == .declined)
      }
    }
    // Each counts once: seven refusals.
    let waiting = Task { try await request(nil, from: program) }
    await clock.sleeper(until: time(after: .seconds(32)))
    clock.advance(by: .seconds(32))
    _ = try await waiting.value
  }

  @Test func `a refusal by a policy, a request that asks nobody and one that fails do not count`() async throws {
    let program = Door.controlSocket(process: 7)
    for error in [CTAPError.deniedByPolicy, CTAPError(.noCredentials, "no"), CTAPError(.unavailable)] {
      for _ in 0..<5 {
        refused.ended(Self.report(error, from: RequestOrigin(door: program)))
      }
    }
    _ = try await request(nil, from: program)
    #expect(clock.sleeperCount == 0)
  }
}

/// A locked vault, whose prompt the person refuses.
private struct RefusedVault: KeySource {
  var current: OpenVault? { nil }
  var reported: ReportedSettings { ReportedSettings() }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault { throw .declined }
}
