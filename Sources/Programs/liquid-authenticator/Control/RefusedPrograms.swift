import CTAP2
import CTAPHID
import EventLoop
import Glibc
import HelperProcess
import Prompts
import Synchronization

/// Delays the requests of a program, without a dialog, after the person has refused two of them; longer each time.
///
/// A program is a process at the control socket; a program that restarts is another one. Processes whose number the
/// system does not say cannot be told apart, and do not wait. A wait is a timer only while a request waits, and at most
/// ``capacity`` programs are remembered.
final class RefusedPrograms: Sendable {
  /// How many refusals have no effect.
  static let free = 2
  /// The wait after one more refusal than that; each further one doubles it.
  static let shortest = Duration.seconds(1)
  static let longest = Duration.seconds(300)
  /// How long after its last refusal a program is forgotten.
  static let memory = Duration.seconds(3600)
  /// The most programs; the one that was refused the longest time ago makes room.
  static let capacity = 64

  private struct Entry {
    var refusals: Int
    var last: Instant
  }

  private let clock: any MonotonicClock
  private let entries = Mutex<[ControlServerSocket.Peer: Entry]>([:])

  init(clock: any MonotonicClock) { self.clock = clock }

  /// The program that sent a request; `nil` for the device, whose programs cannot be told apart, and for an unknown
  /// process.
  private static func program(of origin: RequestOrigin?) -> ControlServerSocket.Peer? {
    switch origin?.door {
    case .controlSocket(let process?, let instance), .anotherComputer(let process?, let instance):
      return ControlServerSocket.Peer(number: process, instance: instance)
    case .controlSocket(nil, _), .anotherComputer(nil, _), .device, nil: return nil
    }
  }

  /// Counts a request that ended after the user was asked; after the user agreed, the count starts again.
  func ended(_ report: CommandReport) {
    let origin = report.client as? RequestOrigin
    guard let program = Self.program(of: origin) else { return }
    if report.isUse { return entries.withLock { $0[program] = nil } }
    if let prompt = report.error?.prompt { count(prompt, of: origin) }
  }

  /// Counts a prompt for a request of this origin, if the user did not agree.
  func count(_ prompt: UserInteractionError, of origin: RequestOrigin?) {
    // A program that withdraws a request has shown a dialog, too.
    guard let program = Self.program(of: origin), [.declined, .timedOut, .cancelled].contains(prompt) else { return }
    if prompt == .cancelled, origin?.withdrawal?.isOurs == true { return }
    let now = clock.now
    entries.withLock { entries in
      entries = entries.filter { $1.last.advanced(by: Self.memory) > now }
      if entries[program] == nil, entries.count >= Self.capacity,
        let oldest = entries.min(by: { $0.value.last < $1.value.last })
      {
        entries[oldest.key] = nil
      }
      entries[program] = Entry(refusals: (entries[program]?.refusals ?? 0) + 1, last: now)
    }
  }

  /// Until when the requests of a program wait; `nil` if they need not.
  private func endOfWait(of program: ControlServerSocket.Peer?) -> Instant? {
    guard let program, let entry = entries.withLock({ $0[program] }), entry.refusals >= Self.free
    else { return nil }
    // More doublings exceed the longest wait.
    let wait = Self.shortest * (1 << min(entry.refusals - Self.free, 16))
    let end = entry.last.advanced(by: min(wait, Self.longest))
    return end > clock.now ? end : nil
  }

  /// Runs `work` as ``RequestQueue/submit(isOfDevice:_:)`` does, once the program need not wait any more.
  ///
  /// A request that waited for its turn while others of its program were refused gives the turn back.
  func submit<Authenticator: Sendable, Answer: Sendable>(
    to queue: RequestQueue<Authenticator>, from origin: RequestOrigin?, isOfDevice: Bool = false,
    _ work: @Sendable (inout Authenticator) async -> Answer
  ) async throws(CancellationError) -> Answer {
    let program = Self.program(of: origin)
    while true {
      if let end = endOfWait(of: program) { try await clock.sleep(until: end) }
      let answer: Answer? = try await queue.submit(isOfDevice: isOfDevice) { authenticator in
        guard endOfWait(of: program) == nil else { return nil }
        return await work(&authenticator)
      }
      if let answer { return answer }
    }
  }
}
