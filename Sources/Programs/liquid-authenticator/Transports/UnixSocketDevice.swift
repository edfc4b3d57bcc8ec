import CLinux
import CTAPHID
import EventLoop
import Glibc
import Synchronization

/// The device behind a listening socket.
///
/// All clients get all answers, as with a hidraw node; the channel identifies the recipient.
///
/// The clients take turns: the loop passes on one message of one client, and runs the work that it starts before it
/// passes on the next message. A request that waits for nothing is answered by then, so the next one finds the device
/// free. If the loop passed on all that it can read, it would serve only the first request, and refuse all others with
/// CHANNEL_BUSY (CTAP §11.2.5.1).
///
/// If all places are taken, a new client replaces the oldest one that has not sent a report yet, or else the one whose
/// last report or answer is oldest. So clients that stall do not block others.
final class UnixSocketDevice: DeviceLink, Polled {
  /// How many clients may be connected.
  static let clientLimit = 32
  /// How many packets are read or written in one call.
  private static let packetsAtOnce = 32

  let events = DeviceEvents()

  private struct Client {
    /// The channel that it wrote on last.
    var channel: ChannelID?
    /// The number of the turn of its last report or of the last answer on its channel; of its connection, if there is none.
    var lastEvent: UInt64
    /// Whether it was seen with nothing to read.
    var hasBeenSilent = false
    /// The reports that were read, and are passed on in its next turns.
    var waiting: ArraySlice<Report> = []
  }

  private struct Clients {
    var connected: [Int32: Client] = [:]
    /// Numbers the connections, the turns in which reports came, and the answers.
    var lastEvent: UInt64 = 0

    mutating func add(_ client: Int32) {
      lastEvent += 1
      connected[client] = Client(lastEvent: lastEvent)
    }

    /// Notes a turn of a client: the channel of its last report, and the reports that wait.
    mutating func note(_ channel: ChannelID?, waiting: ArraySlice<Report>, of client: Int32) {
      connected[client]?.waiting = waiting
      guard let channel else { return }
      lastEvent += 1
      connected[client]?.channel = channel
      connected[client]?.lastEvent = lastEvent
    }

    /// Notes an answer, or a KEEPALIVE: a client whose request waits for a person is not silent.
    mutating func noteAnswer(on channel: ChannelID) {
      lastEvent += 1
      for (client, one) in connected where one.channel == channel { connected[client]?.lastEvent = lastEvent }
    }

    /// The client that a new one replaces.
    var longestSilent: Int32? {
      let silent = connected.filter { $1.channel == nil && $1.hasBeenSilent }
      return (silent.isEmpty ? connected : silent).min { $0.value.lastEvent < $1.value.lastEvent }?.key
    }
  }

  private let listener: ListeningSocket
  private let clients = Mutex(Clients())
  private let arrivals = ArrivalPause()
  private let watch = Mutex<EventLoop.Watch?>(nil)
  /// The client whose turn was the last, on the loop's thread only.
  private nonisolated(unsafe) var lastServed: Int32 = -1
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
        for client in clients.connected.keys { clinux_send_packets(client, packets, Report.size, Int32(next.count)) }
        if let channel = next.last?.channel { clients.noteAnswer(on: channel) }
      }
    }
  }

  func close() {
    guard let watch = watch.withLock({ $0.take() }) else { return }
    listener.removeFile()
    watch.stop()
    Glibc.close(listener.descriptor)
    clients.withLock { clients in
      clients.connected.keys.forEach { Glibc.close($0) }
      clients.connected = [:]
    }
    events.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (arriving, timeout) = arrivals.interest(in: listener.descriptor)
    descriptors.append(arriving)
    return clients.withLock { clients in
      descriptors += clients.connected.keys.map(pollfd.readable)
      // A key path of two members would be made at run time, in each turn of the loop.
      return clients.connected.values.allSatisfy { $0.waiting.isEmpty } ? timeout : 0
    }
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    if let client = next(of: descriptors.dropFirst()) {
      lastServed = client
      serve(client)
    }
    arrivals.end()
    if descriptors.first?.isReadable == true { accept() }
  }

  /// The client whose turn is next, in the order of their numbers.
  private func next(of polled: ArraySlice<pollfd>) -> Int32? {
    clients.withLock { clients in
      var (next, first): (Int32?, Int32?)
      for client in polled {
        guard client.isReadable || clients.connected[client.fd]?.waiting.isEmpty == false else {
          clients.connected[client.fd]?.hasBeenSilent = true
          continue
        }
        first = min(first ?? client.fd, client.fd)
        if client.fd > lastServed { next = min(next ?? client.fd, client.fd) }
      }
      return next ?? first
    }
  }

  /// Passes on the next message of a client, or what has arrived of it.
  private func serve(_ client: Int32) {
    var (reports, hasEnded) = (clients.withLock { $0.connected[client]?.waiting ?? [] }, false)
    if reports.isEmpty { (reports, hasEnded) = read(client) }
    // All that is left of a client that has gone is passed on at once.
    let end = hasEnded ? nil : reports.dropFirst().firstIndex(where: \.isInitialization)
    let message = reports[..<(end ?? reports.endIndex)]
    clients.withLock { $0.note(message.last?.channel, waiting: reports[message.endIndex...], of: client) }
    events.send(Array(message))
    if hasEnded { drop(client) }
  }

  /// Reads waiting packets, at most ``packetsAtOnce``; also returns whether the client has gone.
  private func read(_ client: Int32) -> (reports: ArraySlice<Report>, hasEnded: Bool) {
    let size = Self.packetSize
    return withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.packetsAtOnce) { lengths in
      let count = Int(
        clinux_receive_packets(client, packets.baseAddress, size, Int32(Self.packetsAtOnce), lengths.baseAddress))
      guard count > 0 else { return ([], count == 0 || errno != EAGAIN && errno != EINTR) }
      // An empty packet is the end of the connection; a packet of another size is not a report, and is ignored.
      let lengths = lengths[..<count].prefix { $0 > 0 }
      var reports: [Report] = []
      reports.reserveCapacity(lengths.count)
      for (index, length) in lengths.enumerated() where length <= size {
        let packet = UnsafeBufferPointer(rebasing: packets[index * size..<index * size + length])
        if let report = Report(hostBytes: packet) { reports.append(report) }
      }
      return (reports[...], lengths.count < count)
    }
  }

  private func drop(_ client: Int32) {
    let channel = clients.withLock { clients in
      defer { Glibc.close(client) }
      return clients.connected.removeValue(forKey: client)?.channel
    }
    if let channel { events.send(.left(channel)) }
  }

  private func accept() {
    switch listener.accept() {
    case .none: return
    case .noRoom: arrivals.begin()
    case .connection(let client):
      let replaced = clients.withLock { clients in
        let replaced = clients.connected.count < Self.clientLimit ? nil : clients.longestSilent
        clients.add(client)
        return replaced
      }
      if let replaced { drop(replaced) }
    }
  }
}
