import CTAP2
import CTAPHID
import CryptoPrimitives
import DeterministicKeys
import EventLoop
import EventLoopTests
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

/// U2F hosts poll: each message is answered at once, and the dialog stays open in between.
struct U2FRequestHandlerTests {
  private static let message: [UInt8] =
    [0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40] + [UInt8](repeating: 7, count: 64)
  private static let other: [UInt8] =
    [0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40] + [UInt8](repeating: 8, count: 64)
  private static let context = RequestContext(channel: 1, poweredUpAt: .zero)

  private struct OpenVaultSource: KeySource {
    let vault: OpenVault
    var current: OpenVault? { vault }
    var reported: ReportedSettings { ReportedSettings() }
    func open(
      for reason: UnlockReason?, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> OpenVault { vault }
  }

  /// A locked vault whose prompt the user refuses.
  private struct RefusedVaultSource: KeySource {
    var current: OpenVault? { nil }
    var reported: ReportedSettings { ReportedSettings() }
    func open(
      for reason: UnlockReason?, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> OpenVault { throw .declined }
  }

  /// A user who answers each dialog when the test does.
  private final class Person: UserInteraction {
    let canVerify = false
    var verificationTriesLeft: Int { 0 }
    private let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    private let (answers, answering) = AsyncStream.makeStream(of: Bool.self)
    private let withdrawn = Mutex(0)

    var withdrawals: Int { withdrawn.withLock { $0 } }

    func confirm(
      _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> CTAP2.Confirmation {
      ask.yield()
      for await agrees in answers {
        guard agrees else { throw .declined }
        return CTAP2.Confirmation(userVerified: false)
      }
      withdrawn.withLock { $0 += 1 }
      throw .cancelled
    }

    /// Waits until a dialog is open.
    func isAsked() async { for await _ in asked { return } }
    func answer(_ agrees: Bool) { answering.yield(agrees) }
  }

  /// The lines of the log.
  private final class Reports: Sendable {
    private let list = Mutex<[String]>([])
    var lines: [String] { list.withLock { $0 } }
    func append(_ report: CommandReport) {
      CeremonyLog.line(report).map { line in list.withLock { $0.append(line.textWithSite) } }
    }
  }

