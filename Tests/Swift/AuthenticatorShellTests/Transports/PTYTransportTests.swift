import CTAPHID
import EventLoop
import Glibc
import TestSupport
import TestVectors
import Testing

@testable import liquid_authenticator

struct PTYTransportTests {
  static let payload = (0..<64).map { UInt8(255 - $0) }

  struct Terminal {
    let link: any DeviceLink
    let client: Descriptor

    init() async throws {
      link = try PTYTransport(loop: EventLoop()).attach()
      client = Descriptor(open(try #require(await link.node()).path, O_RDWR | O_NOCTTY))
      try #require(client.number >= 0)
    }
  }

  @Test func `65 bytes of the host are a report, and every byte value passes unchanged`() async throws {
    let terminal = try await Terminal()
    defer { terminal.link.close() }
    var reports = terminal.link.reports.makeAsyncIterator()
    for start in stride(from: 0, to: 256, by: 64) {
      let payload = (start..<start + 64).map { UInt8($0) }
      try terminal.client.write([0] + payload)
      #expect(await reports.next()?.bytes == payload)
    }
  }

  @Test func `an answer is 64 bytes, and every byte value passes unchanged`() async throws {
    let terminal = try await Terminal()
    defer { terminal.link.close() }
    for start in stride(from: 0, to: 256, by: 64) {
      let payload = (start..<start + 64).map { UInt8($0) }
      terminal.link.send([try #require(Report(payload))])
      #expect(try terminal.client.read(exactly: 64) == payload)
    }
  }

  @Test func `a report in pieces is assembled`() async throws {
    let terminal = try await Terminal()
    defer { terminal.link.close() }
    let frame = [0] + Self.payload
    try terminal.client.write(Array(frame.prefix(20)))
    try terminal.client.write(Array(frame.dropFirst(20)))
    var reports = terminal.link.reports.makeAsyncIterator()
    #expect(await reports.next()?.bytes == Self.payload)
  }

  @Test func `the longest message passes in both directions`() async throws {
    let terminal = try await Terminal()
    defer { terminal.link.close() }
    let message = CTAPHIDMessage(
      channel: .broadcast, command: .ping, payload: (0..<7609).map { UInt8(truncatingIfNeeded: $0) })
    let all = try message.reports()
    var reports = terminal.link.reports.makeAsyncIterator()
    for report in all {
      try terminal.client.write([0] + report.bytes)
      #expect(await reports.next() == report)
    }
    terminal.link.send(all)
    #expect(try terminal.client.read(exactly: 64 * all.count) == all.flatMap(\.bytes))
  }

  @Test func `a client that does not read does not block the device`() async throws {
    let terminal = try await Terminal()
    defer { terminal.link.close() }
    let report = try #require(Report(Self.payload))
    for _ in 0..<10_000 { terminal.link.send([report]) }
    // Only whole reports came through.
    #expect(try terminal.client.read(exactly: 64 * 32) == (0..<32).flatMap { _ in Self.payload })
  }

  @Test func `clients connect and disconnect in turn`() async throws {
    let link = try PTYTransport(loop: EventLoop()).attach()
    defer { link.close() }
    var reports = link.reports.makeAsyncIterator()
    for _ in 0..<3 {
      let client = Descriptor(open(try #require(await link.node()).path, O_RDWR | O_NOCTTY))
      try client.write([0] + Self.payload)
      #expect(await reports.next()?.bytes == Self.payload)
    }
  }

  @Test func `reports that a client did not read do not reach the next one`() async throws {
    let link = try PTYTransport(loop: EventLoop()).attach()
    defer { link.close() }
    var reports = link.reports.makeAsyncIterator()
    let path = try #require(await link.node()).path
    let (stale, fresh) = (try #require(Report(Self.payload)), try #require(Report([UInt8](repeating: 7, count: 64))))
    let client = Descriptor(open(path, O_RDWR | O_NOCTTY))
    // More than the terminal's buffer holds; the last report is cut.
    for _ in 0..<200 { link.send([stale]) }
    #expect(try client.read(exactly: 10) == Array(Self.payload.prefix(10)))
    let begin = try CTAPHIDMessage(
      channel: .broadcast, command: .initialize, payload: [UInt8](repeating: 1, count: 8)
    ).reports()[0]
    try client.write([0] + begin.bytes)
    #expect(await reports.next() == begin)
    link.send([fresh])
    #expect(try client.read(exactly: 64) == fresh.bytes)
  }

  @Test func `the terminal is accessible to its owner only, and gone after close`() async throws {
    let link = try PTYTransport(loop: EventLoop()).attach()
    let node = try #require(await link.node()).path
    var status = stat()
    #expect(stat(node, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    link.close()
    // A poll(2) on the loop's thread keeps the terminal until it returns.
    await eventually { access(node, F_OK) != 0 }
  }
}

struct PTYInputTests {
  static let frame = [0] + (0..<64).map { UInt8($0) }

  @Test func `several reports in one read are all returned`() {
    var input = PTYInput()
    #expect(input.append(Self.frame + Self.frame, at: Instant(nanoseconds: 0)).count == 2)
  }

  @Test func `a report byte by byte is the same report`() {
    var input = PTYInput()
    for byte in Self.frame.dropLast() { #expect(input.append([byte], at: Instant(nanoseconds: 0)) == []) }
    #expect(input.append([63], at: Instant(nanoseconds: 0)).map(\.bytes) == [Array(Self.frame.dropFirst())])
  }

  @Test func `a report that a client left half written does not shift the next one`() {
    var input = PTYInput()
    #expect(input.append(Self.frame.prefix(30), at: Instant(nanoseconds: 0)) == [])
    let later = Instant(nanoseconds: 500_000_000)
    #expect(input.append(Self.frame, at: later).map(\.bytes) == [Array(Self.frame.dropFirst())])
  }

  @Test func `a report with a number other than 0 is skipped`() {
    var input = PTYInput()
    #expect(input.append([1] + Self.frame.dropFirst() + Self.frame, at: Instant(nanoseconds: 0)).count == 1)
  }
}
