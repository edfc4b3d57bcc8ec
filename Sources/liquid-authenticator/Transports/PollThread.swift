import CLinux
import Glibc
import Synchronization

/// What a poll thread serves; that one thread makes both calls.
protocol Polled: AnyObject, Sendable {
  /// What to wait for now, and for how many milliseconds at most (−1: for ever).
  func interests() -> (descriptors: [pollfd], timeout: Int32)
  /// Some of the descriptors have something to say, or the time is over.
  func ready(_ descriptors: [pollfd])
}

/// One thread that sleeps in poll(2) until a descriptor has something to say: it never wakes for nothing.
final class PollThread: Sendable {
  private let signal: Signal
  private let thread: pthread_t

  /// Begins to serve; `stop` must be called before `polled` can go.
  init(_ polled: any Polled) throws(TransportError) {
    let signal = try Signal()
    let job = Unmanaged.passRetained(Job(polled: polled, signal: signal))
    var thread = pthread_t()
    let error = pthread_create(&thread, nil, Job.start, job.toOpaque())
    guard error == 0 else {
      job.release()
      throw TransportError("start a thread", errno: error)
    }
    self.signal = signal
    self.thread = thread
  }

  /// Makes the thread ask for its interests anew.
  func wake() { signal.raise() }

  /// Ends the thread and waits for it; not to be called from the thread itself.
  func stop() {
    signal.end()
    pthread_join(thread, nil)
  }

  /// An eventfd that interrupts poll(2).
  private final class Signal: Sendable {
    let descriptor: Int32
    private let isEnding = Atomic(false)

    init() throws(TransportError) {
      descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
      guard descriptor >= 0 else { throw TransportError("make an eventfd", errno: errno) }
    }

    deinit { close(descriptor) }

    var hasEnded: Bool { isEnding.load(ordering: .acquiring) }

    func raise() { eventfd_write(descriptor, 1) }

    func end() {
      isEnding.store(true, ordering: .releasing)
      raise()
    }

    func clear() {
      var count: UInt64 = 0
      eventfd_read(descriptor, &count)
    }
  }

  /// What the thread runs: C calls `start` on a thread of its own, so nothing here may be bound to an actor.
  private final class Job: Sendable {
    private let polled: any Polled
    private let signal: Signal

    init(polled: any Polled, signal: Signal) {
      self.polled = polled
      self.signal = signal
    }

    static let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { job in
      if let job { Unmanaged<Job>.fromOpaque(job).takeRetainedValue().run() }
      return nil
    }

    private func run() {
      while !signal.hasEnded {
        let (wanted, timeout) = polled.interests()
        var descriptors = wanted + [pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)]
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) >= 0 else {
          // EINTR; or there is no memory, or the limit of descriptors was lowered, which may pass: what this thread
          // serves would otherwise be deaf for good.
          if errno != EINTR { usleep(100_000) }
          continue
        }
        if descriptors.removeLast().revents != 0 { signal.clear() }
        if !signal.hasEnded { polled.ready(descriptors) }
      }
    }
  }
}

/// Leaves a listening socket alone while the system has no room for another connection: poll(2) would tell of the one
/// that waits at once and again.
///
/// It ends with the next thing that happens, which may have made room, and after a second.
final class ArrivalPause: Sendable {
  private let isOn = Atomic(false)

  func begin() { isOn.store(true, ordering: .relaxed) }
  func end() { isOn.store(false, ordering: .relaxed) }

  /// What to wait for; poll(2) passes over a descriptor of −1.
  func interest(in listener: Int32) -> (descriptor: pollfd, timeout: Int32) {
    isOn.load(ordering: .relaxed) ? (.readable(-1), 1000) : (.readable(listener), -1)
  }
}

extension pollfd {
  /// Waits for `descriptor` to become readable.
  static func readable(_ descriptor: Int32) -> pollfd { pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0) }

  /// Whether there is something to read, or an end or error to be met by reading.
  var isReadable: Bool { revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 }
  /// Whether there is room to write.
  var isWritable: Bool { revents & Int16(POLLOUT) != 0 }
}