  private let clock = ManualClock()
  private let person = Person()
  private let reports = Reports()
  private let handler: U2FRequestHandler

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0.initializeMemory(as: UInt8.self, repeating: 7) })
    let vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes(count: 96) { _ in }, store: InMemoryCredentialStore(keys: keys))
    handler = Self.handler(of: OpenVaultSource(vault: vault), person, clock, reports)
  }

  private static func handler(
    of source: any KeySource, _ person: Person, _ clock: ManualClock, _ reports: Reports
  ) -> U2FRequestHandler {
    let authenticator = Authenticator(
      keySource: source, interaction: person, extensions: [], randomness: SystemRandomNumberGenerator(),
      now: { .zero }, wallClock: { 0 }, report: reports.append)
    return U2FRequestHandler(
      queue: RequestQueue(authenticator), keySource: source, interaction: person, clock: clock,
      workers: globalConcurrentExecutor, report: reports.append)
  }

  private func send(_ message: [UInt8] = message, channel: UInt64 = 1) async -> [UInt8] {
    await handler.respond(to: message, in: RequestContext(channel: channel, poweredUpAt: .zero))
  }

  /// Repeats the request, as hosts do, until the answer satisfies the condition.
  private func poll(until isDone: ([UInt8]) -> Bool) async -> [UInt8] {
    while true {
      let answer = await send()
      if isDone(answer) { return answer }
      await Task.yield()
    }
  }

  // Holds: U2F-3
  @Test func `a polling host gets the answer once, after the user agrees`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    #expect(await send() == [0x69, 0x85], "one dialog, however often it is asked")
    clock.advance(by: .milliseconds(4321))
    person.answer(true)
    let answer = await poll { $0 != [0x69, 0x85] }
    #expect(answer.suffix(2) == [0x90, 0x00])
    #expect(reports.lines == ["U2F_REGISTER done, 4321 ms"], "one line, however often the host asked")
    #expect(await send() == [0x69, 0x85], "the consent was used up")
    await person.isAsked()
    await handler.withdraw()
  }

  @Test func `after a refusal, requests are refused for a while`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    clock.advance(by: .milliseconds(1500))
    person.answer(false)
    #expect(await poll { $0 != [0x69, 0x85] } == [0x69, 0x86])
    #expect(await send() == [0x69, 0x86])
    #expect(reports.lines.count == 1)
    let line = "U2F_REGISTER: the user refused (operationDenied), 1500 ms"
    #expect(reports.lines.first == line)
    clock.advance(by: .seconds(11))
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw()
  }

  @Test func `a refusal to unlock the vault is logged, for check-only messages too`() async {
    let handler = Self.handler(of: RefusedVaultSource(), person, clock, reports)
    let checkOnly: [UInt8] =
      [0x00, 0x02, 0x07, 0x00, 0x00, 0x00, 0x81] + [UInt8](repeating: 7, count: 64) + [64]
      + [UInt8](repeating: 9, count: 64)
    #expect(await handler.respond(to: checkOnly, in: Self.context) == [0x69, 0x86])
    #expect(
      reports.lines == ["U2F_AUTHENTICATE: the user refused (operationDenied), 0 ms"])
    #expect(await handler.respond(to: Self.message, in: Self.context) == [0x69, 0x85])
    while reports.lines.count < 2 { await Task.yield() }
    #expect(reports.lines[1] == "U2F_REGISTER: the user refused (operationDenied), 0 ms")
  }

  @Test func `a consent that no host collects expires`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    person.answer(true)
    while await !handler.hasAnswer { await Task.yield() }
    clock.advance(by: .seconds(11))
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw()
  }

  @Test func `a host that stops polling makes room for another`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    #expect(await send(Self.other, channel: 2) == [0x69, 0x85])
    #expect(person.withdrawals == 0, "the first one was here just now")
    clock.advance(by: .seconds(3))
    #expect(await send(Self.other, channel: 2) == [0x69, 0x85])
    while person.withdrawals == 0 { await Task.yield() }
    await handler.withdraw()
  }

  @Test func `a host that disconnects closes its own dialog only`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw(2)
    #expect(person.withdrawals == 0)
    await handler.withdraw(1)
    #expect(person.withdrawals == 1)
    await handler.withdraw(1)
    #expect(person.withdrawals == 1, "nothing is open")
  }

  /// Closes the device, as some hosts do after each answer; returns when the dialog waits for the host.
  private func close(_ channel: UInt64) async -> Task<Void, Never> {
    let sleepers = clock.sleeperCount
    let closing = Task { [handler] in await handler.withdraw(channel, mayReturn: true) }
    await clock.sleepers(sleepers + 1)
    return closing
  }

  // Holds: U2F-12
  @Test func `a host that closes the device after each answer finds its dialog and the consent again`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    let first = await close(1)
    #expect(await send(channel: 2) == [0x69, 0x85], "on a new channel")
    clock.advance(by: .seconds(3))
    await first.value
    #expect(person.withdrawals == 0, "it was back in time")

    let second = await close(2)
    person.answer(true)
    while await !handler.hasAnswer { await Task.yield() }
    clock.advance(by: .seconds(3))
    await second.value
    await handler.withdraw(2, mayReturn: true)
    #expect(await send(channel: 3).suffix(2) == [0x90, 0x00])
    #expect(person.withdrawals == 0)
  }

  // Holds: U2F-12
  @Test func `the dialog of a host that does not come back is closed`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    let closing = await close(1)
    clock.advance(by: .milliseconds(1999))
    #expect(person.withdrawals == 0)
    clock.advance(by: .milliseconds(1))
    await closing.value
    #expect(person.withdrawals == 1)
  }

  // Holds: U2F-12
  @Test func `another message replaces the dialog of a host that has closed the device`() async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    let closing = await close(1)
    #expect(await send(Self.other, channel: 2) == [0x69, 0x85])
    while person.withdrawals == 0 { await Task.yield() }
    clock.advance(by: .seconds(2))
    await closing.value
    await handler.withdraw()
  }

  // Holds: U2F-12
  @Test(arguments: [true, false])
  func `a consent does not outlast a replug, and is for its message only`(isReplugged: Bool) async {
    #expect(await send() == [0x69, 0x85])
    await person.isAsked()
    person.answer(true)
    while await !handler.hasAnswer { await Task.yield() }
    let context = RequestContext(channel: 1, poweredUpAt: .zero, pluggedInAt: isReplugged ? Duration.seconds(1) : nil)
    let message = isReplugged ? Self.message : Self.other
    #expect(await handler.respond(to: message, in: context) == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw()
  }

  @Test func `a detached device closes the dialog of any channel`() async {
    #expect(await send(channel: 5) == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw()
    #expect(person.withdrawals == 1)
    #expect(await send(channel: 5) == [0x69, 0x85])
    await person.isAsked()
    await handler.withdraw()
  }

  @Test func `requests without user presence are answered at once`() async {
    #expect(await send([0x00, 0x03, 0x00, 0x00]) == Array("U2F_V2".utf8) + [0x90, 0x00])
    #expect(await send([0x00, 0x09, 0x00, 0x00]) == [0x6D, 0x00])
  }
}
