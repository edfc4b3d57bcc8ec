import CLinux
package import CTAPHID
package import Glibc
package import ProcessIO
import Synchronization

/// One thread that runs tasks, waits for descriptors and fires timers.
///
/// It sleeps in one poll(2) over all descriptors, until the next deadline, so an idle loop does not wake; Swift's own
/// pool on Linux wakes once a second as long as the process lives. What the loop's own thread does (enqueue a job,
/// watch a descriptor, set a timer) takes effect before it sleeps again and needs no wake-up. Other threads wake it
/// with an eventfd.
///
/// A job that blocks delays everything else: run it on ``OwnThread`` or on a second loop.
package final class EventLoop: TaskExecutor, MonotonicClock {
  private struct State {
    var jobs: [Job] = []
    var actions: [@Sendable () -> Void] = []
    var watches: [Watch] = []
    var sleepers: [UInt64: Sleeper] = [:]
    /// The earliest deadline of `sleepers`.
    var alarm: Instant?
    var lastNumber: UInt64 = 0
    /// Whether the state was changed since the thread last examined it.
    var isChanged = false
    /// Whether the thread sleeps or is about to, so that a change must wake it.
    var isAsleep = false

    /// Removes a sleeper, so that its deadline wakes the thread no more.
    mutating func cancel(_ number: UInt64) -> Sleeper? {
      guard let sleeper = sleepers.removeValue(forKey: number) else { return nil }
      if sleeper.until == alarm { findAlarm() }
      return sleeper
    }

    mutating func findAlarm() { alarm = sleepers.values.lazy.map { $0.until }.min() }
  }

  /// A job, and the executor of the actor that it runs in, if any.
  ///
  /// The runtime must know whether a job runs in an actor. If every job claimed to, each call of an asynchronous
  /// function outside of actors would enqueue the task again instead of continuing.
  private struct Job {
    let job: UnownedJob
    let serial: UnownedSerialExecutor?
  }

  private struct Sleeper {
    let until: Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  private let state = Mutex(State())
  /// Locked while a watch is served, so that another thread can stop a watch and know that it is no longer served.
  private let turn = Mutex<Void>(())
  /// The eventfd that wakes the thread.
  private let signal: Int32
  private let thread = Atomic<UInt>(0)

  /// Starts the thread, which lives as long as the process.
  ///
  /// - Throws: if the system has no descriptor or thread left.
  package init() throws(SystemNumber) {
    signal = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard signal >= 0 else { throw SystemNumber() }
    var thread = pthread_t()
    let job = Unmanaged.passRetained(self)
    let error = pthread_create(&thread, nil, runEventLoop, job.toOpaque())
    guard error == 0 else {
      job.release()
      throw SystemNumber(error)
    }
    pthread_detach(thread)
  }

  /// Whether the caller runs on the loop's thread.
  private var isOwnThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Changes the state, and wakes the thread if it sleeps.
  private func change<Result>(_ body: (inout sending State) -> sending Result) -> Result {
    var wakes = false
    let result = state.withLock { state in
      wakes = state.isAsleep
      state.isAsleep = false
      state.isChanged = true
      return body(&state)
    }
    if wakes { eventfd_write(signal, 1) }
    return result
  }

  // MARK: Tasks

  package func enqueue(_ job: consuming ExecutorJob) { enqueue(Job(job: UnownedJob(job), serial: nil)) }

  private func enqueue(_ job: Job) { change { $0.jobs.append(job) } }

  /// The executor of an actor whose jobs run on the loop's thread.
  package final class Serial: SerialExecutor {
    private let loop: EventLoop

    package init(_ loop: EventLoop) { self.loop = loop }

    package func enqueue(_ job: consuming ExecutorJob) {
      loop.enqueue(Job(job: UnownedJob(job), serial: asUnownedSerialExecutor()))
    }

    /// Called by Swift's `assumeIsolated` and its assertions.
    package func checkIsolated() { precondition(loop.isOwnThread, "call this on the loop's thread") }
  }

  /// Calls `action` on the loop's thread: at once on that thread, from others in the order of the calls.
  package func perform(_ action: @escaping @Sendable () -> Void) {
    if isOwnThread { return action() }
    change { $0.actions.append(action) }
  }

  // MARK: Timers

  package var now: Instant {
    var now = timespec()
    // It counts suspended time, which poll(2) does not: a timer that expired meanwhile fires with the first event after
    // the suspend.
    clock_gettime(CLOCK_BOOTTIME, &now)
    return Instant(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
  }

  package func sleep(until instant: Instant) async throws(CancellationError) {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { add(Sleeper(until: instant, continuation: $0), number) }
    } onCancel: {
      state.withLock { $0.cancel(number) }?.continuation.resume(returning: false)
    }
    guard isOver else { throw CancellationError() }
  }

  private func add(_ sleeper: Sleeper, _ number: UInt64) {
    let isAdded = change { state in
      // A cancellation that comes later finds the sleeper; one that came before would not.
      guard !Task.isCancelled else { return false }
      state.sleepers[number] = sleeper
      state.alarm = min(state.alarm ?? sleeper.until, sleeper.until)
      return true
    }
    if !isAdded { sleeper.continuation.resume(returning: false) }
  }

  // MARK: Descriptors

  /// Serves `polled` from now on, until the watch is stopped.
  package func watch(_ polled: any Polled) -> Watch {
    let watch = Watch(polled, on: self)
    change { $0.watches.append(watch) }
    return watch
  }

  fileprivate func stop(_ watch: Watch) {
    // The loop's thread cannot wait for its own turn to end, and serves nothing else meanwhile.
    if isOwnThread { return remove(watch) }
    turn.withLock { _ in remove(watch) }
  }

  private func remove(_ watch: Watch) {
    change { state in state.watches.removeAll { $0 === watch } }
  }

  fileprivate func wake() { change { _ in } }

  // MARK: The thread

  /// How many rounds of jobs run before the thread polls descriptors and timers again.
  private static let jobsAtOnce = 16

  fileprivate func run() -> Never {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    let task = asUnownedTaskExecutor()
    var jobs: [Job] = []
    var polled: [Served] = []
    var descriptors: [pollfd] = []
    while true {
      for _ in 0..<Self.jobsAtOnce {
        jobs.removeAll(keepingCapacity: true)
        let actions = state.withLock { state in
          swap(&jobs, &state.jobs)
          defer { state.actions = [] }
          return state.actions
        }
        if jobs.isEmpty, actions.isEmpty { break }
        for action in actions { action() }
        for job in jobs {
          if let serial = job.serial {
            job.job.runSynchronously(isolatedTo: serial, taskExecutor: task)
          } else {
            job.job.runSynchronously(on: task)
          }
        }
      }
      let watches = state.withLock { state in
        state.isChanged = !state.jobs.isEmpty || !state.actions.isEmpty
        return state.watches
      }
      polled.removeAll(keepingCapacity: true)
      descriptors.removeAll(keepingCapacity: true)
      descriptors.append(.readable(signal))
      var timeout = Int32.max
      turn.withLock { _ in
        for watch in watches {
          let first = descriptors.count
          let milliseconds = watch.polled.interests(&descriptors)
          polled.append(Served(watch: watch, count: descriptors.count - first, hasDeadline: milliseconds >= 0))
          if milliseconds >= 0 { timeout = min(timeout, milliseconds) }
        }
      }
      let alarm = state.withLock { state -> Instant? in
        state.isAsleep = !state.isChanged
        return state.isAsleep ? state.alarm : Instant(nanoseconds: 0)
      }
      if let alarm { timeout = min(timeout, alarm.pollTimeout(from: now)) }
      let count = poll(&descriptors, nfds_t(descriptors.count), timeout == .max ? -1 : timeout)
      let number = errno
      state.withLock { $0.isAsleep = false }
      if count < 0 {
        // Out of memory, or the limit of descriptors was lowered; this may pass.
        if number != EINTR { usleep(100_000) }
        continue
      }
      if descriptors[0].revents != 0 {
        var raised: UInt64 = 0
        eventfd_read(signal, &raised)
      }
      ring()
      serve(polled, descriptors)
    }
  }

  /// A watch, the number of its descriptors, and whether it has a deadline.
  private struct Served {
    let watch: Watch
    let count: Int
    let hasDeadline: Bool
  }

  /// Calls each watch that has an event or a deadline, with poll(2)'s results for its descriptors.
  private func serve(_ polled: [Served], _ descriptors: [pollfd]) {
    var first = 1
    for served in polled {
      let own = descriptors[first..<first + served.count]
      first += served.count
      guard served.hasDeadline || own.contains(where: { $0.revents != 0 }) else { continue }
      turn.withLock { _ in
        // It may have been stopped since it gave its descriptors.
        guard state.withLock({ $0.watches.contains { $0 === served.watch } }) else { return }
        served.watch.polled.ready(own)
      }
    }
  }

  /// Resumes the sleepers whose deadline has passed.
  private func ring() {
    guard let alarm = state.withLock(\.alarm), alarm <= now else { return }
    let now = now
    let due = state.withLock { state in
      let due = state.sleepers.filter { $1.until <= now }
      due.keys.forEach { state.sleepers[$0] = nil }
      state.findAlarm()
      return due.values.map(\.continuation)
    }
    due.forEach { $0.resume(returning: true) }
  }

  /// The loop's handle for one ``Polled``.
  package final class Watch: Sendable {
    fileprivate let polled: any Polled
    private let loop: EventLoop

    fileprivate init(_ polled: any Polled, on loop: EventLoop) {
      self.polled = polled
      self.loop = loop
    }

    /// Makes the loop call `interests` again; calls on the loop's own thread do not need it.
    package func wake() { loop.wake() }

    /// Stops the watch; once this returns, neither function of ``Polled`` is called or running.
    package func stop() { loop.stop(self) }
  }
}

/// A type whose descriptors an ``EventLoop`` polls; the loop's thread calls both functions.
package protocol Polled: AnyObject, Sendable {
  /// Appends the descriptors to poll; returns the longest wait in milliseconds (−1: no limit).
  func interests(_ descriptors: inout [pollfd]) -> Int32
  /// Handles poll(2)'s results for these descriptors: at least one has an event, or the wait may be over.
  func ready(_ descriptors: ArraySlice<pollfd>)
}

/// The thread's start routine; C calls it, so it belongs to no actor.
private func runEventLoop(_ loop: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let loop { Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue().run() }
  return nil
}

/// Pauses a listening socket while the system has no room for another connection, which poll(2) would report in a loop.
///
/// It ends with the next event, which may have made room, or after a second.
package final class ArrivalPause: Sendable {
  private let isOn = Atomic(false)

  package init() {}

  package func begin() { isOn.store(true, ordering: .relaxed) }
  package func end() { isOn.store(false, ordering: .relaxed) }

  /// What to wait for; poll(2) passes over a descriptor of −1.
  package func interest(in listener: Int32) -> (descriptor: pollfd, timeout: Int32) {
    isOn.load(ordering: .relaxed) ? (.readable(-1), 1000) : (.readable(listener), -1)
  }
}

extension pollfd {
  /// Waits for `descriptor` to become readable.
  package static func readable(_ descriptor: Int32) -> pollfd {
    pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  }

  /// Whether a read gives data, an end or an error.
  package var isReadable: Bool { revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 }
  /// Whether there is room to write.
  package var isWritable: Bool { revents & Int16(POLLOUT) != 0 }
}

extension Instant {
  /// The timeout for poll(2) to wake at this instant, not before.
  package func pollTimeout(from now: Instant) -> Int32 {
    let nanoseconds = max(0, nanoseconds - now.nanoseconds)
    return Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
  }
}
