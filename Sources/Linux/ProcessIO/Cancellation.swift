import CLinux
import Glibc

/// A cancellation that a thread can wait for with `poll`.
package final class Cancellation: Sendable {
  /// Readable once cancelled; -1 if the system has no descriptor left.
  package let descriptor: Int32

  package init() { descriptor = eventfd(0, Int32(EFD_CLOEXEC)) }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Cancels for good, and ends every wait.
  package func cancel() { eventfd_write(descriptor, 1) }

  /// What ended a wait.
  package enum Event: Equatable {
    /// The descriptor can be read, written, or is at its end: the next call on it does not block.
    case ready
    case cancelled
    case timedOut
  }

  /// Waits until `other` is ready for `events` or `deadline` has come; a cancellation takes precedence over both.
  package func wait(for other: Int32, _ events: Int32, until deadline: ContinuousClock.Instant?) -> Event {
    while true {
      var descriptors = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(events), revents: 0),
      ]
      let count = poll(&descriptors, 2, deadline.map(Self.milliseconds(until:)) ?? -1)
      if count < 0, errno != EINTR { return .ready }
      if descriptors[0].revents != 0 { return .cancelled }
      if count > 0 { return .ready }
      if let deadline, deadline <= .now { return .timedOut }
    }
  }

  /// Rounded up, so that a wait does not end just before its deadline.
  private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
    let (seconds, attoseconds) = (deadline - .now).components
    return Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
  }
}
