package import ProcessIO

/// Why this machine cannot advertise by Bluetooth, or be connected to.
package enum BluetoothFailure: Error, Equatable, Sendable {
  /// There is no system bus.
  case noBus
  /// bluetoothd does not run, and the bus cannot start it.
  case noBluetoothd
  /// There is no adapter that can advertise.
  case noAdapter
  /// The adapter is off.
  case off
  /// A switch, or a program such as rfkill, blocks Bluetooth.
  case blocked
  /// Other programs advertise already, and the adapter has no room for more.
  case inUse
  /// bluetoothd ended the advert again and again.
  case withdrawn
  /// bluetoothd refused with this error of D-Bus, whose words are not passed on.
  case refused(name: String)
  /// bluetoothd did not answer in time.
  case silent
  /// bluetoothd sent something else than it should.
  case malformed
  /// The system bus has ended.
  case busEnded
  /// The kernel lets no program listen.
  case noConnections(SystemNumber)
}

extension BluetoothFailure: CustomStringConvertible {
  /// What happened, then what to do: lower case, no full stop.
  package var description: String {
    switch self {
    case .noBus: "there is no system bus, so Bluetooth cannot be used; start dbus"
    case .noBluetoothd: "bluetoothd does not run; install bluez, and start it: systemctl start bluetooth"
    case .noAdapter: "this machine has no Bluetooth adapter that can advertise; plug one in"
    case .off: "the Bluetooth adapter is off; turn it on: bluetoothctl power on"
    case .blocked: "Bluetooth is blocked; unblock it: rfkill unblock bluetooth"
    case .inUse: "other programs use all adverts of the Bluetooth adapter; close one of them, and try again"
    case .withdrawn: "bluetoothd ended the advert again and again; see its log"
    case .refused(let name): "bluetoothd refused the advert (\(Self.shown(name))); see its log"
    case .silent: "bluetoothd did not answer; restart it: systemctl restart bluetooth"
    case .malformed: "bluetoothd sent an invalid answer; update bluez"
    case .busEnded: "the system bus has ended; try again"
    case .noConnections(let number):
      "the kernel accepts no connections by Bluetooth (\(number)), as in a container; use a tunnel service"
    }
  }

  /// The name of an error of D-Bus, which has only such characters: D-Bus specification, "Names".
  private static func shown(_ name: String) -> String {
    let letters = name.utf8.prefix(80).filter { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"): true
      default: false
      }
    }
    return String(decoding: letters, as: UTF8.self)
  }
}
