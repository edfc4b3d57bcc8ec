package import CTAPHID
import CUHID
import Glibc

/// The kernel's side of one device that was made through `/dev/uhid`.
///
/// The descriptor is non-blocking. The kernel removes the device when it is closed.
package struct UHIDConnection: Sendable {
  /// The device file of the kernel.
  package static let path = "/dev/uhid"
  /// How many events the kernel's ring holds; it drops further ones.
  package static let ringCapacity = 32

  /// An event of the kernel.
  package enum Event: Sendable {
    /// A client wrote a report.
    case report(Report)
    /// The last client has closed the node.
    case closed
    /// An event that needs no action.
    case other
    /// No event waits.
    case none
    /// The kernel has ended the device.
    case ended
  }

  package let descriptor: Int32

  /// Opens `/dev/uhid`; -1 with errno if that fails.
  package static func open() -> Int32 { Glibc.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) }

  /// Creates the device; `nil` with errno if that fails, and the descriptor stays open.
  ///
  /// - Parameters:
  ///   - descriptor: of `/dev/uhid`, or in tests one end of a socket pair.
  ///   - serial: HID_UNIQ, at most 63 bytes.
  package init?(creating maker: UHIDIdentity.Maker, serial: String, on descriptor: Int32) {
    let identity = UHIDIdentity.self
    var event = cuhid_create2(
      identity.name, maker.rawValue, serial, identity.vendor, identity.product, identity.reportDescriptor,
      identity.reportDescriptor.count)
    let size = MemoryLayout<uhid_event>.size
    guard Glibc.write(descriptor, &event, size) == size else { return nil }
    self.descriptor = descriptor
  }

  /// Reads one event; refuses a GET_REPORT or SET_REPORT, whose caller would wait for up to 5 s.
  package func next() -> Event {
    // One read is one event; a shorter buffer would lose the rest of it.
    var event = uhid_event()
    let count = read(descriptor, &event, MemoryLayout<uhid_event>.size)
    guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) ? .none : .ended }
    switch uhid_event_type(event.type) {
    case UHID_OUTPUT: return Self.report(of: event).map(Event.report) ?? .other
    case UHID_GET_REPORT, UHID_SET_REPORT:
      var length = 0
      var refusal = cuhid_refusal(&event, &length)
      _ = Glibc.write(descriptor, &refusal, length)
      return .other
    case UHID_CLOSE: return .closed
    // START, STOP and OPEN: clients are recognised by their reports.
    default: return .other
    }
  }

  /// Writes reports of 64 bytes that are contiguous; a report that the kernel refuses is lost.
  package func write(_ reports: UnsafePointer<UInt8>, count: Int) {
    cuhid_write_reports(descriptor, reports, count)
  }

  /// Removes the device and closes the descriptor.
  package func destroy() {
    var event = uhid_event()
    event.type = UHID_DESTROY.rawValue
    _ = Glibc.write(descriptor, &event, MemoryLayout<UInt32>.size)
    Glibc.close(descriptor)
  }

  /// A report that a client wrote, without the report number that hidraw puts before it.
  private static func report(of event: uhid_event) -> Report? {
    withUnsafePointer(to: event) { event in
      var count = 0
      let bytes = UnsafeBufferPointer(start: cuhid_output(event, &count), count: count)
      return Report(hostBytes: bytes)
    }
  }
}
