import EventLoopTests
import Recovery
import Testing

@testable import CTAP2
@testable import liquid_authenticator

struct SessionPolicyTests {
  @Test func `the default locks on suspend and after 8 hours, and detaches in the background`() {
    let policy = SessionPolicy()
    #expect(policy.lockEvents == [.suspend])
    #expect(policy.idleLimit == .seconds(28_800))
    #expect(policy.detachesInBackground)
  }

  @Test(
    arguments: [
      ("suspend", [.suspend]), ("screen-lock,switch", [.screenLock, .userSwitch]), ("never", []),
      ("switch,switch", [.userSwitch]),
    ] as [(String, Set<SessionPolicy.LockEvent>)])
  func `a list of events is read`(text: String, events: Set<SessionPolicy.LockEvent>) {
    #expect(SessionPolicy.lockEvents(text) == events)
  }

  @Test(arguments: ["", "sleep", "suspend,", ",suspend", "suspend switch", "never,suspend", "Suspend"])
  func `any other list is refused`(text: String) {
    #expect(SessionPolicy.lockEvents(text) == nil)
  }

  @Test func `hours are a number from 1 to 1000`() {
    #expect(SessionPolicy.idleLimit("1") == .some(.seconds(3600)))
    #expect(SessionPolicy.idleLimit("1000") == .some(.seconds(3_600_000)))
    #expect(SessionPolicy.idleLimit("never") == .some(nil))
    for text in ["", "0", "1001", "-1", "1.5", "8h"] { #expect(SessionPolicy.idleLimit(text) == nil) }
  }

  @Test func `each reason has its words`() {
    #expect(LockReason.command.description == "by a command")
    #expect(LockReason.wrongPassphrases.description == "after 8 wrong passphrases")
    #expect(LockReason.event(.suspend).description == "before the machine was suspended")
    #expect(LockReason.event(.screenLock).description == "when the screen was locked")
    #expect(LockReason.event(.userSwitch).description == "when another user's session came to the foreground")
    #expect(LockReason.idle(.seconds(28_800)).description == "after 8 hours without use")
    #expect(LockReason.idle(.seconds(3600)).description == "after 1 hour without use")
    #expect(LockReason.disconnected.description == "when the connection to logind ended")
  }

  @Test(arguments: [("suspend", true), ("screen-lock,switch", true), ("switch", false), ("never", false)])
  func `a switch of users is seen without logind's signals`(text: String, needsSignals: Bool) throws {
    #expect(SessionPolicy(lockEvents: try #require(SessionPolicy.lockEvents(text))).needsSignals == needsSignals)
  }
}

struct IdleLockTests {
  /// Counts how often the vault was locked.
  private final class Locks: Sendable {
    private let (locked, lock) = AsyncStream.makeStream(of: Void.self)
    func add() { lock.yield() }
    func one() async { for await _ in locked { return } }
  }

  private let clock = ManualClock()
  private let locks = Locks()
  private let idle: IdleLock

  init() {
    idle = IdleLock(limit: .seconds(28_800), clock: clock, executor: globalConcurrentExecutor)
    idle.observe(locks.add)
  }

  @Test func `the vault locks 8 hours after it was opened`() async {
    idle.wasOpened()
    await clock.sleepers(1)
    clock.advance(by: .seconds(28_799))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    await locks.one()
    #expect(clock.sleeperCount == 0, "nothing wakes while the vault is locked")
  }

  /// A request to a relying party, or to none, such as getInfo; the kind is `nil` if it asks nobody.
  private func ended(_ rpID: String?, _ kind: HistoryEntry.Kind?, _ status: CTAPStatus? = nil) {
    idle.ended(
      CommandReport(
        command: "a command", rpID: rpID, error: status.map { CTAPError($0, "no") }, elapsed: .zero, kind: kind))
  }

  // Holds: SESSION-6
  @Test func `requests that fail, or that nobody agreed to, do not keep the vault open`() async {
    idle.wasOpened()
    await clock.sleepers(1)
    for _ in 0..<7 {
      clock.advance(by: .seconds(3600))
      ended(nil, nil)
      // A sign-in without presence.
      ended("example.com", nil)
      ended("example.com", .nextSignIn)
      ended("example.com", .signIn, .noCredentials)
      ended(nil, nil, .invalidCommand)
    }
    clock.advance(by: .seconds(3600))
    await locks.one()
  }

  @Test func `each use begins the 8 hours again, with one wake-up for all uses`() async {
    idle.wasOpened()
    await clock.sleepers(1)
    for _ in 0..<7 {
      clock.advance(by: .seconds(3600))
      ended("example.com", .signIn)
    }
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(3600))
    await clock.sleepers(1)
    clock.advance(by: .seconds(6 * 3600))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(3600))
    await locks.one()
  }

  @Test func `a vault that is opened again has one timer`() async {
    idle.wasOpened()
    await clock.sleepers(1)
    clock.advance(by: .seconds(3600))
    idle.wasOpened()
    while clock.sleeperCount != 1 { await Task.yield() }
    clock.advance(by: .seconds(28_799))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    await locks.one()
  }

  @Test func `without an opening there is no timer`() {
    ended("example.com", .signIn)
    #expect(clock.sleeperCount == 0)
  }
}
