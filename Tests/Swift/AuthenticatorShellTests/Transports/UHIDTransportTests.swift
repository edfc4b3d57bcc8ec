import CTAPHID
import CUHID
import EventLoop
import EventLoopTests
import Glibc
import TestSupport
import Testing

@testable import liquid_authenticator

/// The uhid transport with the test as the kernel: each packet on the socket pair is one event.
struct UHIDTransportTests {
  struct Kernel {
    let end: Descriptor
    let link: any DeviceLink
    let created: [UInt8]

    init(clock: (any MonotonicClock)? = nil) throws {
      let (ours, theirs) = try Descriptor.pair()
      end = ours
      // As `UHIDTransport` opens the real device.
      try #require(fcntl(theirs, F_SETFL, O_NONBLOCK) == 0)
      let loop = try EventLoop()
      let transport = UHIDTransport(
        clock: clock ?? loop, loop: loop, open: { () throws(TransportError) in theirs }, findNode: { _, _ in nil })
      link = try transport.attach()
      created = try ours.read()
    }

    /// UHID_OUTPUT: data at 4, size at 4100, type at 4102.
    func output(_ bytes: [UInt8]) throws {
      var event = [UInt8](repeating: 0, count: 4380)
      event[0] = 6
      event.replaceSubrange(4..<4 + bytes.count, with: bytes)
      event[4100] = UInt8(bytes.count & 0xFF)
      event[4101] = UInt8(bytes.count >> 8)
      event[4102] = 1
      try end.write(event)
    }

    func firstReport() async -> Report? {
      var reports = link.reports.makeAsyncIterator()
      return await reports.next()
    }
  }

  static let payload = (0..<64).map { UInt8($0) }

