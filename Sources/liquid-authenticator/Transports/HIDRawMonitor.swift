import CUdev

/// Receives udev's events for hidraw nodes.
///
/// The kernel filters out all other subsystems, so that they wake no thread. Made by one thread and then used by one
/// other, never by two at a time.
final class HIDRawMonitor: @unchecked Sendable {
  /// An event for a node, after udev has handled it.
  struct Event {
    /// `add`, `change`, `remove` and others.
    let action: String
    /// The node; `nil` when it is gone.
    let node: HIDRawNode?
  }

  private let udev: OpaquePointer
  private let monitor: OpaquePointer

  /// Starts listening; `nil` without udev.
  init?() {
    guard let udev = udev_new() else { return nil }
    guard let monitor = udev_monitor_new_from_netlink(udev, "udev") else {
      udev_unref(udev)
      return nil
    }
    self.udev = udev
    self.monitor = monitor
    udev_monitor_filter_add_match_subsystem_devtype(monitor, "hidraw", nil)
    guard udev_monitor_enable_receiving(monitor) >= 0 else { return nil }
  }

  deinit {
    udev_monitor_unref(monitor)
    udev_unref(udev)
  }

  /// Readable while an event waits.
  var descriptor: Int32 { udev_monitor_get_fd(monitor) }

  /// The next event that waits; `nil` when none does.
  func next() -> Event? {
    guard let device = udev_monitor_receive_device(monitor) else { return nil }
    defer { udev_device_unref(device) }
    return Event(
      action: udev_device_get_action(device).map { String(cString: $0) } ?? "", node: HIDRawNode(device))
  }
}
