import CSystemd
import Glibc

/// Connections to the system bus.
package enum SystemBus {
  /// Connects, and waits until the bus has accepted the connection; blocks.
  ///
  /// dbus-daemon closes a connection that is not authenticated within 30 seconds (auth_timeout), and sd_bus_call(3) has no
  /// time limit before the bus has accepted the connection.
  ///
  /// - Returns: the connection; `nil` without a bus, or if the bus has not accepted it by the deadline.
  package static func connect(until deadline: ContinuousClock.Instant) -> OpaquePointer? {
    var bus: OpaquePointer?
    guard sd_bus_open_system(&bus) >= 0, let bus else { return nil }
    while sd_bus_is_ready(bus) <= 0 {
      let result = sd_bus_process(bus, nil)
      guard result >= 0, result > 0 || .now < deadline else {
        sd_bus_close_unref(bus)
        return nil
      }
      if result > 0 { continue }
      let (seconds, attoseconds) = (deadline - .now).components
      var interest = pollfd(fd: sd_bus_get_fd(bus), events: events(of: bus), revents: 0)
      poll(&interest, 1, Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)))
    }
    return bus
  }

  /// The events to poll for.
  static func events(of bus: OpaquePointer) -> Int16 { Int16(truncatingIfNeeded: sd_bus_get_events(bus)) }
}
