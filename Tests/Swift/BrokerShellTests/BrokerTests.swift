import CLinux
import Glibc
import Synchronization
import TestSupport
import Testing
import UHID

@testable import liquid_auth_broker

/// A broker whose kernel, sessions and clients are the test.
@Suite(.serialized) struct BrokerTests {
  /// The kernel's ends of the devices, and the answers of logind.
  private final class Machine: Sendable {
    private struct State {
      var kernels: [Descriptor] = []
      var isPresent = true
      var isActive = true
      var hasUHID = true
      var lines: [String] = []
    }
    private let state = Mutex(State())

    var kernels: [Descriptor] { state.withLock { $0.kernels } }
    var lines: [String] { state.withLock { $0.lines } }
    func setSession(isPresent: Bool = true, isActive: Bool) {
      state.withLock { ($0.isPresent, $0.isActive) = (isPresent, isActive) }
    }
    func removeUHID() { state.withLock { $0.hasUHID = false } }
    func log(_ line: String) { state.withLock { $0.lines.append(line) } }

    func open() -> Int32 {
      guard state.withLock({ $0.hasUHID }), let (ours, theirs) = try? Descriptor.pair() else {
        errno = EACCES
        return -1
      }
      _ = fcntl(theirs, F_SETFL, O_NONBLOCK)
      state.withLock { $0.kernels.append(ours) }
      return theirs
    }

    func isAtSeat(_ user: uid_t, isActive: Bool) -> Bool {
      user == getuid() && state.withLock { $0.isPresent && (!isActive || $0.isActive) }
    }
  }

  private let machine = Machine()
  private let directory: TemporaryDirectory
  private let address: sockaddr_un
  private var broker: Broker

