import CLinux
import CTAPHID
import Glibc
import ProcessIO
import StateDirectory
import Synchronization
import UHID

/// The device of `liquid-auth-broker`, which opens `/dev/uhid` for us: `BrokerMessage`.
struct BrokerTransport: ReportTransport {
  let name = "broker"
  private let path: String
  private let trusted: [uid_t]
  private let limit: Duration
  private let clock: any MonotonicClock
  private let loop: EventLoop
  private let watch: @Sendable () -> HIDRawWatch?

  /// Uses the socket of the system, at which root listens.
  init(loop: EventLoop) {
    self.init(
      path: BrokerMessage.path, trusted: [0], limit: .seconds(5), clock: loop, loop: loop, watch: HIDRawWatch.init)
  }

  /// - Parameters:
  ///   - trusted: the users who may listen at the path: systemd listens for the broker.
  ///   - limit: how long systemd may take to start the broker.
  ///   - watch: starts listening to udev.
  init(
    path: String, trusted: [uid_t], limit: Duration, clock: any MonotonicClock, loop: EventLoop,
    watch: @escaping @Sendable () -> HIDRawWatch?
  ) {
    (self.path, self.trusted, self.limit) = (path, trusted, limit)
    (self.clock, self.loop, self.watch) = (clock, loop, watch)
  }

  /// Waits for a limited time until the broker has made the device, or has refused to.
  func attach() throws(TransportError) -> any DeviceLink {
    let watch = watch()
    let connection = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard connection >= 0 else { throw TransportError("make a socket", errno: errno) }
    do throws(TransportError) {
      try begin(connection)
    } catch {
      close(connection)
      throw error
    }
    return BrokerDevice(connection, watch: watch, clock: clock, on: loop)
  }

  private func begin(_ connection: Int32) throws(TransportError) {
    guard let address = SocketAddress(path), address.connect(connection) else {
      throw TransportError("reach the broker at \(path)", errno: errno, hint: Self.hint(errno))
    }
    var listener: uid_t = 0
    guard clinux_peer_user(connection, &listener) == 0, trusted.contains(listener) else {
      throw TransportError("the broker at \(path) does not belong to root: another program listens there")
    }
    var descriptor = pollfd.readable(connection)
    guard poll(&descriptor, 1, Int32(limit / .milliseconds(1))) > 0 else {
      throw TransportError("the broker does not answer; see: systemctl status liquid-auth-broker.socket")
    }
    var packet = [UInt8](repeating: 0, count: BrokerMessage.maximumSize)
    let count = recv(connection, &packet, packet.count, Int32(MSG_DONTWAIT))
    switch BrokerMessage(packet.prefix(max(0, count))) {
    case .ready: return
    case .refused(let reason): throw TransportError("the broker made no device: \(reason)")
    case .closed, nil:
      throw TransportError("the broker ended; see: journalctl -u liquid-auth-broker")
    }
  }

  private static func hint(_ number: Int32) -> String {
    switch number {
    case ENOENT, ECONNREFUSED: "start it with: sudo systemctl enable --now liquid-auth-broker.socket"
    default: "see: systemctl status liquid-auth-broker.socket"
    }
  }
}

/// A device that the broker made for us.
final class BrokerDevice: DeviceLink, Polled {
  /// How many packets are read or written in one call.
  private static let packetsAtOnce = 32
  /// How long the broker may take to remove the device.
  private static let removal = Duration.seconds(1)

  private struct Outgoing {
    /// `nil` once the device is closed.
    var connection: Int32?
    var pacer = ReportPacer()
    var hasEnded = false
  }

  let events = DeviceEvents()

  private let connection: Int32
  private let outgoing: Mutex<Outgoing>
  private let watch: HIDRawWatch?
  private let clock: any MonotonicClock
  private let service = Mutex<EventLoop.Watch?>(nil)

  /// Serves a connection at which the broker is ready; it is closed with the device.
  ///
  /// - Parameter watch: listens to udev since before the device was made.
  init(_ connection: Int32, watch: HIDRawWatch?, clock: any MonotonicClock, on loop: EventLoop) {
    self.connection = connection
    self.watch = watch
    self.clock = clock
    outgoing = Mutex(Outgoing(connection: connection))
    service.withLock { $0 = loop.watch(self) }
  }

  func node() async -> DeviceNode? {
    await OwnThread.run { [watch] in watch?.wait(for: .broker, serial: String(geteuid())) }
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
      outgoing.connection = nil
      waitForRemoval()
      Glibc.close(connection)
    }
    events.finish()
  }

  /// Ends the connection, and waits until the broker has removed the device and closed its end.
  private func waitForRemoval() {
    guard shutdown(connection, Int32(SHUT_WR)) == 0 else { return }
    let deadline = ContinuousClock.now + Self.removal
    var descriptor = pollfd.readable(connection)
    while deadline > .now, poll(&descriptor, 1, Int32((deadline - .now) / .milliseconds(1)) + 1) > 0 {
      var packet = [UInt8](repeating: 0, count: Report.size)
      guard recv(connection, &packet, packet.count, Int32(MSG_DONTWAIT)) > 0 else { return }
    }
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (deadline, hasEnded) = outgoing.withLock { ($0.pacer.deadline, $0.hasEnded) }
    if !hasEnded { descriptors.append(.readable(connection)) }
    return deadline.map { $0.pollTimeout(from: clock.now) } ?? -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    if descriptors.contains(where: \.isReadable) { readPackets() }
    outgoing.withLock { outgoing in
      Self.write(outgoing.pacer.due(at: clock.now), to: outgoing.connection)
    }
  }

  private func readPackets() {
    let size = Report.size
    let hasEnded = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size * Self.packetsAtOnce) { packets in
      withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.packetsAtOnce) { lengths in
        let count = Int(
          clinux_receive_packets(connection, packets.baseAddress, size, Int32(Self.packetsAtOnce), lengths.baseAddress))
        guard count > 0 else { return count == 0 || errno != EAGAIN && errno != EINTR }
        for index in 0..<count {
          // An empty packet is the end of the connection.
          guard lengths[index] > 0 else { return true }
          let packet = UnsafeBufferPointer(rebasing: packets[index * size..<index * size + min(lengths[index], size)])
          if lengths[index] == size, let report = Report(packet) {
            events.send(.report(report))
          } else if BrokerMessage(packet) == .closed {
            // The last client waits for no answer.
            events.send(.left(nil))
          }
        }
        return false
      }
    }
    guard hasEnded else { return }
    outgoing.withLock { $0.hasEnded = true }
    events.finish()
  }

  private static func write(_ reports: [Report], to connection: Int32?) {
    guard let connection, !reports.isEmpty else { return }
    clinux_send_packets(connection, reports.flatMap(\.bytes), Report.size, Int32(reports.count))
  }
}
