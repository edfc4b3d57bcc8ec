import CSystemd
import Glibc

/// The signals of logind on the system bus, and the lock that delays a suspend: org.freedesktop.login1(5).
///
/// Used by one thread at a time.
package final class LoginSignals: @unchecked Sendable {
  /// A signal of logind.
  package enum Signal: Sendable, Equatable {
    /// The screen of a session of this user is locked.
    case screenLocked
    /// The machine is about to be suspended; it waits for ``allowSleep()``, but at most for some seconds.
    case suspending
    /// The machine runs again.
    case resumed
  }

  static let name = "org.freedesktop.login1"
  static let path = "/org/freedesktop/login1"
  static let manager = "org.freedesktop.login1.Manager"
  /// How long logind may take to answer, in microseconds.
  private static let timeout: UInt64 = 5_000_000

  private let bus: OpaquePointer
  private let user: UInt32
  /// The signals that were received in the present call of ``process()``.
  private var received: [Signal] = []
  /// logind's lock: the machine is suspended only once it is closed; -1 without it.
  private var delay: Int32 = -1

  /// Connects to the system bus; `nil` without a bus, or if it has not accepted the connection by the deadline.
  package init?(of user: UInt32, until deadline: ContinuousClock.Instant) {
    guard let bus = SystemBus.connect(until: deadline) else { return nil }
    self.bus = bus
    self.user = user
    let session = "org.freedesktop.login1.Session"
    let this = Unmanaged.passUnretained(self).toOpaque()
    // This does not wait for the bus, which handles messages in order: the matches are there before it answers
    // ``delaySleep()``. If it refuses one, libsystemd closes the connection.
    guard
      sd_bus_match_signal_async(bus, nil, Self.name, nil, session, "Lock", receiveLock, nil, this) >= 0,
      sd_bus_match_signal_async(
        bus, nil, Self.name, Self.path, Self.manager, "PrepareForSleep", receiveSleep, nil, this) >= 0
    else { return nil }
  }

  // Without a flush, which would wait for a bus that does not answer.
  deinit {
    allowSleep()
    sd_bus_close_unref(bus)
  }

  /// What to poll, and for which events.
  package var interest: (descriptor: Int32, events: Int16) {
    (sd_bus_get_fd(bus), SystemBus.events(of: bus))
  }

  /// Handles what the bus has sent; returns the signals, or `nil` if the connection has ended.
  ///
  /// Call it when the descriptor is ready, and after `init` and ``delaySleep()``: messages that come while these wait for
  /// their answers are queued, and then the descriptor reports nothing.
  package func process() -> [Signal]? {
    received = []
    while true {
      let result = sd_bus_process(bus, nil)
      guard result != 0 else { return received }
      guard result > 0 else { return nil }
    }
  }

  /// Makes logind wait before the next suspend; does nothing if it waits already, or refuses.
  package func delaySleep() {
    guard delay < 0 else { return }
    var call: OpaquePointer?
    guard sd_bus_message_new_method_call(bus, &call, Self.name, Self.path, Self.manager, "Inhibit") >= 0 else { return }
    defer { sd_bus_message_unref(call) }
    for text in ["sleep", "liquid-authenticator", "locks the vault", "delay"] {
      guard sd_bus_message_append_basic(call, CChar(UInt8(ascii: "s")), text) >= 0 else { return }
    }
    var reply: OpaquePointer?
    guard sd_bus_call(bus, call, Self.timeout, nil, &reply) >= 0 else { return }
    defer { sd_bus_message_unref(reply) }
    var descriptor: Int32 = -1
    guard sd_bus_message_read_basic(reply, CChar(UInt8(ascii: "h")), &descriptor) > 0 else { return }
    // The message closes its own descriptor.
    delay = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
  }

  /// Lets the machine be suspended.
  package func allowSleep() {
    guard delay >= 0 else { return }
    close(delay)
    delay = -1
  }

  // MARK: Signals

  /// Whether logind sent the signal: the bus delivers a broadcast only if its sender is the one in the match rule.
  ///
  /// Any program can address a signal to this connection alone, and libsystemd does not check the sender of such a
  /// signal.
  static func isFromLogind(_ message: OpaquePointer?) -> Bool { sd_bus_message_get_destination(message) == nil }

  fileprivate func lockReceived(_ message: OpaquePointer?) {
    guard Self.isFromLogind(message) else { return }
    var session: UnsafeMutablePointer<CChar>?
    defer { free(session) }
    var owner: uid_t = 0
    guard sd_bus_path_decode(sd_bus_message_get_path(message), Self.path + "/session", &session) > 0,
      sd_session_get_uid(session, &owner) >= 0, owner == user
    else { return }
    received.append(.screenLocked)
  }

  fileprivate func sleepReceived(_ message: OpaquePointer?) {
    guard Self.isFromLogind(message) else { return }
    var begins: Int32 = 0
    guard sd_bus_message_read_basic(message, CChar(UInt8(ascii: "b")), &begins) > 0 else { return }
    received.append(begins != 0 ? .suspending : .resumed)
  }
}

private func receiveLock(
  _ message: OpaquePointer?, _ signals: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
  if let signals { Unmanaged<LoginSignals>.fromOpaque(signals).takeUnretainedValue().lockReceived(message) }
  return 0
}

private func receiveSleep(
  _ message: OpaquePointer?, _ signals: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
  if let signals { Unmanaged<LoginSignals>.fromOpaque(signals).takeUnretainedValue().sleepReceived(message) }
  return 0
}
