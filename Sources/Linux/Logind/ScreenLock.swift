import CSystemd
import Glibc
import Synchronization

/// Whether the screen of a user is locked, as the desktop reports it to logind (LockedHint): org.freedesktop.login1(5).
package final class ScreenLock: @unchecked Sendable {
  private static let session = "org.freedesktop.login1.Session"
  /// How long logind may take for each answer, in microseconds.
  private static let timeout: UInt64 = 1_000_000

  private let bus: OpaquePointer
  private let user: UInt32
  private let turn = Mutex(())
  /// Whether a property of a session has changed since the last ``read()``.
  private var hasChanged = false

  /// Connects to the system bus; `nil` without a bus, or if it has not accepted the connection by the deadline.
  ///
  /// The connection stays open, because a sandbox can forbid later connections.
  package init?(of user: UInt32, until deadline: ContinuousClock.Instant) {
    guard let bus = SystemBus.connect(until: deadline) else { return nil }
    sd_bus_set_method_call_timeout(bus, Self.timeout)
    (self.bus, self.user) = (bus, user)
  }

  // Without a flush, which would wait for a bus that does not answer; every call has waited for its own answer.
  deinit { sd_bus_close_unref(bus) }

  /// Whether a session of the user at this machine is locked; blocks.
  ///
  /// - Returns: `false` also without logind; `nil` if logind does not answer.
  package func isLocked() -> Bool? { turn.withLock { _ in read() } }

  /// Waits until the screen is locked, or logind does not answer; blocks.
  ///
  /// - Parameter descriptor: ends the wait when it is readable.
  /// - Returns: `false` if `descriptor` ended the wait.
  package func waitUntilLocked(orReadable descriptor: Int32) -> Bool {
    turn.withLock { _ in
      var slot: OpaquePointer?
      let rule = """
        type='signal',sender='\(LoginSignals.name)',interface='org.freedesktop.DBus.Properties',\
        member='PropertiesChanged',path_namespace='\(LoginSignals.path)/session'
        """
      let this = Unmanaged.passUnretained(self).toOpaque()
      guard sd_bus_add_match_async(bus, &slot, rule, receiveChange, nil, this) >= 0 else { return true }
      defer { sd_bus_slot_unref(slot) }
      while true {
        hasChanged = false
        guard read() == false else { return true }
        while !hasChanged {
          let result = sd_bus_process(bus, nil)
          guard result >= 0 else { return true }
          var ready = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: sd_bus_get_fd(bus), events: SystemBus.events(of: bus), revents: 0),
          ]
          // After a message, another one can be in memory already, so this does not wait.
          poll(&ready, 2, result > 0 ? 0 : -1)
          if ready[0].revents != 0 { return false }
        }
      }
    }
  }

  fileprivate func changeReceived(_ message: OpaquePointer?) {
    if LoginSignals.isFromLogind(message) { hasChanged = true }
  }

  // MARK: Calls

  private func read() -> Bool? {
    guard let sessions = sessions() else { return nil }
    for session in sessions {
      let isLocked = isLocked(session)
      guard isLocked == false else { return isLocked }
    }
    return false
  }

  /// The objects of the user's sessions at this machine; none without logind, `nil` if logind does not answer.
  private func sessions() -> [String]? {
    var call: OpaquePointer?
    guard
      sd_bus_message_new_method_call(
        bus, &call, LoginSignals.name, LoginSignals.path, LoginSignals.manager, "ListSessions") >= 0
    else { return nil }
    defer { sd_bus_message_unref(call) }
    sd_bus_message_set_auto_start(call, 0)
    var (error, reply) = (sd_bus_error(), OpaquePointer?.none)
    defer {
      sd_bus_error_free(&error)
      sd_bus_message_unref(reply)
    }
    guard sd_bus_call(bus, call, 0, &error, &reply) >= 0 else {
      return Self.isOne(error, of: ["DBus.Error.NameHasNoOwner", "DBus.Error.ServiceUnknown"]) ? [] : nil
    }
    guard sd_bus_message_enter_container(reply, Self.code("a"), "(susso)") > 0 else { return nil }
    var sessions: [String] = []
    while sd_bus_message_enter_container(reply, Self.code("r"), "susso") > 0 {
      var owner: UInt32 = 0
      var texts = [UnsafePointer<CChar>?](repeating: nil, count: 4)
      guard sd_bus_message_read_basic(reply, Self.code("s"), &texts[0]) > 0,
        sd_bus_message_read_basic(reply, Self.code("u"), &owner) > 0,
        sd_bus_message_read_basic(reply, Self.code("s"), &texts[1]) > 0,
        sd_bus_message_read_basic(reply, Self.code("s"), &texts[2]) > 0,
        sd_bus_message_read_basic(reply, Self.code("o"), &texts[3]) > 0,
        sd_bus_message_exit_container(reply) >= 0, let seat = texts[2], let path = texts[3]
      else { return nil }
      // A session over the network has no seat.
      if owner == user, seat.pointee != 0 { sessions.append(String(cString: path)) }
    }
    return sessions
  }

  private func isLocked(_ session: String) -> Bool? {
    var (error, locked, state) = (sd_bus_error(), Int32(0), UnsafeMutablePointer<CChar>?.none)
    defer {
      sd_bus_error_free(&error)
      free(state)
    }
    guard
      sd_bus_get_property_trivial(
        bus, LoginSignals.name, session, Self.session, "LockedHint", &error, Self.code("b"), &locked) >= 0
    else {
      // It has ended since it was listed.
      return Self.isOne(error, of: ["DBus.Error.UnknownObject", "login1.NoSuchSession"]) ? false : nil
    }
    guard locked != 0 else { return false }
    // After a log-out logind keeps the session, and its LockedHint, until its last process ends.
    guard sd_bus_get_property_string(bus, LoginSignals.name, session, Self.session, "State", nil, &state) >= 0,
      let state
    else { return true }
    return strcmp(state, "closing") != 0
  }

  private static func isOne(_ error: sd_bus_error, of names: [String]) -> Bool {
    guard let name = error.name.map({ String(cString: $0) }) else { return false }
    return names.contains { name == "org.freedesktop." + $0 }
  }

  private static func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }
}

private func receiveChange(
  _ message: OpaquePointer?, _ lock: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
  if let lock { Unmanaged<ScreenLock>.fromOpaque(lock).takeUnretainedValue().changeReceived(message) }
  return 0
}
