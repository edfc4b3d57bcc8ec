import CTAPHID
import Glibc
import UHID

/// The device of the kernel: `/dev/uhid` makes a hidraw node that every browser knows how to open.
struct UHIDTransport: ReportTransport {
  let name = "uhid"
  private let clock: any MonotonicClock
  private let loop: EventLoop
  private let open: @Sendable () throws(TransportError) -> Int32
  private let watch: @Sendable () -> HIDRawWatch?

  /// Uses the kernel's `/dev/uhid`.
  init(loop: EventLoop) {
    self.init(clock: loop, loop: loop, open: Self.openDevice, watch: HIDRawWatch.init)
  }

  /// - Parameters:
  ///   - open: opens the descriptor; tests give one end of a socket pair.
  ///   - watch: starts listening to udev.
  init(
    clock: any MonotonicClock, loop: EventLoop, open: @escaping @Sendable () throws(TransportError) -> Int32,
    watch: @escaping @Sendable () -> HIDRawWatch?
  ) {
    self.clock = clock
    self.loop = loop
    self.open = open
    self.watch = watch
  }

  func attach() throws(TransportError) -> any DeviceLink {
    let watch = watch()
    return try UHIDDevice(descriptor: try open(), watch: watch, clock: clock, on: loop)
  }

  private static func openDevice() throws(TransportError) -> Int32 {
    let descriptor = UHIDConnection.open()
    guard descriptor >= 0 else { throw TransportError("open \(UHIDConnection.path)", errno: errno, hint: hint(errno)) }
    return descriptor
  }

  private static func hint(_ number: Int32) -> String {
    switch number {
    case EACCES, EPERM: "run scripts/run, which installs the rule for your group, and log in again"
    case ENOENT, ENODEV, ENXIO: "load the module with: modprobe uhid, or use --transport unix:PATH or pty"
    default: "use --transport unix:PATH or pty"
    }
  }
}
