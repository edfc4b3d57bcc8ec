import Glibc

/// Whether this user can have a device of the kernel.
package enum UHIDAccess: Equatable, Sendable {
  /// `/dev/uhid` can be opened, by this user or by the broker.
  case usable
  /// It does not exist.
  case absent
  /// It exists, but this user cannot open it.
  case forbidden

  /// Examines this system; opens nothing.
  package static var current: UHIDAccess {
    if access(UHIDConnection.path, R_OK | W_OK) == 0 { return .usable }
    guard errno == EACCES else { return .absent }
    return BrokerMessage.isInstalled ? .usable : .forbidden
  }
}