  @Test func `the device is created as a USB device with a FIDO report descriptor`() throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    let event = kernel.created
    #expect(event.count == 4380)
    #expect(Array(event[0..<4]) == [11, 0, 0, 0], "UHID_CREATE2")
    #expect(Array(event[4..<17]) == Array("Liquid Auth".utf8) + [0, 0])
    #expect(event[196] != 0, "Google's tool wants a serial")
    #expect(Array(event[260..<264]) == [34, 0, 3, 0], "34 bytes of descriptor, BUS_USB")
    #expect(Array(event[264..<272]) == [0x09, 0x12, 0, 0, 0x01, 0, 0, 0])
    let descriptor: [UInt8] = [
      0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95,
      0x40, 0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
    ]
    #expect(Array(event[280..<314]) == descriptor)
    #expect(event[314...].allSatisfy { $0 == 0 })
  }

  @Test func `the leading report number of OUTPUT is dropped`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    try kernel.output([0] + Self.payload)
    #expect(await kernel.firstReport()?.bytes == Self.payload)
  }

  @Test func `OUTPUT of 64 bytes is taken unchanged`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    try kernel.output(Self.payload)
    #expect(await kernel.firstReport()?.bytes == Self.payload)
  }

  // Holds: REPORT-1
  @Test(arguments: [0, 1, 63, 66, 4096])
  func `OUTPUT of another size is skipped, and the next is read`(size: Int) async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    try kernel.output([UInt8](repeating: 0, count: size))
    try kernel.output([0] + Self.payload)
    #expect(await kernel.firstReport()?.bytes == Self.payload)
  }

  @Test func `OUTPUT with a size above its buffer is skipped`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    var event = [UInt8](repeating: 0, count: 4380)
    event[0] = 6
    event[4100] = 0xFF
    event[4101] = 0xFF
    try kernel.end.write(event)
    try kernel.output([0] + Self.payload)
    #expect(await kernel.firstReport()?.bytes == Self.payload)
  }

  @Test func `the host's reports keep their order`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    for number in 0..<40 { try kernel.output([0] + [UInt8](repeating: UInt8(number), count: 64)) }
    var reports = kernel.link.reports.makeAsyncIterator()
    for number in 0..<40 { #expect(await reports.next()?.bytes.first == UInt8(number)) }
  }

  // Holds: HID-29
  @Test func `an answer is INPUT2 of 64 bytes`() throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    kernel.link.send([try #require(Report(Self.payload))])
    #expect(try kernel.end.read() == [12, 0, 0, 0, 64, 0] + Self.payload)
  }

  /// A socket makes one packet of events that the kernel would take one by one.
  @Test func `the reports of an answer are written in one system call, one event each`() throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    let reports = try (1...3).map { try #require(Report([UInt8](repeating: $0, count: 64))) }
    kernel.link.send(reports)
    #expect(try kernel.end.read() == reports.flatMap { [12, 0, 0, 0, 64, 0] + $0.bytes })
  }

  @Test(arguments: [(UInt8(9), UInt8(10)), (13, 14)])
  func `GET_REPORT and SET_REPORT are refused at once`(request: UInt8, reply: UInt8) throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    try kernel.end.write([request, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0, 0] + [UInt8](repeating: 0, count: 4370))
    let answer = try kernel.end.read()
    #expect(Array(answer.prefix(10)) == [reply, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, UInt8(EIO), 0])
  }

  @Test func `CLOSE, sent when the last client closes the node, is reported after earlier reports`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    try kernel.output([0] + Self.payload)
    try kernel.end.write([5] + [UInt8](repeating: 0, count: 4379))
    var events = kernel.link.stream.makeAsyncIterator()
    #expect(await events.next() == .report(try #require(Report(Self.payload))))
    #expect(await events.next() == .left(nil))
  }

  @Test func `START, OPEN, CLOSE, STOP and unknown events get no answer`() async throws {
    let kernel = try Kernel()
    defer { kernel.link.close() }
    for type: UInt8 in [2, 4, 5, 3, 99] { try kernel.end.write([type] + [UInt8](repeating: 0, count: 4379)) }
    try kernel.output([0] + Self.payload)
    #expect(await kernel.firstReport()?.bytes == Self.payload)
    #expect(!kernel.end.isReadable(within: 0))
  }

  @Test func `an answer of 32 reports is sent at once, a longer one in bursts`() async throws {
    let clock = ManualClock()
    let kernel = try Kernel(clock: clock)
    defer { kernel.link.close() }
    let reports = try CTAPHIDMessage(
      channel: .broadcast, command: .ping, payload: [UInt8](repeating: 1, count: 57 + 59 * 49)
    ).reports()
    kernel.link.send(reports)
    #expect(try kernel.end.read().count == 32 * 70, "one system call, of as many events")
    #expect(!kernel.end.isReadable(within: 1000), "the clock stands still")
    clock.advance(by: .milliseconds(20))
    // The thread sleeps on the system's clock, and sees the end of the pause when that has run.
    #expect(try kernel.end.read().count == 18 * 70)
  }

  @Test func `close destroys the device, ends the stream, and a second close does nothing`() async throws {
    let kernel = try Kernel()
    kernel.link.close()
    kernel.link.close()
    #expect(try kernel.end.read() == [1, 0, 0, 0], "UHID_DESTROY")
    #expect(try kernel.end.read() == [], "and the descriptor is closed")
    #expect(await kernel.firstReport() == nil)
    kernel.link.send([try #require(Report(Self.payload))])
  }

  @Test func `a kernel that closes the connection ends the stream`() async throws {
    let (ours, theirs) = try Descriptor.pair()
    let loop = try EventLoop()
    let transport = UHIDTransport(
      clock: loop, loop: loop, open: { () throws(TransportError) in theirs }, findNode: { _, _ in nil })
    let link = try transport.attach()
    shutdown(ours.number, Int32(SHUT_RDWR))
    var reports = link.reports.makeAsyncIterator()
    #expect(await reports.next() == nil)
    link.close()
  }
}

struct ReportPacerTests {
  func reports(_ count: Int) -> [Report] {
    (0..<count).map { Report(channel: .broadcast, packet: .continuation(sequence: UInt8($0 % 128), payload: [])) }
  }

  @Test func `up to 32 reports are sent at once`() {
    var pacer = ReportPacer()
    #expect(pacer.admit(reports(32), at: Instant(nanoseconds: 0)).count == 32)
    #expect(pacer.admit(reports(32), at: Instant(nanoseconds: 0)).count == 32)
    #expect(pacer.deadline == nil)
  }

  @Test func `129 reports go in five bursts, 20 ms apart, in order`() throws {
    var pacer = ReportPacer()
    var now = Instant(nanoseconds: 0)
    let all = reports(129)
    var written = pacer.admit(all, at: now)
    var bursts = [written.count]
    while let deadline = pacer.deadline {
      #expect(pacer.due(at: deadline.advanced(by: .nanoseconds(-1))) == [])
      #expect(now.duration(to: deadline) == .milliseconds(20))
      now = deadline
      let burst = pacer.due(at: now)
      bursts.append(burst.count)
      written += burst
    }
    #expect(bursts == [32, 32, 32, 32, 1])
    #expect(written == all)
  }

  @Test func `reports sent during the pause wait behind the others`() {
    var pacer = ReportPacer()
    _ = pacer.admit(reports(40), at: Instant(nanoseconds: 0))
    #expect(pacer.admit(reports(1), at: Instant(nanoseconds: 0)) == [])
    #expect(pacer.due(at: Instant(nanoseconds: 20_000_000)).count == 9)
  }

  // Holds: REPORT-13
  @Test func `reports that are not read do not pile up`() {
    var pacer = ReportPacer()
    for _ in 0..<100 { _ = pacer.admit(reports(129), at: Instant(nanoseconds: 0)) }
    var count = 0
    while let deadline = pacer.deadline { count += pacer.due(at: deadline).count }
    #expect(count == ReportPacer.capacity)
  }
}
