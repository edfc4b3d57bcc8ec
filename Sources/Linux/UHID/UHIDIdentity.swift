/// The identity of the device for the kernel, udev and clients.
package enum UHIDIdentity {
  /// The name that users see in a browser's list: with no USB parent, clients show HID_NAME.
  package static let name = "Liquid Auth"
  /// The vendor id of pid.codes, with its product id for tests; a release needs one that pid.codes assigns.
  package static let vendor: UInt32 = 0x1209
  /// See `vendor`.
  package static let product: UInt32 = 0x0001

  /// Usage page F1D0, usage 1; one input and one output report of 64 bytes without a number (CTAP §11.2.8.1).
  package static let reportDescriptor: [UInt8] = [
    0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01,
    0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x81, 0x02,
    0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02,
    0xC0,
  ]

  /// Whether a report descriptor has the usage of a FIDO key, F1D0 0001, as systemd's fido_id reads it (HID 1.11 §6.2.2).
  package static func isSecurityKey(_ descriptor: [UInt8]) -> Bool {
    var (rest, page) = (descriptor[...], UInt32(0))
    while let prefix = rest.popFirst() {
      // A long item, which is never a usage.
      if prefix == 0xFE {
        rest = rest.dropFirst(2 + Int(rest.first ?? 0))
        continue
      }
      let size = [0, 1, 2, 4][Int(prefix & 3)]
      guard rest.count >= size else { return false }
      let value = rest.prefix(size).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      rest = rest.dropFirst(size)
      switch prefix & 0xFC {
      case 0x04: page = value
      case 0x08 where (size == 4 ? value : page << 16 | value) == 0xF1D0_0001: return true
      default: break
      }
    }
    return false
  }

  /// HID_PHYS, which names the port of other devices: the program that made the device.
  ///
  /// It is reliable only for a device below `/sys/devices/virtual/misc/uhid`, which a program that can open `/dev/uhid`
  /// has made: the serial of a device that is plugged in can contain a line that sets HID_PHYS.
  package enum Maker: String, Sendable, CaseIterable {
    /// The user's own authenticator; HID_UNIQ is random.
    case authenticator = "liquid-authenticator"
    /// The broker; HID_UNIQ is the id of the user that the device is for, and udev gives that user the node.
    case broker = "liquid-auth-broker"
  }
}
