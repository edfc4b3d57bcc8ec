import Glibc
import UHID

/// Waits until udev has handled a new hidraw node; must begin before the device is made.
final class HIDRawWatch: Sendable {
  /// How long udev may take.
  static let limit = Duration.seconds(5)

  private let monitor: HIDRawMonitor

  /// Starts listening to udev; `nil` without udev.
  init?() {
    guard let monitor = HIDRawMonitor() else { return nil }
    self.monitor = monitor
  }

  /// Blocks until the node of the device with this maker and serial is ready; `nil` after `limit`.
  func wait(for maker: UHIDIdentity.Maker, serial: String, within limit: Duration = HIDRawWatch.limit) -> DeviceNode? {
    let deadline = ContinuousClock.now + limit
    while true {
      let rest = deadline - .now
      guard rest > .zero else { return nil }
      var descriptor = pollfd.readable(monitor.descriptor)
      let milliseconds = Int32(rest / .milliseconds(1)) + 1
      guard poll(&descriptor, 1, milliseconds) > 0 || errno == EINTR else { continue }
      if let event = monitor.next(), event.action == "add", let node = event.node, node.place == maker.rawValue,
        node.serial == serial
      {
        return DeviceNode(node.path)
      }
    }
  }
}
