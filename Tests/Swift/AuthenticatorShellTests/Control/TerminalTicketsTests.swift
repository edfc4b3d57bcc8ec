import ControlProtocol
import CryptoPrimitives
import EventLoopTests
import Glibc
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

/// The tickets of terminals, with a clock that the test moves.
struct TerminalTicketsTests {
  private static let terminal = TerminalSession(device: 0x8801, leader: 100, start: 5000)

  private let clock = ManualClock()
  private let tickets: TerminalTickets
  private let unlocking = Unlocking()

  init() { tickets = TerminalTickets(clock: clock) }

  private func has(_ terminal: TerminalSession = Self.terminal) -> Bool {
    tickets.unlocking(of: terminal) === unlocking
  }

  // Holds: CONTROL-20
  @Test func `a ticket lasts five minutes from the passphrase, and its use does not prolong it`() {
    #expect(!has())
    tickets.give(to: Self.terminal, for: unlocking)
    #expect(has())
    clock.advance(by: .seconds(299))
    #expect(has())
    clock.advance(by: .milliseconds(999))
    #expect(has())
    clock.advance(by: .milliseconds(1))
    #expect(!has())
    // The next passphrase begins another five minutes.
    tickets.give(to: Self.terminal, for: unlocking)
    clock.advance(by: .seconds(200))
    tickets.give(to: Self.terminal, for: unlocking)
    clock.advance(by: .seconds(200))
    #expect(has())
    clock.advance(by: .seconds(100))
    #expect(!has())
    #expect(clock.sleeperCount == 0, "no timer wakes the process")
  }

  // Holds: CONTROL-20
  @Test(arguments: [
    TerminalSession(device: 0x8802, leader: 100, start: 5000),
    TerminalSession(device: 0x8801, leader: 101, start: 5000),
    TerminalSession(device: 0x8801, leader: 100, start: 5001),
  ])
  func `a ticket is of one session in one terminal`(_ other: TerminalSession) {
    tickets.give(to: Self.terminal, for: unlocking)
    #expect(!has(other))
    tickets.drop(of: other)
    #expect(has())
    tickets.drop(of: Self.terminal)
    #expect(!has())
  }

  // Holds: CONTROL-20
  @Test func `a ticket ends when the vault is locked`() {
    tickets.give(to: Self.terminal, for: unlocking)
    unlocking.end()
    #expect(!has())
    // Another unlocking is another ticket.
    let next = Unlocking()
    tickets.give(to: Self.terminal, for: next)
    #expect(tickets.unlocking(of: Self.terminal) === next)
  }

  /// 65 terminals: one more than have tickets at a time.
  private static let terminals = (0...64 as ClosedRange<Int32>).map {
    TerminalSession(device: $0, leader: 100, start: 5000)
  }

  @Test func `64 terminals have a ticket, and the oldest makes room`() {
    let terminals = Self.terminals
    for terminal in terminals.dropLast() {
      tickets.give(to: terminal, for: unlocking)
      clock.advance(by: .milliseconds(1))
    }
    // One that it has already needs no room.
    tickets.give(to: terminals[1], for: unlocking)
    #expect(terminals.dropLast().allSatisfy { has($0) })
    tickets.give(to: terminals[64], for: unlocking)
    #expect(terminals.filter { !has($0) } == [terminals[0]])
  }

  @Test func `a ticket that has ended takes no place from one that lasts`() {
    let ended = Unlocking()
    tickets.give(to: Self.terminals[0], for: unlocking)
    clock.advance(by: .milliseconds(1))
    for terminal in Self.terminals[1..<64] { tickets.give(to: terminal, for: ended) }
    ended.end()
    tickets.give(to: Self.terminals[64], for: unlocking)
    #expect(Self.terminals.filter { has($0) } == [Self.terminals[0], Self.terminals[64]])
  }

  // MARK: The terminal of a process

  private static func line(_ name: String, session: Int, terminal: Int, start: Int) -> [UInt8] {
    let rest = "1 4712 \(session) \(terminal) 4712 4194304 1 2 3 4 5 6 7 8 20 0 1 0 \(start) 9 10 11\n"
    return Array("4711 (\(name)) S \(rest)".utf8)
  }

