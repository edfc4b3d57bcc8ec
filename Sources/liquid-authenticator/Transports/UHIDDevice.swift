import CTAPHID
import Glibc
import Synchronization
import UHID

/// One device made through an open `/dev/uhid`.
///
/// The kernel's ring holds 31 events and drops further ones, so the loop must not block for long. A write to uhid does
/// not block.
final class UHIDDevice: DeviceLink, Polled {
  private struct Outgoing {
    /// `nil` once the device is closed.
    var connection: UHIDConnection?
    var pacer = ReportPacer()
    var hasEnded = false
  }

  let events = DeviceEvents()

  private let connection: UHIDConnection
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
    self.clock = clock
    guard let connection = UHIDConnection(creating: .authenticator, serial: serial, on: descriptor) else {
      let number = errno
      Glibc.close(descriptor)
      throw TransportError("create the device through \(UHIDConnection.path)", errno: number)
    }
    self.connection = connection
    outgoing = Mutex(Outgoing(connection: connection))
    service.withLock { $0 = loop.watch(self) }
  }

  func node() async -> DeviceNode? {
    await OwnThread.run { [watch, serial] in watch?.wait(for: .authenticator, serial: serial) }
  }

  func send(_ reports: [Report]) {
    let waits = outgoing.withLock { outgoing in
      Self.write(outgoing.pacer.admit(reports, at: clock.now), to: outgoing.connection)
      return outgoing.pacer.deadline != nil
    }
    if waits { service.withLock { $0?.wake() } }
  }

  func close() {
    guard let service = service.withLock({ $0.take() }) else { return }
    service.stop()
    outgoing.withLock { outgoing in
      outgoing.connection?.destroy()
      outgoing.connection = nil
    }
    events.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (deadline, hasEnded) = outgoing.withLock { ($0.pacer.deadline, $0.hasEnded) }
    if !hasEnded { descriptors.append(.readable(connection.descriptor)) }
    return deadline.map { $0.pollTimeout(from: clock.now) } ?? -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    // Further events are read after the other descriptors had their turn.
    if descriptors.contains(where: \.isReadable) {
      for _ in 0..<UHIDConnection.ringCapacity { guard readEvent() else { break } }
    }
    outgoing.withLock { outgoing in
      Self.write(outgoing.pacer.due(at: clock.now), to: outgoing.connection)
    }
  }

  /// - Returns: whether an event was read.
  private func readEvent() -> Bool {
    switch connection.next() {
    case .report(let report): events.send(.report(report))
    // The last client waits for no answer.
    case .closed: events.send(.left(nil))
    case .other: break
    case .none: return false
    case .ended:
      outgoing.withLock { $0.hasEnded = true }
      events.finish()
      return false
    }
    return true
  }

  private static func write(_ reports: [Report], to connection: UHIDConnection?) {
    guard let connection, !reports.isEmpty else { return }
    connection.write(reports.flatMap(\.bytes), count: reports.count)
  }
}

extension Instant {
  /// The timeout for poll(2) to wake at this instant, not before.
  func pollTimeout(from now: Instant) -> Int32 {
    let nanoseconds = max(0, nanoseconds - now.nanoseconds)
    return Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
  }
}
