import CTAPHID
import EventLoop
import Glibc
import UHID

/// The device of the kernel: `/dev/uhid` makes a hidraw node that every browser knows how to open.
struct UHIDTransport: ReportTransport {
  let name = "uhid"
  private let clock: any MonotonicClock
  private let loop: EventLoop
  private let open: @Sendable () throws(TransportError) -> Int32
  private let findNode: HIDRawNode.Search

  /// Uses the kernel's `/dev/uhid`.
  init(loop: EventLoop) {
    self.init(clock: loop, loop: loop, open: Self.openDevice, findNode: HIDRawNode.wait)
  }

  /// - Parameters:
  ///   - open: opens the descriptor; tests give one end of a socket pair.
  ///   - findNode: finds the node of the device.
  init(
    clock: any MonotonicClock, loop: EventLoop, open: @escaping @Sendable () throws(TransportError) -> Int32,
    findNode: @escaping HIDRawNode.Search
  ) {
    self.clock = clock
    self.loop = loop
    self.open = open
    self.findNode = findNode
  }

  func attach() throws(TransportError) -> any DeviceLink {
    let descriptor = try open()
    // HID_UNIQ, which identifies this device among those of other daemons.
    let serial = String(UInt64.random(in: 0 ... .max), radix: 16)
    guard let connection = UHIDConnection(creating: .authenticator, serial: serial, on: descriptor) else {
      let number = errno
      close(descriptor)
      throw TransportError("create the device through \(UHIDConnection.path)", errno: number)
    }
    return HIDDevice(connection, clock: clock, on: loop) { [findNode] in findNode(.authenticator, serial) }
  }

  private static func openDevice() throws(TransportError) -> Int32 {
    let descriptor = UHIDConnection.open()
    guard descriptor >= 0 else { throw TransportError("open \(UHIDConnection.path)", errno: errno, hint: hint(errno)) }
    return descriptor
  }

  private static func hint(_ number: Int32) -> String {
    switch number {
    case EACCES, EPERM: "run scripts/run, which installs the rule for your group, and log in again"
    case ENOENT, ENODEV, ENXIO: "load the module with: sudo modprobe uhid, or use --transport unix:PATH or pty"
    default: "use --transport unix:PATH or pty"
    }
  }
}

/// The kernel's ring holds 31 events and drops further ones, so the loop must not block for long.
extension UHIDConnection: HIDConnection {
  func read(_ take: (DeviceEvent) -> Void) -> Bool {
    for _ in 0..<Self.ringCapacity {
      switch next() {
      case .report(let report): take(.report(report))
      // The last client waits for no answer.
      case .closed: take(.left(nil))
      case .other: break
      case .none: return true
      case .ended: return false
      }
    }
    return true
  }

  func write(_ reports: [Report]) { write(reports.flatMap(\.bytes), count: reports.count) }

  func close() { destroy() }
}
