import CTAPHID
import CUHID
import Glibc
import Synchronization

/// One device made through an open `/dev/uhid`.
///
/// The kernel's ring holds 31 events and drops further ones, so the loop must not block for long. A write to uhid does
/// not block.
final class UHIDDevice: DeviceLink, Polled {
  private struct Outgoing {
    var descriptor: Int32
    var pacer = ReportPacer()
    var hasEnded = false
  }

  let events = DeviceEvents()

  private let descriptor: Int32
  private let outgoing: Mutex<Outgoing>
  private let clock: any MonotonicClock
  private let serial: String
  private let watch: HIDRawWatch?
  private let service = Mutex<EventLoop.Watch?>(nil)

  /// Creates the device; the descriptor is closed with it.
  ///
  /// - Parameter watch: already listens to udev.
  init(
    descriptor: Int32, watch: HIDRawWatch?, clock: any MonotonicClock, on loop: EventLoop
  ) throws(TransportError) {
    // HID_UNIQ, which identifies this device in udev's events.
    serial = String(UInt64.random(in: 0 ... .max), radix: 16)
    self.watch = watch
    self.descriptor = descriptor
    self.clock = clock
    outgoing = Mutex(Outgoing(descriptor: descriptor))
    let identity = UHIDIdentity.self
    var event = cuhid_create2(
      identity.name, identity.place, serial, identity.vendor, identity.product, identity.reportDescriptor,
      identity.reportDescriptor.count)
    guard Glibc.write(descriptor, &event, MemoryLayout<uhid_event>.size) == MemoryLayout<uhid_event>.size else {
      let number = errno
      Glibc.close(descriptor)
      throw TransportError("create the device through \(UHIDTransport.path)", errno: number)
    }
    service.withLock { $0 = loop.watch(self) }
  }

  func node() async -> DeviceNode? {
    await OwnThread.run { [watch, serial] in watch?.wait(serial: serial) }
  }

  func send(_ reports: [Report]) {
    let waits = outgoing.withLock { outgoing in
      Self.write(outgoing.pacer.admit(reports, at: clock.now), to: outgoing.descriptor)
      return outgoing.pacer.deadline != nil
    }
    if waits { service.withLock { $0?.wake() } }
  }

  func close() {
    guard let service = service.withLock({ $0.take() }) else { return }
    service.stop()
    outgoing.withLock { outgoing in
      var event = uhid_event()
      event.type = UHID_DESTROY.rawValue
      _ = Glibc.write(outgoing.descriptor, &event, MemoryLayout<UInt32>.size)
      Glibc.close(outgoing.descriptor)
      outgoing.descriptor = -1
    }
    events.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (deadline, hasEnded) = outgoing.withLock { ($0.pacer.deadline, $0.hasEnded) }
    if !hasEnded { descriptors.append(.readable(descriptor)) }
    return deadline.map { $0.pollTimeout(from: clock.now) } ?? -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    // As many as the kernel's ring holds; further events are read after the other descriptors had their turn.
    if descriptors.contains(where: \.isReadable) { for _ in 0..<32 { guard readEvent() else { break } } }
    outgoing.withLock { outgoing in
      Self.write(outgoing.pacer.due(at: clock.now), to: outgoing.descriptor)
    }
  }

  /// One read is one event; a shorter buffer would lose the rest of it.
  ///
  /// - Returns: whether an event was read.
  private func readEvent() -> Bool {
    var event = uhid_event()
    let count = read(descriptor, &event, MemoryLayout<uhid_event>.size)
    guard count > 0 else {
      if count == 0 || (errno != EAGAIN && errno != EINTR) {
        outgoing.withLock { $0.hasEnded = true }
        events.finish()
      }
      return false
    }
    switch uhid_event_type(event.type) {
    case UHID_OUTPUT:
      if let report = Self.report(of: event) { events.send(.report(report)) }
    case UHID_GET_REPORT, UHID_SET_REPORT:
      // Without an immediate refusal, the kernel's caller waits for up to 5 s.
      var length = 0
      var refusal = cuhid_refusal(&event, &length)
      _ = Glibc.write(descriptor, &refusal, length)
    case UHID_CLOSE:
      // The last client has closed the node and waits for no answer.
      events.send(.left(nil))
    default:
      // START, STOP and OPEN: clients are recognised by their reports.
      break
    }
    return true
  }

  /// A report that the host wrote, without the report number that hidraw puts before it.
  private static func report(of event: uhid_event) -> Report? {
    withUnsafePointer(to: event) { event in
      var count = 0
      let bytes = UnsafeBufferPointer(start: cuhid_output(event, &count), count: count)
      return Report(hostBytes: bytes)
    }
  }

  private static func write(_ reports: [Report], to descriptor: Int32) {
    guard descriptor >= 0, !reports.isEmpty else { return }
    cuhid_write_reports(descriptor, reports.flatMap(\.bytes), reports.count)
  }
}

extension Report {
  /// What a host wrote: 64 bytes, or 65 of which the first is the number 0 of a report that has none.
  init?(hostBytes bytes: some Collection<UInt8>) {
    if bytes.count == Report.size + 1, bytes.first == 0 {
      self.init(bytes.dropFirst())
    } else {
      self.init(bytes)
    }
  }
}

extension Instant {
  /// The timeout for poll(2) to wake at this instant, not before.
  func pollTimeout(from now: Instant) -> Int32 {
    let nanoseconds = max(0, nanoseconds - now.nanoseconds)
    return Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
  }
}
