import CSystemd
import Glibc

/// The sessions of logind: sd-login(3).
enum LoginSession {
  /// Whether a user has a session at this machine, not over the network.
  ///
  /// - Parameter isActive: only a session in the foreground of its seat counts.
  static func isAtSeat(_ user: uid_t, isActive: Bool) -> Bool {
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
    var seat: UnsafeMutablePointer<CChar>?
    defer { free(seat) }
    return sd_session_is_remote(session) == 0 && sd_session_get_seat(session, &seat) >= 0
  }
}