  init() throws {
    directory = try TemporaryDirectory()
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = directory.path + "/broker"
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    self.address = address
    let listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue), 0)
    let isBound = withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isBound && listen(listener, 16) == 0)
    broker = Broker(listener: listener, open: machine.open, isAtSeat: machine.isAtSeat, log: machine.log)
  }

  private func connect() throws -> Descriptor { try Self.connect(to: address) }

  private static func connect(to address: sockaddr_un) throws -> Descriptor {
    let client = Descriptor(socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0))
    let isConnected = withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(client.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isConnected)
    return client
  }

  /// Handles all events that wait.
  private mutating func serve(sessions: Int32 = -1) { while broker.serve(sessions: sessions, timeout: 0) {} }

  /// Connects a client that gets a device; returns it and the kernel's end.
  private mutating func device() throws -> (client: Descriptor, kernel: Descriptor) {
    let client = try connect()
    serve()
    try #require(try client.read() == [1])
    let kernel = try #require(machine.kernels.last)
    try #require(try kernel.read().count == 4380)
    return (client, kernel)
  }

  private static let report = (0..<64).map { UInt8($0) }

  /// UHID_OUTPUT: data at 4, size at 4100, type at 4102.
  private static func output(_ bytes: [UInt8]) -> [UInt8] {
    var event = [UInt8](repeating: 0, count: 4380)
    (event[0], event[4100], event[4102]) = (6, UInt8(bytes.count), 1)
    event.replaceSubrange(4..<4 + bytes.count, with: bytes)
    return event
  }

  @Test mutating func `a user at the machine gets a device, and reports go both ways`() throws {
    let (client, kernel) = try device()
    try client.write(Self.report)
    serve()
    #expect(try kernel.read() == [12, 0, 0, 0, 64, 0] + Self.report, "UHID_INPUT2")
    try kernel.write(Self.output([0] + Self.report))
    serve()
    #expect(try client.read() == Self.report)
    #expect(machine.lines == ["user \(getuid()): the device was made"])
  }

  @Test mutating func `reports and the end of the last client keep their order`() throws {
    let (client, kernel) = try device()
    try kernel.write(Self.output(Self.report))
    try kernel.write([5, 0, 0, 0])
    try kernel.write(Self.output(Self.report))
    serve()
    #expect(try client.read() == Self.report)
    #expect(try client.read() == [2])
    #expect(try client.read() == Self.report)
  }

  // Holds: BROKER-1, BROKER-2
  @Test(arguments: [1, 63, 65, 4380, 60_000]) mutating func `any packet but a report removes the device`(size: Int)
    throws
  {
    let (client, kernel) = try device()
    try client.write(Self.report)
    // The bytes of a UHID_CREATE2 event.
    try client.write([11] + [UInt8](repeating: 0, count: size - 1))
    try client.write(Self.report)
    serve()
    #expect(try kernel.read() == [12, 0, 0, 0, 64, 0] + Self.report)
    #expect(try kernel.read() == [1, 0, 0, 0], "UHID_DESTROY, and nothing of the packet")
    #expect(try kernel.read().isEmpty)
    #expect(machine.lines.last?.hasSuffix("its client sent a packet that is not a report") == true)
    #expect(broker.relays.isEmpty)
  }

  @Test mutating func `an empty packet, which is the end of a connection, removes the device`() throws {
    let (client, kernel) = try device()
    try client.write([])
    serve()
    #expect(try kernel.read() == [1, 0, 0, 0])
    #expect(broker.relays.isEmpty)
  }

  // Holds: BROKER-7
  @Test mutating func `the device goes with its client`() throws {
    var (client, kernel): (Descriptor?, Descriptor) = try device()
    #expect(client != nil)
    client = nil
    serve()
    #expect(try kernel.read() == [1, 0, 0, 0])
    #expect(machine.lines.last?.hasSuffix("its client has left") == true)
  }

  // Holds: BROKER-3
  @Test mutating func `a second device of the same user is refused, and the first one stays`() throws {
    let (first, kernel) = try device()
    let second = try connect()
    serve()
    #expect(
      BrokerMessage(try second.read())
        == .refused("another program of yours has a device; stop the other liquid-authenticator"))
    #expect(try second.read().isEmpty)
    try first.write(Self.report)
    serve()
    #expect(try kernel.read().count == 70)
    #expect(machine.kernels.count == 1, "/dev/uhid was not opened again")
  }

  // Holds: BROKER-4
  @Test mutating func `a user without an active session is refused, and /dev/uhid is not opened`() throws {
    machine.setSession(isActive: false)
    let client = try connect()
    serve()
    guard case .refused(let reason) = BrokerMessage(try client.read()) else { throw Descriptor.Failure(EPROTO) }
    #expect(reason == "you have no active session at this machine; log in at its screen, not over the network")
    #expect(machine.kernels.isEmpty)
  }

  // Holds: BROKER-10
  @Test mutating func `without /dev/uhid the reason is the system's`() throws {
    machine.removeUHID()
    let client = try connect()
    serve()
    #expect(
      BrokerMessage(try client.read()) == .refused("the broker cannot open /dev/uhid: Permission denied"))
  }

  // Holds: BROKER-7
  @Test mutating func `a device stays through a user switch, and goes with the last session`() throws {
    let (sessions, events) = try Descriptor.pair()
    defer { close(events) }
    try #require(fcntl(events, F_SETFL, O_NONBLOCK) == 0)
    let (client, kernel) = try device()
    defer { _ = client }
    machine.setSession(isActive: false)
    try sessions.write([0])
    serve(sessions: events)
    #expect(broker.relays.count == 1)
    machine.setSession(isPresent: false, isActive: false)
    try sessions.write([0])
    serve(sessions: events)
    #expect(try kernel.read() == [1, 0, 0, 0])
    #expect(machine.lines.last?.hasSuffix("its user has logged out") == true)
  }

  @Test mutating func `the kernel's end of a device ends the connection`() throws {
    let (client, kernel) = try device()
    shutdown(kernel.number, Int32(SHUT_RDWR))
    serve()
    #expect(try client.read().isEmpty)
    #expect(broker.relays.isEmpty)
  }

  // Holds: BROKER-5
  @Test mutating func `a flood in both directions is passed on in turns, and a full socket loses reports`() throws {
    let (client, kernel) = try device()
    try #require(fcntl(client.number, F_SETFL, O_NONBLOCK) == 0)
    for _ in 0..<100 { try client.write(Self.report) }
    serve()
    // A socket joins the events of one writev(2), which uhid takes one by one.
    var size = 0
    while size < 100 * 70 { size += try kernel.read().count }
    #expect(size == 100 * 70)
    for _ in 0..<60 {
      for _ in 0..<10 { try kernel.write(Self.output(Self.report)) }
      serve()
    }
    #expect(broker.relays.count == 1)
    #expect(try client.read() == Self.report)
  }

  // Holds: BROKER-5
  @Test mutating func `a device that the kernel cannot remove yet delays no other client`() throws {
    var (client, kernel): (Descriptor?, Descriptor) = try device()
    #expect(client != nil)
    // UHID_DESTROY waits until the test reads.
    let descriptor = broker.relays[0].device.descriptor
    while send(descriptor, Self.report, Self.report.count, Int32(MSG_DONTWAIT)) > 0 {}
    try #require(fcntl(descriptor, F_SETFL, 0) == 0)
    client = nil
    serve()
    let (next, nextKernel) = try device()
    try next.write(Self.report)
    serve()
    #expect(try nextKernel.read() == [12, 0, 0, 0, 64, 0] + Self.report)
    var last: [UInt8] = []
    repeat { last = try kernel.read() } while last == Self.report
    #expect(last == [1, 0, 0, 0])
    #expect(try kernel.read().isEmpty)
  }

  @Test mutating func `a broker whose program was replaced ends with its last client, and others wait for the new one`()
    throws
  {
    var client: Descriptor? = try device().client
    client = nil
    // A broker that waited for another client would refuse this one at once.
    machine.setSession(isActive: false)
    var next: Descriptor?
    let address = self.address
    broker.run(sessions: -1) {
      next = next ?? (try? Self.connect(to: address))
      return true
    }
    #expect(client == nil && broker.relays.isEmpty)
    let waiting = try #require(next)
    #expect(!waiting.isReadable(within: 0))
  }

  // Holds: BROKER-10
  @Test mutating func `a broker that could not open uhid ends, and others wait for the next one`() throws {
    machine.removeUHID()
    #expect(broker.rest == Broker.lingering)
    let client = try connect()
    serve()
    #expect(
      BrokerMessage(try client.read()) == .refused("the broker cannot open /dev/uhid: Permission denied"))
    #expect(broker.rest == 0)
    broker.run(sessions: -1) { false }
    let next = try connect()
    #expect(!next.isReadable(within: 0))
  }

  // MARK: Passed descriptors

  @Test mutating func `a client that passes a descriptor gets an error, where the kernel can refuse it`() throws {
    let client = try connect()
    var isAllowed: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(client.number, SOL_SOCKET, Self.passRights, &isAllowed, &size) == 0 else { return }
    #expect(pass(client.number, over: client) == EPERM, "before the broker accepts the connection")
    serve()
    try #require(try client.read() == [1])
    #expect(pass(client.number, over: client) == EPERM)
    try client.write(Self.report)
  }

  // Holds: BROKER-5
  @Test(arguments: [true, false])
  mutating func `a passed socket that waits when it is closed delays no other client`(isReceived: Bool) throws {
    let (client, kernel) = try device()
    // As before Linux 6.16.
    var isAllowed: Int32 = 1
    setsockopt(broker.relays[0].client, SOL_SOCKET, Self.passRights, &isAllowed, 4)
    var reader: Descriptor? = try passLingeringSocket(over: client)
    // The end of the device comes first: the packet is still in the queue when the connection is closed.
    if !isReceived { shutdown(kernel.number, Int32(SHUT_RDWR)) }
    serve()
    #expect(broker.relays.isEmpty)
    if isReceived { #expect(try kernel.read() == [1, 0, 0, 0], "the report that came with it is not relayed") }
    // The thread that closes it still waits: `serve` did not. The broker must not end before the thread.
    #expect(reader != nil && clinux_running_threads() > 0)
    let next = try device()
    try next.client.write(Self.report)
    serve()
    #expect(try next.kernel.read() == [12, 0, 0, 0, 64, 0] + Self.report)
    reader = nil
    while clinux_running_threads() > 0 { usleep(1000) }
  }

  /// SO_PASSRIGHTS.
  private static let passRights: Int32 = 83

  /// Sends a report and a descriptor with it; returns 0 or errno.
  private func pass(_ descriptor: Int32, over client: Descriptor) -> Int32 {
    var report = Self.report
    // struct cmsghdr, the descriptor, and its padding.
    var control: [UInt64] = [20, UInt64(SOL_SOCKET) | UInt64(SCM_RIGHTS) << 32, UInt64(descriptor)]
    return report.withUnsafeMutableBytes { report in
      control.withUnsafeMutableBytes { control in
        var part = iovec(iov_base: report.baseAddress, iov_len: report.count)
        return withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          (message.msg_iov, message.msg_iovlen) = (part, 1)
          (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
          return sendmsg(client.number, &message, 0) < 0 ? errno : 0
        }
      }
    }
  }

  /// Passes the only descriptor of a full TCP connection that waits for a minute when it is closed (SO_LINGER); returns
  /// the other end, which does not read.
  private func passLingeringSocket(over client: Descriptor) throws -> Descriptor {
    let (listener, writer) = (Descriptor(tcp()), Descriptor(tcp()))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener.number, $0, size) == 0 && listen(listener.number, 1) == 0
          && getsockname(listener.number, $0, &size) == 0 && Glibc.connect(writer.number, $0, size) == 0
      }
    }
    try #require(isConnected)
    let reader = Descriptor(accept(listener.number, nil, nil))
    while send(writer.number, Self.report, Self.report.count, Int32(MSG_DONTWAIT)) > 0 {}
    var time = linger(l_onoff: 1, l_linger: 60)
    try #require(
      setsockopt(writer.number, SOL_SOCKET, SO_LINGER, &time, socklen_t(MemoryLayout<linger>.size)) == 0)
    try #require(withExtendedLifetime(writer) { pass(writer.number, over: client) } == 0)
    return reader
  }

  private func tcp() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
}
