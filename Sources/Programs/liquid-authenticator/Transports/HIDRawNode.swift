import CUdev
import EventLoop
import Glibc
import ProcessIO
import UHID

/// A hidraw node.
///
/// Nothing here needs the messages of udev's daemon: libudev drops them in a user namespace, where their sender, root,
/// has another id, and the units of the user's service manager run in one.
struct HIDRawNode: Equatable, Sendable {
  /// `/dev/hidrawN`.
  let path: String
  /// The name of its HID device in `/sys`, such as `0003:1209:0001.0007`: the kernel counts the devices, so a key that is
  /// plugged in again is another device.
  let device: String
  /// HID_NAME: the name that the device reports.
  let name: String
  /// HID_PHYS of a device that a program made through uhid; empty for a device that is plugged in.
  let place: String
  /// HID_UNIQ: the serial that the device reports.
  let serial: String
  /// Whether its report descriptor is that of a FIDO key.
  let isSecurityKey: Bool
}

extension HIDRawNode {
  /// HID_PHYS of a device that was made through uhid, otherwise an empty text.
  ///
  /// HID_PHYS alone does not show that: the kernel writes each property on a line, and the serial of a device that is
  /// plugged in can contain lines with other properties. But no device can choose its directory in `/sys`.
  static func place(physical: String, directory: String) -> String {
    directory.hasPrefix("/sys/devices/virtual/misc/uhid/") ? physical : ""
  }

  /// Finds the node of the device with this maker and serial.
  typealias Search = @Sendable (_ maker: UHIDIdentity.Maker, _ serial: String) -> DeviceNode?

  /// Reads a device of libudev; `nil` for one without a node or a HID device behind it, as when it is being removed.
  private init?(_ device: OpaquePointer) {
    guard let node = udev_device_get_devnode(device), access(node, F_OK) == 0,
      let parent = udev_device_get_parent_with_subsystem_devtype(device, "hid", nil),
      let directory = udev_device_get_syspath(parent).map({ String(cString: $0) })
    else { return nil }
    let property = { (name: String) in
      udev_device_get_property_value(parent, name).map { String(cString: $0) } ?? ""
    }
    path = String(cString: node)
    self.device = String(cString: udev_device_get_sysname(parent))
    name = property("HID_NAME")
    place = Self.place(physical: property("HID_PHYS"), directory: directory)
    serial = property("HID_UNIQ")
    isSecurityKey = UHIDIdentity.isSecurityKey(Descriptor.contents(of: directory + "/report_descriptor") ?? [])
  }

  /// All hidraw nodes; none without udev.
  static func all() -> [HIDRawNode] { search { _, node in node } }

  /// Blocks until udev has handled the node of the device with this maker and serial.
  ///
  /// - Returns: the node; `nil` if there is none within `limit`.
  @Sendable static func wait(for maker: UHIDIdentity.Maker, serial: String) -> DeviceNode? {
    wait(for: maker, serial: serial, within: .seconds(5))
  }

  static func wait(for maker: UHIDIdentity.Maker, serial: String, within limit: Duration) -> DeviceNode? {
    guard let udev = udev_new() else { return nil }
    defer { udev_unref(udev) }
    guard let queue = udev_queue_new(udev) else { return nil }
    defer { udev_queue_unref(queue) }
    // Readable each time udev has handled all events.
    var idle = pollfd.readable(udev_queue_get_fd(queue))
    let deadline = ContinuousClock.now + limit
    while true {
      let known = search { device, node in
        node.place == maker.rawValue && node.serial == serial && udev_device_get_is_initialized(device) > 0 ? node : nil
      }
      let rest = deadline - .now
      if let node = known.first, rest <= .zero || udev_queue_get_queue_is_empty(queue) > 0 {
        return DeviceNode(node.path)
      }
      guard rest > .zero else { return nil }
      if poll(&idle, 1, Int32(rest / .milliseconds(1)) + 1) > 0 { udev_queue_flush(queue) }
    }
  }

  /// Returns what `pick` makes of each hidraw node and its device of libudev.
  private static func search(_ pick: (OpaquePointer, HIDRawNode) -> HIDRawNode?) -> [HIDRawNode] {
    guard let udev = udev_new() else { return [] }
    defer { udev_unref(udev) }
    guard let enumeration = udev_enumerate_new(udev) else { return [] }
    defer { udev_enumerate_unref(enumeration) }
    udev_enumerate_add_match_subsystem(enumeration, "hidraw")
    udev_enumerate_scan_devices(enumeration)
    var nodes: [HIDRawNode] = []
    var entry = udev_enumerate_get_list_entry(enumeration)
    while let found = entry {
      if let device = udev_device_new_from_syspath(udev, udev_list_entry_get_name(found)) {
        if let node = HIDRawNode(device).flatMap({ pick(device, $0) }) { nodes.append(node) }
        udev_device_unref(device)
      }
      entry = udev_list_entry_get_next(found)
    }
    return nodes
  }
}
