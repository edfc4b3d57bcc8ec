import CLinux
import CTAPHID
import Glibc
import Synchronization

/// The device behind a listening socket.
///
/// All clients get all answers, as with a hidraw node; the channel identifies the recipient.
final class UnixSocketDevice: DeviceLink, Polled {
  /// How many clients may be connected; a further one is turned away.
  static let clientLimit = 32
  /// How many packets of one client are read before the next client's, and how many are written in one call.
  private static let packetsAtOnce = 32

  let events = DeviceEvents()

  private let listener: ListeningSocket
  /// The clients, each with the channel that it wrote on last.
  private let clients = Mutex<[Int32: ChannelID?]>([:])
  private let arrivals = ArrivalPause()
  private let watch = Mutex<EventLoop.Watch?>(nil)
  /// The buffer that packets are read into, on the loop's thread only.
  private nonisolated(unsafe) let packets = UnsafeMutableBufferPointer<UInt8>.allocate(
    capacity: packetSize * packetsAtOnce)
  /// A report with its report number.
  private static let packetSize = Report.size + 1

  /// Serves the clients of the listener, which is closed with the device.
  init(_ listener: ListeningSocket, on loop: EventLoop) {
    self.listener = listener
    watch.withLock { $0 = loop.watch(self) }
  }

  deinit { packets.deallocate() }

  func node() async -> DeviceNode? { DeviceNode(listener.path) }

  func send(_ reports: [Report]) {
    var rest = reports[...]
    while !rest.isEmpty {
      let next = rest.prefix(Self.packetsAtOnce)
      rest = rest.dropFirst(next.count)
      var packets: [UInt8] = []
      packets.reserveCapacity(next.count * Report.size)
      for report in next { packets += report.bytes }
      clients.withLock { clients in
        for client in clients.keys { clinux_send_packets(client, packets, Report.size, Int32(next.count)) }
      }
    }
  }

  func close() {
    guard let watch = watch.withLock({ $0.take() }) else { return }
    listener.removeFile()
    watch.stop()
    Glibc.close(listener.descriptor)
    clients.withLock { clients in
      clients.keys.forEach { Glibc.close($0) }
      clients = [:]
    }
    events.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (arriving, timeout) = arrivals.interest(in: listener.descriptor)
    descriptors.append(arriving)
    descriptors += clients.withLock { $0.keys.map(pollfd.readable) }
    return timeout
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    for client in descriptors.dropFirst() where client.isReadable && !readAll(client.fd) { drop(client.fd) }
    arrivals.end()
    if descriptors.first?.isReadable == true { accept() }
  }

  /// Reads waiting packets, at most ``packetsAtOnce`` for the sake of other clients; returns `false` if the client has
  /// gone.
  private func readAll(_ client: Int32) -> Bool {
    let size = Self.packetSize
    let (reports, hasEnded) = withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.packetsAtOnce) { lengths in
      let count = Int(
        clinux_receive_packets(client, packets.baseAddress, size, Int32(Self.packetsAtOnce), lengths.baseAddress))
      guard count > 0 else { return ([Report](), count == 0 || errno != EAGAIN && errno != EINTR) }
      // An empty packet is the end of the connection; a packet of another size is not a report, and is ignored.
      let lengths = lengths[..<count].prefix { $0 > 0 }
      var reports: [Report] = []
      reports.reserveCapacity(lengths.count)
      for (index, length) in lengths.enumerated() where length <= size {
        let packet = UnsafeBufferPointer(rebasing: packets[index * size..<index * size + length])
        if let report = Report(hostBytes: packet) { reports.append(report) }
      }
      return (reports, lengths.count < count)
    }
    if let channel = reports.last?.channel { clients.withLock { $0[client] = channel } }
    events.send(reports)
    return !hasEnded
  }

  private func drop(_ client: Int32) {
    let channel = clients.withLock { clients in
      defer { Glibc.close(client) }
      return clients.removeValue(forKey: client) ?? nil
    }
    if let channel { events.send(.left(channel)) }
  }

  private func accept() {
    switch listener.accept() {
    case .none: return
    case .noRoom: arrivals.begin()
    case .connection(let client):
      let isTaken = clients.withLock { clients in
        guard clients.count < Self.clientLimit else { return false }
        clients[client] = .some(nil)
        return true
      }
      if !isTaken { Glibc.close(client) }
    }
  }
}
