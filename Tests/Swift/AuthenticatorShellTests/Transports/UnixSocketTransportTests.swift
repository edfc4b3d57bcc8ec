import CTAPHID
import EventLoop
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

  /// The number of reports of a message that was passed on; or 0 for the work that it started.
  struct Turn: Equatable {
    let client: UInt8
    let reports: Int
  }

  // Holds: REPORT-14
  @Test func `clients take turns, and the work of one message runs before the next is passed on`() async throws {
    let loop = try EventLoop()
    let link = try UnixSocketTransport(path: path, loop: loop).attach()
    defer { link.close() }
    let (stream, continuation) = AsyncStream.makeStream(of: Turn.self)
    link.events.receive { events in
      let clients = events.compactMap { event -> UInt8? in
        if case .report(let report)? = event { report.bytes[0] } else { nil }
      }
      guard let client = clients.first else { return }
      continuation.yield(Turn(client: client, reports: clients.count))
      Task(executorPreference: loop) { continuation.yield(Turn(client: client, reports: 0)) }
    }
    var turns = stream.makeAsyncIterator()
    let clients = [try connect(), try connect(), try connect()]
    // A message of two reports; those of one client are for several channels.
    let write = { @Sendable (client: Int, channel: Int) in
      let head = [UInt8(client), 0, 0, UInt8(channel)]
      try clients[client].write(head + [0x90, 0, 64] + [UInt8](repeating: 1, count: 57))
      try clients[client].write(head + [0] + [UInt8](repeating: 1, count: 59))
    }
    // The loop's thread runs this, and reads nothing meanwhile.
    let count = 20
    try await Task(executorPreference: loop) {
      for channel in 0..<count { for client in clients.indices { try write(client, channel) } }
    }.value
    var seen: [Turn] = []
    while seen.count < 2 * 3 * count, let turn = await turns.next() { seen.append(turn) }
    // Each client is accepted in a pass of its own, so the first turns can be in any order; then they alternate.
    let messages = stride(from: 0, to: seen.count, by: 2).map { seen[$0] }
    #expect(seen == messages.flatMap { [$0, Turn(client: $0.client, reports: 0)] })
    #expect(messages.allSatisfy { $0.reports == 2 })
    for client in 0..<3 as Range<UInt8> { #expect(messages.count { $0.client == client } == count) }
    let middle = messages[6..<(messages.count - 6)].map(\.client)
    #expect(zip(middle, middle.dropFirst(3)).allSatisfy(==) && Set(middle.prefix(3)).count == 3, "\(middle)")
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

  // Holds: FAULT-6
  @Test func `a client over the limit replaces one that has sent nothing, or else the one with the oldest report`()
    async throws
  {
    let link = try transport.attach()
    defer { link.close() }
    var reports = link.reports.makeAsyncIterator()
    var clients: [Descriptor] = []
    // All but the third send a report; the first one sends another.
    for number in 0..<UnixSocketDevice.clientLimit {
      clients.append(try connect())
      if number != 2 {
        try clients[number].write(Self.payload)
        #expect(await reports.next() != nil)
      }
    }
    try clients[0].write(Self.payload)
    #expect(await reports.next() != nil)
    for replaced in [2, 1] {
      let client = try connect()
      #expect(try clients[replaced].read() == [], "closed")
      try client.write(Self.payload)
      #expect(await reports.next() != nil)
      clients.append(client)
    }
    for client in [clients[0]] + clients[3...] {
      try client.write(Self.payload)
      #expect(await reports.next() != nil)
    }
  }

  // Holds: FAULT-6
  @Test func `an answer or a KEEPALIVE keeps the client that waits for it`() async throws {
    let link = try transport.attach()
    defer { link.close() }
    var reports = link.reports.makeAsyncIterator()
    var clients: [Descriptor] = []
    for number in 0..<UnixSocketDevice.clientLimit {
      clients.append(try connect())
      try clients[number].write([UInt8](repeating: UInt8(number), count: Report.size))
      #expect(await reports.next() != nil)
    }
    let answer = [UInt8](repeating: 0, count: Report.size)
    link.send([try #require(Report(answer))])
    clients.append(try connect())
    #expect(try clients[1].read() == answer)
    #expect(try clients[1].read() == [], "closed")
    try clients[0].write(answer)
    #expect(await reports.next()?.bytes == answer)
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

  @Test func `a directory of another user is refused, and the error says which are not`() throws {
    let isRoot = geteuid() == 0
    // Another user's: as root, ours until now; else that of root.
    if isRoot { try #require(chown(directory.path, 1, gid_t.max) == 0) }
    let other = isRoot ? directory.path : "/"
    var status = stat()
    try #require(stat(other, &status) == 0)
    let owner = status.st_uid
    #expect {
      try UnixSocketTransport(path: isRoot ? other + "/key.sock" : "/key.sock", loop: EventLoop()).attach()
    } throws: {
      "\($0)"
        == "\(other) belongs to another user (uid \(owner)); name another path, in a directory of yours, such as "
        + "$XDG_RUNTIME_DIR or your home directory"
    }
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
