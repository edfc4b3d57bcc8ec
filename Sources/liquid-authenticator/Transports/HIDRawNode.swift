import CUdev

/// A hidraw node, as udev knows it.
struct HIDRawNode: Equatable, Sendable {
  /// `/dev/hidrawN`.
  let path: String
  /// HID_NAME: the name that the device reports.
  let name: String
  /// HID_PHYS: where it is plugged in.
  ///
  /// The device cannot choose it: it comes from the kernel, or from the program that made the device through uhid.
  let place: String
  /// HID_UNIQ: the serial that the device reports.
  let serial: String
  /// Whether its report descriptor is that of a FIDO key, according to systemd's 60-fido-id.rules.
  let isSecurityKey: Bool
}

extension HIDRawNode {
  /// Reads a device of libudev; `nil` for one without a node or a HID device behind it, as when it is being removed.
  init?(_ device: OpaquePointer) {
    guard let node = udev_device_get_devnode(device),
      let parent = udev_device_get_parent_with_subsystem_devtype(device, "hid", nil)
    else { return nil }
    let property = { (device: OpaquePointer, name: String) in
      udev_device_get_property_value(device, name).map { String(cString: $0) }
    }
    path = String(cString: node)
    name = property(parent, "HID_NAME") ?? ""
    place = property(parent, "HID_PHYS") ?? ""
    serial = property(parent, "HID_UNIQ") ?? ""
    // systemd before version 244 sets only the second.
    isSecurityKey = ["ID_FIDO_TOKEN", "ID_SECURITY_TOKEN"].contains { property(device, $0) == "1" }
  }

  /// All hidraw nodes; none without udev.
  static func all() -> [HIDRawNode] {
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
        HIDRawNode(device).map { nodes.append($0) }
        udev_device_unref(device)
      }
      entry = udev_list_entry_get_next(found)
    }
    return nodes
  }
}
