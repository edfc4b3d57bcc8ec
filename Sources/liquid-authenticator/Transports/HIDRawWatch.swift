import CUdev
import Glibc

/// Waits for udev to be done with a new hidraw node; must begin before the device is made.
///
/// Made by one thread and then used by one other, never by two at a time.
final class HIDRawWatch: @unchecked Sendable {
  /// How long udev may take.
  static let limit = Duration.seconds(5)

  private let udev: OpaquePointer
  private let monitor: OpaquePointer

  /// Listens to udev; `nil` where there is no udev to listen to.
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

  /// Blocks until the node of the device with this serial (HID_UNIQ) is ready; `nil` when it is not in time.
  func wait(serial: String, within limit: Duration = HIDRawWatch.limit) -> DeviceNode? {
    let deadline = ContinuousClock.now + limit
    while true {
      let rest = deadline - .now
      guard rest > .zero else { return nil }
      var descriptor = pollfd.readable(udev_monitor_get_fd(monitor))
      let milliseconds = Int32(rest / .milliseconds(1)) + 1
      guard poll(&descriptor, 1, milliseconds) > 0 || errno == EINTR else { continue }
      guard let device = udev_monitor_receive_device(monitor) else { continue }
      defer { udev_device_unref(device) }
      if let node = Self.node(of: device, serial: serial) { return node }
    }
  }

  private static func node(of device: OpaquePointer, serial: String) -> DeviceNode? {
    guard udev_device_get_action(device).map({ String(cString: $0) }) == "add",
      let parent = udev_device_get_parent_with_subsystem_devtype(device, "hid", nil),
      udev_device_get_property_value(parent, "HID_UNIQ").map({ String(cString: $0) }) == serial,
      let node = udev_device_get_devnode(device)
    else { return nil }
    return DeviceNode(String(cString: node))
  }
}
