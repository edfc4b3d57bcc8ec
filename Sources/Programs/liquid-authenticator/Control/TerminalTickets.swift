import CTAPHID
import EventLoop
import Glibc
import ProcessIO
import Recovery
import Synchronization

/// The terminals in which the passphrase was given: for five minutes, commands that accept a ticket need none there.
///
/// A ticket belongs to one unlocking: a lock, and every change that replaces the vault, ends it. Its use does not
/// prolong it. The time is compared when a ticket is used, so no timer wakes the process.
final class TerminalTickets: Sendable {
  /// How long a ticket lasts after the passphrase was given.
  static let lifetime = Duration.seconds(300)
  /// The maximum number of tickets; a new one then replaces the oldest.
  static let capacity = 64

  private struct Ticket {
    let unlocking: Unlocking
    let end: Instant

    func isValid(at now: Instant) -> Bool { now < end && !unlocking.hasEnded }
  }

  private let clock: any MonotonicClock
  private let tickets = Mutex<[TerminalSession: Ticket]>([:])

  init(clock: any MonotonicClock) { self.clock = clock }

  /// Gives a new ticket to a terminal in which the passphrase was verified.
  func give(to terminal: TerminalSession, for unlocking: Unlocking) {
    let now = clock.now
    let ticket = Ticket(unlocking: unlocking, end: now.advanced(by: Self.lifetime))
    tickets.withLock { tickets in
      tickets = tickets.filter { $1.isValid(at: now) }
      tickets[terminal] = ticket
      if tickets.count > Self.capacity, let oldest = tickets.min(by: { $0.value.end < $1.value.end }) {
        tickets[oldest.key] = nil
      }
    }
  }

  /// Drops the ticket of a terminal.
  func drop(of terminal: TerminalSession) { tickets.withLock { $0[terminal] = nil } }

  /// The unlocking for which a terminal has a ticket; `nil` if it has none.
  func unlocking(of terminal: TerminalSession) -> Unlocking? {
    let now = clock.now
    return tickets.withLock { tickets in
      guard let ticket = tickets[terminal], ticket.isValid(at: now) else { return nil }
      return ticket.unlocking
    }
  }
}

/// A terminal, and the session of processes that it controls.
///
/// The system reuses the numbers of terminals and processes; the start time of the leader distinguishes two sessions.
struct TerminalSession: Hashable, Sendable {
  /// The number of the terminal's device (st_rdev), as /proc has it.
  let device: Int32
  /// The process that leads the session, such as a shell.
  let leader: pid_t
  /// When the leader started, in ticks since the boot.
  let start: UInt64

  init(device: Int32, leader: pid_t, start: UInt64) {
    (self.device, self.leader, self.start) = (device, leader, start)
  }

  /// The controlling terminal of a process, and its session.
  ///
  /// - Parameter read: finds out about a process.
  /// - Returns: `nil` if the process has no terminal, or if /proc does not show the process and the leader.
  init?(of process: pid_t, reading read: (pid_t) -> ProcessStatus? = ProcessStatus.init(of:)) {
    guard let status = read(process), status.terminal != 0, status.session > 0, let leader = read(status.session),
      leader.session == status.session, leader.terminal == status.terminal
    else { return nil }
    self.init(device: status.terminal, leader: status.session, start: leader.start)
  }
}

/// What /proc/PID/stat says about a process.
struct ProcessStatus: Equatable {
  /// The process that leads its session.
  let session: pid_t
  /// The device of its controlling terminal; 0 if it has none.
  let terminal: Int32
  /// When it started, in ticks since the boot.
  let start: UInt64

  init(session: pid_t, terminal: Int32, start: UInt64) {
    (self.session, self.terminal, self.start) = (session, terminal, start)
  }

  /// Reads /proc; `nil` if it does not show the process.
  init?(of process: pid_t) {
    guard let line = Descriptor.contents(of: "/proc/\(process)/stat") else { return nil }
    self.init(line)
  }

  /// Reads the content of /proc/PID/stat.
  init?(_ line: [UInt8]) {
    // The second field is the name of the program in brackets, which can have brackets and spaces itself.
    guard let bracket = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = line[(bracket + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    // The first of these is the third field of proc(5): the session is the sixth, the start the twenty-second.
    guard fields.count > 19, let session = pid_t(fields[3]), let terminal = Int32(fields[4]),
      let start = UInt64(fields[19])
    else { return nil }
    self.init(session: session, terminal: terminal, start: start)
  }
}
