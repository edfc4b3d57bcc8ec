import CTAPHID
import Glibc
import StateDirectory
import TestSupport
import Testing

@testable import liquid_authenticator

struct UnixSocketTransportTests {
  let directory: TemporaryDirectory
  var path: String { directory.path + "/key.sock" }
  let transport: UnixSocketTransport

  init() throws {
    directory = try TemporaryDirectory()
    transport = UnixSocketTransport(path: directory.path + "/key.sock", loop: try EventLoop())
  }

  func connect() throws -> Descriptor {
    let client = Descriptor(socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0))
    guard try #require(SocketAddress(path)).connect(client.number) else { throw Descriptor.Failure(errno) }
    return client
  }

  func mode() -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  static let payload = (0..<64).map { UInt8($0) }

  @Test func `the socket exists while the device is attached, for its owner only`() async throws {
    let link = try transport.attach()
    #expect(await link.node()?.path == path)
    #expect(mode() == 0o600)
    link.close()
    #expect(access(path, F_OK) != 0)
  }

  @Test func `a packet of 64 bytes is a report, and one of 65 with a leading 0`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    let client = try connect()
    try client.write(Self.payload)
    try client.write([0] + Self.payload)
    var reports = link.reports.makeAsyncIterator()
    #expect(await reports.next()?.bytes == Self.payload)
    #expect(await reports.next()?.bytes == Self.payload)
  }

  // Holds: REPORT-1
  @Test func `packets of other sizes are skipped`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    let client = try connect()
    for size in [1, 63, 66, 1000] { try client.write([UInt8](repeating: 1, count: size)) }
    try client.write([1] + Self.payload)
    try client.write(Self.payload)
    var reports = link.reports.makeAsyncIterator()
    #expect(await reports.next()?.bytes == Self.payload)
  }

  @Test func `all clients get all answers, as on hidraw`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    let clients = [try connect(), try connect(), try connect()]
    // A report from each client shows that it was accepted.
    var reports = link.reports.makeAsyncIterator()
    for client in clients {
      try client.write(Self.payload)
      _ = await reports.next()
    }
    link.send([try #require(Report(Self.payload))])
    for client in clients { #expect(try client.read() == Self.payload) }
  }

  // Holds: REPORT-13
  @Test func `a client that does not read delays no other client`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    let slow = try connect()
    let quick = try connect()
    var reports = link.reports.makeAsyncIterator()
    for client in [slow, quick] {
      try client.write(Self.payload)
      _ = await reports.next()
    }
    let report = try #require(Report(Self.payload))
    for _ in 0..<5000 {
      link.send([report])
      #expect(try quick.read() == Self.payload)
    }
  }

  @Test func `a client that disconnects is reported with its last channel`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    let silent = try connect()
    let client = try connect()
    try client.write(Self.payload)
    var events = link.stream.makeAsyncIterator()
    let report = try #require(Report(Self.payload))
    #expect(await events.next() == .report(report))
    // A client that wrote nothing is not reported.
    shutdown(silent.number, Int32(SHUT_RDWR))
    shutdown(client.number, Int32(SHUT_RDWR))
    #expect(await events.next() == .left(report.channel))
  }

  @Test func `a client that disconnects frees its place`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    var reports = link.reports.makeAsyncIterator()
    for _ in 0..<100 {
      let client = try connect()
      try client.write(Self.payload)
      #expect(await reports.next() != nil)
    }
  }

  @Test func `clients over the limit are closed, and the others served`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    var clients: [Descriptor] = []
    for _ in 0..<UnixSocketDevice.clientLimit { clients.append(try connect()) }
    // When the last client's report arrives, all were accepted.
    var reports = link.reports.makeAsyncIterator()
    try clients.last?.write(Self.payload)
    _ = await reports.next()
    #expect(try connect().read() == [], "closed")
    try clients.first?.write(Self.payload)
    #expect(await reports.next() != nil)
  }

  @Test func `a stale socket is replaced`() throws {
    let left = Descriptor(socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0))
    #expect(try #require(SocketAddress(path)).bind(left.number))
    let link = try transport.attach()
    link.close()
  }

  @Test func `a socket in use is left alone`() throws {
    let link = try transport.attach()
    defer { link.close() }
    #expect {
      try transport.attach()
    } throws: {
      "\($0)".contains("another program listens at \(path)")
    }
    #expect(access(path, F_OK) == 0)
  }

  @Test func `a file that is not a socket is left alone`() throws {
    let file = open(path, O_CREAT | O_WRONLY, 0o600)
    close(file)
    #expect {
      try transport.attach()
    } throws: {
      "\($0)" == "\(path) is not a socket; move it away, or name another path"
    }
    #expect(access(path, F_OK) == 0)
  }

  @Test func `close does not remove a file that took the socket's place`() throws {
    let link = try transport.attach()
    unlink(path)
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    link.close()
    #expect(access(path, F_OK) == 0)
  }

  @Test func `a directory that others may write to is refused`() throws {
    chmod(directory.path, 0o702)
    #expect {
      try transport.attach()
    } throws: {
      "\($0)"
        == "other users can write to \(directory.path) (mode 702); restrict access with: chmod go-w '\(directory.path)', "
        + "or name another path"
    }
    // As in /tmp, where the sticky bit protects the files of other users.
    chmod(directory.path, 0o1777)
    try transport.attach().close()
  }

  @Test(arguments: ["", String(repeating: "x", count: 108)])
  func `an empty path, and one too long for a socket, are refused`(name: String) {
    #expect(throws: TransportError.self) { try UnixSocketTransport(path: name, loop: EventLoop()).attach() }
  }

  @Test func `the error for a missing directory names the directory`() {
    #expect {
      try UnixSocketTransport(path: directory.path + "/no/key.sock", loop: EventLoop()).attach()
    } throws: {
      "\($0)" == "cannot find the directory \(directory.path)/no: No such file or directory"
    }
  }

  @Test func `reattaching makes a new socket and closes the old clients`() async throws {
    let first = try transport.attach()
    let client = try connect()
    var reports = first.reports.makeAsyncIterator()
    try client.write(Self.payload)
    _ = await reports.next()
    first.close()
    #expect(await reports.next() == nil)
    let second = try transport.attach()
    defer { second.close() }
    #expect(try client.read() == [])
    try connect().write(Self.payload)
    var again = second.reports.makeAsyncIterator()
    #expect(await again.next()?.bytes == Self.payload)
  }
}
