import CTAPHID
import ControlProtocol
import EventLoop
import EventLoopTests
import Glibc
import HelperProcess
import StateDirectory
import TestSupport
import TestVectors
import Testing
import UHID

@testable import liquid_authenticator

/// The broker's client with the test as the broker.
struct BrokerTransportTests {
  private let directory: TemporaryDirectory
  private let listener: Descriptor
  private let loop: EventLoop
  private let helper: HelperProcess
  private let clock = ManualClock()
  private var path: String { directory.path + "/broker" }

  init() throws {
    directory = try TemporaryDirectory()
    loop = try EventLoop()
    helper = try HelperProcess(program: "", broker: directory.path + "/broker")
    listener = Descriptor(socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0))
    try #require(try #require(SocketAddress(directory.path + "/broker")).bind(listener.number))
    try #require(listen(listener.number, 4) == 0)
  }

  private func transport(trusted: [uid_t] = [getuid()]) -> BrokerTransport {
    BrokerTransport(
      connect: helper.connectToBroker, trusted: trusted, clock: clock, loop: loop, findNode: { _, _ in nil })
  }

  /// Attaches while the broker sends its first packet; returns the broker's end too.
  private func attach(answering first: [UInt8]?) async throws -> (link: any DeviceLink, broker: Descriptor) {
    let listener = listener.number
    let broker = BlockingWork {
      let connection = Descriptor(accept(listener, nil, nil))
      if let first { try connection.write(first) } else { shutdown(connection.number, Int32(SHUT_RDWR)) }
      return connection
    }
    let link = try await transport().attach()
    return (link, try await broker.value)
  }

  private static let payload = (0..<64).map { UInt8($0) }

  @Test func `reports go both ways after the broker is ready`() async throws {
    let (link, broker) = try await attach(answering: BrokerMessage.ready.bytes)
    defer {
      shutdown(broker.number, Int32(SHUT_RDWR))
      link.close()
    }
    try broker.write(Self.payload)
    try broker.write([9, 9])
    try broker.write(Self.payload.reversed())
    var reports = link.reports.makeAsyncIterator()
    #expect(await reports.next()?.bytes == Self.payload)
    #expect(await reports.next()?.bytes == Self.payload.reversed(), "an unknown packet is skipped")
    link.send([try #require(Report(Self.payload))])
    #expect(try broker.read() == Self.payload)
  }

  @Test func `the end of the last client withdraws every request`() async throws {
    let (link, broker) = try await attach(answering: BrokerMessage.ready.bytes)
    defer {
      shutdown(broker.number, Int32(SHUT_RDWR))
      link.close()
    }
    try broker.write(BrokerMessage.closed.bytes)
    let (events, continuation) = AsyncStream.makeStream(of: DeviceEvent?.self)
    link.events.receive { $0.forEach { continuation.yield($0) } }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .left(nil))
  }

  @Test func `the broker's end of the connection is the end of the device`() async throws {
    let (link, broker) = try await attach(answering: BrokerMessage.ready.bytes)
    defer { link.close() }
    shutdown(broker.number, Int32(SHUT_RDWR))
    var reports = link.reports.makeAsyncIterator()
    #expect(await reports.next() == nil)
  }

  @Test func `a device is closed when the broker has removed it`() async throws {
    let (link, broker) = try await attach(answering: BrokerMessage.ready.bytes)
    let removed = BlockingWork {
      let end = try broker.read()
      try broker.write(BrokerMessage.closed.bytes)
      shutdown(broker.number, Int32(SHUT_RDWR))
      return end
    }
    link.close()
    #expect(try await removed.value.isEmpty)
  }

  // Holds: BROKER-8
  @Test(arguments: [
    (BrokerMessage.refused("no session").bytes, "the broker made no device: no session"),
    (BrokerMessage.closed.bytes, "the broker ended; see: journalctl -u liquid-auth-broker"),
    ([7] + payload, "the broker ended; see: journalctl -u liquid-auth-broker"),
    (nil, "the broker ended; see: journalctl -u liquid-auth-broker"),
  ])
  func `any first packet but ready is the reason that there is no device`(first: [UInt8]?, text: String) async throws {
    do {
      _ = try await attach(answering: first)
      Issue.record("there is a device")
    } catch let error as TransportError {
      #expect(error.description == text)
    }
  }

  // Holds: BROKER-8
  @Test func `a listener of another user is not the broker`() async throws {
    let error = await #expect(throws: TransportError.self) { try await transport(trusted: [getuid() + 1]).attach() }
    #expect(
      error?.description
        == "the broker at \(BrokerMessage.path) does not belong to root: another program listens there")
  }

  // Holds: BROKER-8
  @Test(.limited)
  func `systemd has 30 seconds to start the broker, and then it is reported with what to do`() async throws {
    let transport = transport()
    let attaching = Task(executorPreference: loop) { try await transport.attach() }
    await clock.sleepers(1)
    clock.advance(by: .milliseconds(29_999))
    #expect(clock.sleeperCount == 1, "it still waits")
    clock.advance(by: .milliseconds(1))
    let error = await #expect(throws: TransportError.self) { try await attaching.value }
    #expect(error?.description == "the broker does not answer; see: systemctl status liquid-auth-broker.socket")
  }

  // Holds: BROKER-8
  @Test func `a broker that is not there is reported with what to do`() async throws {
    unlink(path)
    let error = await #expect(throws: TransportError.self) { try await transport().attach() }
    #expect(
      error?.description
        == "cannot reach the broker at \(BrokerMessage.path): No such file or directory; "
        + BrokerTransport.hint(ENOENT))
    #expect(error?.problem.remedy == BrokerTransport.remedy(ENOENT))
    for number in [ENOENT, ECONNREFUSED] {
      #expect(
        BrokerTransport.remedy(number, hasSystemd: true)
          == Remedy(["sudo", "systemctl", "enable", "--now", "liquid-auth-broker.socket"]))
      #expect(BrokerTransport.remedy(number, hasSystemd: false) == nil)
      #expect(
        BrokerTransport.hint(number, hasSystemd: true)
          == "start it with: sudo systemctl enable --now liquid-auth-broker.socket")
      #expect(
        BrokerTransport.hint(number, hasSystemd: false)
          == "it needs systemd, which this machine does not run; use --transport uhid")
    }
  }

  // Holds: BROKER-8
  @Test(.limited)
  func `a broker whose queue of connections is full is reported at once`() async throws {
    var waiting: [Descriptor] = []
    while let connection = try? helper.connectToBroker() { waiting.append(Descriptor(connection)) }
    let error = await #expect(throws: TransportError.self) { try await transport().attach() }
    #expect(
      error?.description
        == "cannot reach the broker at \(BrokerMessage.path): Resource temporarily unavailable; "
        + "the broker is busy; try again later")
  }

  // Holds: BROKER-8
  @Test(.limited)
  func `the loop serves others while the broker does not answer`() async throws {
    let transport = transport()
    let attaching = Task(executorPreference: loop) { try await transport.attach() }
    let broker = Descriptor(accept(listener.number, nil, nil))
    await Task(executorPreference: loop) {}.value
    try broker.write(BrokerMessage.ready.bytes)
    let link = try await attaching.value
    shutdown(broker.number, Int32(SHUT_RDWR))
    link.close()
  }

  // Holds: BROKER-8
  @Test(.limited)
  func `an attachment that is cancelled does not wait for the broker`() async throws {
    let transport = transport()
    let attaching = Task(executorPreference: loop) { try await transport.attach() }
    let broker = Descriptor(accept(listener.number, nil, nil))
    attaching.cancel()
    let error = await #expect(throws: TransportError.self) { try await attaching.value }
    #expect(error?.description == "the device was detached while the broker started")
    #expect(try broker.read().isEmpty, "the connection is closed")
  }
}