  @Test(arguments: ["sh", "a b", "x) S 1 1 1 1 1", "(((", ")", ""])
  func `the name of a program does not change what else is known of it`(_ name: String) {
    #expect(
      ProcessStatus(Self.line(name, session: 4700, terminal: 34817, start: 123_456))
        == ProcessStatus(session: 4700, terminal: 34817, start: 123_456))
  }

  @Test func `a line that is cut off, or has other fields, says nothing`() {
    let line = Self.line("sh", session: 4700, terminal: 34817, start: 123_456)
    #expect(ProcessStatus([]) == nil)
    #expect(ProcessStatus(Array(line.prefix(60))) == nil)
    #expect(ProcessStatus(Array("4711 (sh) S".utf8)) == nil)
    #expect(ProcessStatus(Array(String(decoding: line, as: UTF8.self).replacing("34817", with: "x").utf8)) == nil)
  }

  @Test func `a line needs all up to the time of the start, and nothing after it`() {
    let line = Self.line("sh", session: 4700, terminal: 34817, start: 123_456)
    let before = line.count - "123456 9 10 11\n".utf8.count
    for count in 0...before { #expect(ProcessStatus(Array(line.prefix(count))) == nil) }
    #expect(
      ProcessStatus(Array(line.prefix(before + 6)))
        == ProcessStatus(session: 4700, terminal: 34817, start: 123_456))
  }

  @Test func `the session of this process is found`() {
    #expect(ProcessStatus(of: getpid())?.session == getsid(0))
    #expect(ProcessStatus(of: -1) == nil)
  }

  // Holds: CONTROL-20
  @Test func `a program without a terminal, or whose session is not shown, has none`() {
    let (shell, program) = (
      ProcessStatus(session: 100, terminal: 0x8801, start: 5000),
      ProcessStatus(session: 100, terminal: 0x8801, start: 6000)
    )
    func terminal(_ program: ProcessStatus?, _ leader: ProcessStatus?) -> TerminalSession? {
      TerminalSession(of: 200) { $0 == 200 ? program : $0 == 100 ? leader : nil }
    }
    #expect(terminal(program, shell) == Self.terminal)
    #expect(terminal(nil, shell) == nil)
    #expect(terminal(program, nil) == nil)
    // A program without a terminal has number 0 there, and so has the leader of its session.
    let none = ProcessStatus(session: 100, terminal: 0, start: 5000)
    #expect(terminal(none, none) == nil)
    #expect(terminal(none, shell) == nil)
    // The leader is another process meanwhile.
    #expect(terminal(program, none) == nil)
    #expect(terminal(program, ProcessStatus(session: 99, terminal: 0x8801, start: 5000)) == nil)
    // The leader is outside of what /proc shows.
    let outside = ProcessStatus(session: 0, terminal: 0x8801, start: 6000)
    #expect(terminal(outside, shell) == nil)
    #expect(TerminalSession(of: 200) { $0 == 0 || $0 == 200 ? outside : nil } == nil, "no process has the number 0")
    // In a container, the shell can be the first process.
    let first = ProcessStatus(session: 1, terminal: 0x8801, start: 5000)
    #expect(
      TerminalSession(of: 200) { $0 == 1 || $0 == 200 ? first : nil }
        == TerminalSession(device: 0x8801, leader: 1, start: 5000))
  }
}

/// The list of passkeys for programs that have not given the passphrase themselves.
struct TicketSessionTests {
  private static let terminal = TerminalSession(device: 0x8801, leader: 100, start: 5000)

  private let service = ScriptedService()

  init() { openVault() }

  /// Opens the vault, or opens it again.
  private func openVault() {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    service.vault.withLock { vault in
      vault?.unlocking.end()
      vault = OpenVault(
        keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
    }
  }

  private func ask(_ request: any ServedCommand, in terminal: TerminalSession?) async -> ControlStatus? {
    let session = ControlSession(client: 5, service: service, terminal: terminal, log: { _ in })
    _ = await session.answer(to: .command(Hello()))
    return await session.answer(to: .command(request)).first.map(ControlStatus.init(rawValue:))
  }

  private func unlock(
    in terminal: TerminalSession?, with passphrase: [UInt8] = ScriptedService.passphrase
  ) async -> ControlStatus? {
    await ask(Unlock(passphrase.withUnsafeBytes { SecretBytes(copying: $0) }), in: terminal)
  }

  private func list(in terminal: TerminalSession? = Self.terminal) async -> ControlStatus? {
    await ask(ListCredentials(), in: terminal)
  }

  // Holds: CONTROL-20
  @Test func `the list needs the passphrase in another terminal, without one, and after five minutes`() async {
    #expect(await list() == .passphraseRequired)
    #expect(await unlock(in: Self.terminal) == .ok)
    #expect(await list() == .ok)
    #expect(await list(in: TerminalSession(device: 0x8802, leader: 300, start: 7000)) == .passphraseRequired)
    #expect(await list(in: nil) == .passphraseRequired)
    service.clock.advance(by: TerminalTickets.lifetime)
    #expect(await list() == .passphraseRequired)
  }

  // Holds: CONTROL-20
  @Test func `a passphrase that was given without a terminal gives no ticket`() async {
    #expect(await unlock(in: nil) == .ok)
    #expect(await list() == .passphraseRequired)
    #expect(await list(in: nil) == .passphraseRequired)
  }

  // Holds: CONTROL-20
  @Test func `a vault that was locked and opened again needs the passphrase for its list`() async {
    #expect(await unlock(in: Self.terminal) == .ok)
    openVault()
    #expect(await list() == .passphraseRequired)
    #expect(await unlock(in: Self.terminal) == .ok)
    #expect(await list() == .ok)
  }

  // Holds: CONTROL-20
  @Test func `a wrong passphrase ends the ticket of its terminal, and no other`() async {
    let other = TerminalSession(device: 0x8802, leader: 300, start: 7000)
    #expect(await unlock(in: Self.terminal) == .ok)
    #expect(await unlock(in: other) == .ok)
    #expect(await unlock(in: Self.terminal, with: [1, 2, 3]) == .wrongPassphrase)
    #expect(await list() == .passphraseRequired)
    #expect(await list(in: other) == .ok)
  }
}
