import CTAPHID
import Glibc
import Synchronization

@testable import liquid_authenticator

/// A transport without a kernel, whose host is the test.
final class MemoryTransport: ReportTransport {
  let name = "memory"
  private let links = Mutex<[MemoryLink]>([])
  /// Whether devices wait while they are closed.
  let keepsDevices = Atomic(false)
  /// A new device waits here.
  let gate = Gate()

  func attach() async throws(TransportError) -> any DeviceLink {
    _ = await gate.wait()
    let link = MemoryLink { self.keepsDevices.load(ordering: .relaxed) }
    links.withLock { $0.append(link) }
    return link
  }

  /// The last device created.
  var link: MemoryLink? { links.withLock(\.last) }
  var attachments: Int { links.withLock(\.count) }
}

/// One attachment.
final class MemoryLink: DeviceLink {
  let events = DeviceEvents()
  let sent: AsyncStream<Report>
  private let device: AsyncStream<Report>.Continuation
  private let closed = Mutex(false)

  private let isKept: @Sendable () -> Bool

  /// - Parameter isKept: whether ``close()`` waits.
  init(isKept: @escaping @Sendable () -> Bool = { false }) {
    self.isKept = isKept
    (sent, device) = AsyncStream.makeStream(of: Report.self)
  }

  var isClosed: Bool { closed.withLock { $0 } }

  func node() async -> DeviceNode? { DeviceNode("/dev/null") }

  func send(_ reports: [Report]) { reports.forEach { device.yield($0) } }

  func close() {
    while isKept() { usleep(1000) }
    closed.withLock { $0 = true }
    events.finish()
    device.finish()
  }
}

/// A host at the other end of a link.
struct Host {
  let link: MemoryLink
  var client = ClientMachine()
  private var iterator: AsyncStream<Report>.Iterator

  init(_ link: MemoryLink) {
    self.link = link
    iterator = link.sent.makeAsyncIterator()
  }

  mutating func open() async -> ClientMachine.Event? {
    link.events.send(.report(client.open(nonce: [1, 2, 3, 4, 5, 6, 7, 8])))
    return await event()
  }

  func ask(_ command: CTAPHIDCommand, _ payload: [UInt8]) throws {
    for report in try client.request(command, payload) { link.events.send(.report(report)) }
  }

  func cancel() { link.events.send(.report(client.cancellation)) }

  /// The next event from the device; `nil` once it is gone.
  mutating func event() async -> ClientMachine.Event? {
    while let report = await iterator.next(isolation: #isolation) {
      if let event = client.receive(report) { return event }
    }
    return nil
  }
}

extension DeviceLink {
  /// The events as a stream, the same for every caller.
  var stream: AsyncStream<DeviceEvent> {
    streams.withLock { streams in
      if let known = streams[ObjectIdentifier(events)] { return known.stream }
      let (stream, continuation) = AsyncStream.makeStream(of: DeviceEvent.self)
      events.receive { events in
        for event in events { if let event { continuation.yield(event) } else { continuation.finish() } }
      }
      streams[ObjectIdentifier(events)] = (events, stream)
      return stream
    }
  }

  /// The reports that the host writes; other events are skipped.
  var reports: AsyncCompactMapSequence<AsyncStream<DeviceEvent>, Report> {
    stream.compactMap { event in
      if case .report(let report) = event { report } else { nil }
    }
  }
}

/// By identifier of `events`; the entry keeps `events` alive, so that no other object gets its address.
private let streams = Mutex<[ObjectIdentifier: (events: DeviceEvents, stream: AsyncStream<DeviceEvent>)]>([:])
