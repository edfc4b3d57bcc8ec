import CLinux
import EventLoop
import Glibc

/// A pseudo terminal in place of the device: libfido2 takes its path where it expects a hidraw node.
///
/// Its own tools write 65 bytes for each report (the number 0, then 64) and read 64, as from hidraw.
struct PTYTransport: ReportTransport {
  let name = "pty"
  let loop: EventLoop

  func attach() throws(TransportError) -> any DeviceLink {
    var controller: Int32 = -1
    var terminal: Int32 = -1
    var name = [CChar](repeating: 0, count: 64)
    guard clinux_open_pty(&controller, &terminal, &name, name.count) == 0 else {
      throw TransportError("open a pseudo terminal", errno: errno)
    }
    let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return PTYDevice(controller: controller, terminal: terminal, path: path, on: loop)
  }
}
