import CSystemd
import Glibc

/// The sessions of logind: sd-login(3).
package enum LoginSession {
  /// Whether a user has a session at this machine, not over the network.
  ///
  /// - Parameter isActive: only a session in the foreground of its seat counts.
  package static func isAtSeat(_ user: UInt32, isActive: Bool) -> Bool {
    var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = sd_uid_get_sessions(user, isActive ? 1 : 0, &list)
    guard count > 0, let list else { return false }
    defer {
      for index in 0..<Int(count) { free(list[index]) }
      free(list)
    }
    return (0..<Int(count)).contains { list[$0].map(isAtSeat) ?? false }
  }

  private static func isAtSeat(_ session: UnsafeMutablePointer<CChar>) -> Bool {
    var (seat, state): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
    defer {
      free(seat)
      free(state)
    }
    // After a log-out logind keeps the session, and its seat, until its last process ends.
    guard sd_session_get_state(session, &state) >= 0, let state, strcmp(state, "closing") != 0 else { return false }
    return sd_session_is_remote(session) == 0 && sd_session_get_seat(session, &seat) >= 0
  }

  /// A descriptor that is readable after sessions begin, end or become active; -1 without logind.
  ///
  /// Read until it is empty after each event. It stays open until the process ends.
  package static func changes() -> Int32 {
    var monitor: OpaquePointer?
    // A user's file, which names the active sessions, is written after those of the sessions.
    guard sd_login_monitor_new("uid", &monitor) >= 0, let monitor else { return -1 }
    return sd_login_monitor_get_fd(monitor)
  }
}
