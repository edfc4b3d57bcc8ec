import ControlProtocol
import CryptoPrimitives
import EventLoop
import Foundation
import HelperProcess
import ProcessIO
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import liquid_authenticator

/// A listener on a socket in a directory of its own.
final class OpenControlSocket: Sendable {
  /// The loop that all listeners share, as in the daemon; other tests may keep the pool busy.
  private static let loop = Result { () throws(SystemNumber) in try EventLoop() }

  let service = ScriptedService()
  let directory: String
  let path: String
  let listener: ControlListener
  let lines = Lines()

  /// - Parameters:
  ///   - loop: its own loop; `nil` for the one that all listeners share.
  ///   - processes: those that the listener sees; `nil` for that of the tests.
  init(on loop: EventLoop? = nil, _ processes: Processes? = nil) throws {
    // Short, because the path of a socket has at most 107 bytes.
    directory = "/tmp/liquid-auth-socket-" + UUID().uuidString.prefix(8)
    path = directory + "/control.sock"
    let (service, lines) = (service, lines)
    listener = ControlListener(
      try ControlServerSocket(listeningAt: path), on: try loop ?? Self.loop.get(),
      peer: { processes?.peer ?? ControlServerSocket.peer(of: $0) },
      makeSession: { number, _ in ControlSession(client: number, service: service, log: { _ in }) },
      isPromptOpen: { service.isPromptOpen.withLock { $0 } }, log: lines.add)
  }

  deinit {
    listener.stop()
    try? FileManager.default.removeItem(atPath: directory)
  }

  func connect() throws -> Client { try #require(Client(path)) }
}

/// Pretends that a listener's connections are of different processes.
final class Processes: Sendable {
  private let number = Mutex<pid_t>(1)

  var peer: ControlServerSocket.Peer { ControlServerSocket.Peer(number: number.withLock { $0 }) }

  /// A connection of this process that has said hello.
  func connect(_ process: pid_t, to control: OpenControlSocket) async throws -> Client {
    number.withLock { $0 = process }
    let client = try control.connect()
    // The answer shows that it was accepted.
    await client.greet()
    return client
  }
}

/// A client of the control socket.
final class Client: Sendable {
  let descriptor: Int32

  init?(_ path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      close(descriptor)
      return nil
    }
    // A test that would hang fails instead. On a busy machine other tests may hold the pool for a while.
    var limit = timeval(tv_sec: 180 * patience, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  @discardableResult
  func send(_ packet: [UInt8]) -> Bool {
    Glibc.send(descriptor, packet, packet.count, Int32(MSG_NOSIGNAL)) == packet.count
  }

  /// The next packet; empty at the end of the connection, `nil` at the timeout.
  ///
  /// Waits on its own thread, because the listener needs the few threads of the pool.
  func receive() async -> [UInt8]? {
    let descriptor = descriptor
    return await OwnThread.run {
      var buffer = [UInt8](repeating: 0, count: ControlMessage.maximumSize + 1)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return count < 0 ? nil : Array(buffer.prefix(count))
    }
  }

  func ask(_ packet: [UInt8]) async -> [UInt8]? { send(packet) ? await receive() : nil }

  @discardableResult func greet() async -> [UInt8]? { await ask([0x50, 0xA1, 0x01, UInt8(ControlMessage.version)]) }
}

@Suite struct ControlListenerTests {
  @Test func `the socket and its directory are accessible to their owner only`() async throws {
    let control = try OpenControlSocket()
    var status = stat()
    #expect(lstat(control.path, &status) == 0)
    #expect(status.st_mode == S_IFSOCK | 0o600)
    #expect(lstat(control.directory, &status) == 0)
    #expect(status.st_mode == S_IFDIR | 0o700)
    control.listener.stop()
    #expect(lstat(control.path, &status) != 0)
  }

  @Test func `consecutive requests on one connection are all answered`() async throws {
    let control = try OpenControlSocket()
    let client = try control.connect()
    #expect(await client.ask([0x51])?.first == 0xF0)
    let hello = try Hello.Answer(decoding: try #require(await client.greet()))
    #expect(hello == Hello.Answer(processID: getpid()))
    #expect(await client.ask([0x52]) == [0x00])
    #expect(await client.ask([0x04]) == [0x00, 0x04])
  }

  @Test func `each connection has its own state`() async throws {
    let control = try OpenControlSocket()
    let (one, two) = (try control.connect(), try control.connect())
    await one.greet()
    #expect(await one.ask([0x52]) == [0x00])
    #expect(await two.ask([0x52])?.first == 0xF0)
    await two.greet()
    #expect(await two.ask([0x52]) == [0x00])
    #expect(await one.ask([0x02])?.first == 0x00)
    #expect(await two.ask([0x02])?.first == 0x00)
    #expect(control.service.calls.withLock { $0 }.suffix(2) == ["ctap [2] of 1", "ctap [2] of 2"])
  }

  // Holds: CONTROL-7
  @Test func `a waiting request does not delay other connections`() async throws {
    let control = try OpenControlSocket()
    control.service.gate.close()
    let (waiting, other) = (try control.connect(), try control.connect())
    await waiting.greet()
    await other.greet()
    waiting.send([0x01])
    #expect(await other.ask([0x51])?.first == 0x00)
    #expect(await other.ask([0x52]) == [0x00])
    control.service.gate.open()
    #expect(await waiting.receive() == [0x00, 0x01])
  }

  @Test func `a client hears once for each request in the queue that a prompt is open, if its hello asks for it`()
    async throws
  {
    let control = try OpenControlSocket()
    let (curious, other, stranger) = (try control.connect(), try control.connect(), try control.connect())
    let hello = Hello(hearsOfPrompts: true).encoded.withUnsafeBytes { Array($0) }
    #expect(await curious.ask(hello)?.first == 0x00)
    await other.greet()
    #expect(await curious.ask([0x03]) == [0x00, 0x03], "no prompt is open")
    control.service.gate.close()
    curious.send([0x01])
    other.send([0x01])
    await eventually { control.service.gate.count == 2 }
    control.listener.promptOpened()
    control.listener.promptOpened()
    #expect(await curious.receive() == ControlMessage.promptIsOpen)
    control.service.gate.open()
    #expect(await curious.receive() == [0x00, 0x01])
    #expect(await other.receive() == [0x00, 0x01])

    // It is open already when the next request comes.
    control.service.isPromptOpen.withLock { $0 = true }
    control.service.gate.close()
    curious.send([0x02])
    #expect(await curious.receive() == ControlMessage.promptIsOpen)
    control.listener.promptOpened()
    control.service.gate.open()
    #expect(await curious.receive() == [0x00, 0x02])
    #expect(await other.ask([0x02]) == [0x00, 0x02])
    // The first answer tells the listener what the client has said so far.
    for _ in 0..<2 { #expect(await stranger.ask([0x02])?.first == 0xF0, "it has not said hello") }

    // A request that waits for nobody, and none.
    #expect(await curious.ask([0x52]) == [0x00])
    control.listener.promptOpened()
    #expect(await curious.ask([0x52]) == [0x00])
  }

  @Test func `requests of one connection are answered in order`() async throws {
    let control = try OpenControlSocket()
    control.service.gate.close()
    let client = try control.connect()
    await client.greet()
    for number in 1...9 as ClosedRange<UInt8> { client.send([number]) }
    control.service.gate.open()
    for number in 1...9 as ClosedRange<UInt8> { #expect(await client.receive() == [0x00, number]) }
  }

  @Test func `a client that disconnects withdraws its request`() async throws {
    let control = try OpenControlSocket()
    control.service.gate.close()
    var client: Client? = try control.connect()
    await client?.greet()
    client?.send([0x01])
    await eventually { control.service.gate.count == 1 }
    client = nil
    await eventually { control.service.gate.count == 0 }
    await eventually { control.service.calls.withLock { $0.last } == "withdrawn by 1" }
  }

  // Holds: CONTROL-7
  @Test func `a client that never reads its answers loses its connection, and others stay`() async throws {
    let control = try OpenControlSocket()
    let (deaf, other) = (try control.connect(), try control.connect())
    await other.greet()
    await deaf.greet()
    // In the end the listener closes the connection, or accepts no more data.
    let ended = Mutex(false)
    Thread {
      while deaf.send([0x51]) {}
      ended.withLock { $0 = true }
    }.start()
    await eventually { ended.withLock { $0 } }
    #expect(await other.ask([0x52]) == [0x00])
  }

  struct Malformed: CustomTestStringConvertible {
    let testDescription: String
    let packet: [UInt8]
    let status: UInt8

    init(_ description: String, _ packet: [UInt8], _ status: UInt8) {
      testDescription = description
      self.packet = packet
      self.status = status
    }
  }

  static let malformed: [Malformed] = [
    Malformed("no command of ours", [0x7F], 0x01),
    Malformed("broken CBOR", [0x51, 0xA1], 0x12),
    Malformed("a passphrase that is a text", [0x53, 0xA1, 0x00, 0x61, 0x61], 0x11),
    Malformed("a CTAP2 message that is too long", [0x01] + [UInt8](repeating: 0, count: 7_609), 0x03),
  ]

  // Holds: WALLET-13
  @Test(arguments: malformed)
  func `a malformed request is answered, and the connection goes on`(_ example: Malformed) async throws {
    let control = try OpenControlSocket()
    let client = try control.connect()
    await client.greet()
    #expect(await client.ask(example.packet)?.first == example.status)
    // The line is written after the answer.
    await eventually { control.lines.all.count == 1 }
    #expect(control.lines.all.first?.hasPrefix("the control socket refused a request: ") == true)
    #expect(await client.ask([0x52]) == [0x00])
    #expect(control.lines.all.count == 1)
  }

  // Holds: CONTROL-2
  @Test func `a packet that is too long ends its connection`() async throws {
    let control = try OpenControlSocket()
    let client = try control.connect()
    await client.greet()
    #expect(await client.ask([0x51] + [UInt8](repeating: 0, count: ControlMessage.maximumSize))?.first == 0x03)
    #expect(await client.receive()?.isEmpty != false)
  }

  /// A request of `count` bytes whose members are not CBOR.
  static func unreadable(_ command: UInt8, count: Int) -> [UInt8] {
    [command] + [UInt8](repeating: 0, count: count - 1)
  }

  // Holds: CONTROL-15
  @Test(
    arguments: [
      // Status 12: the request was decoded.
      (false, 0x63, 8192, 0x12), (false, 0x63, 8193, 0xF0), (false, 0x63, ControlMessage.maximumSize, 0xF0),
      (false, 0x51, 8193, 0xF0), (true, 0x63, ControlMessage.maximumSize, 0x12), (true, 0x60, 16_384, 0x12),
      (true, 0x60, 16_385, 0x03), (true, 0x64, 8192, 0x12), (true, 0x64, 8193, 0x03), (true, 0x7F, 8193, 0x01),
    ] as [(Bool, UInt8, Int, UInt8)])
  func `a request longer than its command allows is not decoded`(
    isGreeted: Bool, command: UInt8, count: Int, status: UInt8
  ) async throws {
    let control = try OpenControlSocket()
    let client = try control.connect()
    // A refused request does not count as a hello.
    if isGreeted { await client.greet() } else { _ = await client.ask([0x51]) }
    #expect(await client.ask(Self.unreadable(command, count: count))?.first == status)
    await client.greet()
    #expect(await client.ask([0x52]) == [0x00], "the connection goes on")
  }

  /// An unlock with the service's passphrase.
  private static let unlock: [UInt8] = [0x53, 0xA1, 0x00, 0x4D] + ScriptedService.passphrase

  // Holds: CONTROL-8
  @Test func `when every place is taken, the connection that is idle longest is closed`() async throws {
    let control = try OpenControlSocket()
    let clients = try (0..<ControlListener.maximumConnections).map { _ in try control.connect() }
    for client in clients { await client.greet() }
    #expect(await clients[0].ask(Self.unlock) == [0x00])
    #expect(await clients[1].ask([0x52]) == [0x00], "it has just done something")
    var newcomers: [Client] = []
    for gone in [clients[2], clients[3]] {
      let late = try control.connect()
      newcomers.append(late)
      await late.greet()
      #expect(await late.ask([0x52]) == [0x00])
      #expect(await gone.receive()?.isEmpty == true, "that end was closed, without a word")
    }
    // Each newcomer closed one connection only.
    for client in Array(clients[..<2]) + Array(clients[4...]) + newcomers {
      #expect(await client.ask([0x52]) == [0x00])
    }
  }

  // Holds: CONTROL-8
  @Test func `however many connections are idle, the owner can connect`() async throws {
    let control = try OpenControlSocket()
    // They do not even send a hello.
    let idle = try (0..<3 * ControlListener.maximumConnections).map { _ in try control.connect() }
    let owner = try control.connect()
    await owner.greet()
    #expect(await owner.ask([0x52]) == [0x00])
    #expect(await owner.ask(Self.unlock) == [0x00])
    let more = try (0..<3 * ControlListener.maximumConnections).map { _ in try control.connect() }
    await more.last?.greet()
    #expect(await owner.ask([0x52]) == [0x00], "who has given the passphrase stays")
    #expect(idle.count == more.count)
  }

  // Holds: CONTROL-18
  @Test func `tries of the passphrase and waits for the store do not take every place`() async throws {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    control.service.unlocking.close()
    control.service.plugging.close()
    control.service.gate.close()
    control.service.hasLockedTurns.withLock { $0 = true }
    let (unlocking, following) = (ControlListener.maximumUnlocking, ControlListener.maximumFollowing)
    let (working, waiting) = (ControlListener.maximumWorking, ControlListener.maximumWaiting)
    #expect(unlocking + following + working + waiting < ControlListener.maximumConnections)
    var clients: [Client] = []
    // More of each kind than the limit, as a hostile program that starts others sends them.
    let requests: [([UInt8], Int)] = [
      (Self.wrong, unlocking), ([0x76], following), (Self.detach, working), ([0x01], waiting),
    ]
    for (request, limit) in requests {
      for number in 0..<limit + 8 {
        let client = try await processes.connect(pid_t(100 + number), to: control)
        if number < limit {
          client.send(request)
          clients.append(client)
        } else {
          #expect(await client.ask(request)?.first == ControlStatus.busy.rawValue, "\(request) \(number)")
        }
      }
    }
    let owner = try await processes.connect(99, to: control)
    #expect(await owner.ask([0x51])?.first == 0, "status")
    #expect(await owner.ask([0x52]) == [0x00], "lock")
    control.service.unlocking.open()
    control.service.plugging.open()
    control.service.gate.open()
    for client in clients[..<unlocking] {
      #expect(await client.receive()?.first == ControlStatus.wrongPassphrase.rawValue)
    }
    #expect(await owner.ask(Self.unlock) == [0x00], "there is room again")
  }

  private static let wrong: [UInt8] = [0x53, 0xA1, 0x00, 0x43, 1, 2, 3]
  private static let acceptStore: [UInt8] = [0x6A, 0xA1, 0x00, 0x43, 1, 2, 3]
  private static let detach: [UInt8] = [0x5B, 0xA1, 0x01, 0x02]
  private static let busy = ControlStatus.busy.rawValue

  // Holds: CONTROL-18
  @Test func `whatever one process repeats, the owner unlocks, and others follow the store and detach the device`()
    async throws
  {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    let service = control.service
    service.unlocking.close()
    service.plugging.close()
    service.hasLockedTurns.withLock { $0 = true }
    var attackers: [Client] = []
    // A program that follows the store has two waits while it changes its connection.
    for (request, limit) in [(Self.wrong, 1), ([0x76], 2), (Self.detach, 1)] as [([UInt8], Int)] {
      for _ in 0..<limit {
        let attacker = try await processes.connect(7, to: control)
        attacker.send(request)
        attackers.append(attacker)
      }
      for _ in 0..<4 {
        let another = try await processes.connect(7, to: control)
        #expect(await another.ask(request)?.first == Self.busy, "\(request)")
      }
    }
    let third = try await processes.connect(7, to: control)
    #expect(await third.ask(Self.acceptStore)?.first == Self.busy, "it has a passphrase, too")
    let follower = try await processes.connect(8, to: control)
    follower.send([0x76])
    await eventually { service.followers.waitingCount == 3 }
    let owner = try await processes.connect(9, to: control)
    owner.send(Self.detach)
    await eventually { service.plugging.count == 2 }
    service.plugging.open()
    #expect(await owner.receive() == [0x00])
    owner.send(Self.unlock)
    await eventually { service.unlocking.count == 2 }
    service.unlocking.open()
    #expect(await owner.receive() == [0x00])
    #expect(await attackers[0].receive()?.first == ControlStatus.wrongPassphrase.rawValue)
  }

  // Holds: CONTROL-18
  @Test func `the fourth try of the passphrase at a time is only for a process whose previous try did not fail`()
    async throws
  {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    let service = control.service
    var attackers: [Client] = []
    for number in 1...pid_t(ControlListener.maximumUnlocking) {
      let attacker = try await processes.connect(number, to: control)
      #expect(await attacker.ask(Self.wrong)?.first == ControlStatus.wrongPassphrase.rawValue)
      attackers.append(attacker)
    }
    // A process that closes the connection before the answer has failed, too.
    service.unlocking.close()
    var gone: Client? = try await processes.connect(90, to: control)
    gone?.send(Self.wrong)
    await eventually { service.unlocking.count == 1 }
    gone = nil
    await eventually { service.unlocking.count == 0 }
    for attacker in attackers.dropLast() { attacker.send(Self.wrong) }
    await eventually { service.unlocking.count == attackers.count - 1 }
    #expect(await attackers.last?.ask(Self.wrong)?.first == Self.busy)
    let again = try await processes.connect(90, to: control)
    #expect(await again.ask(Self.wrong)?.first == Self.busy)
    let owner = try await processes.connect(99, to: control)
    owner.send(Self.unlock)
    await eventually { service.unlocking.count == attackers.count }
    service.unlocking.open()
    #expect(await owner.receive() == [0x00])
    for attacker in attackers.dropLast() {
      #expect(await attacker.receive()?.first == ControlStatus.wrongPassphrase.rawValue)
    }
    // After the right passphrase, the process has not failed any more.
    #expect(await attackers.last?.ask(Self.unlock) == [0x00])
    service.unlocking.close()
    for attacker in attackers.dropLast() { attacker.send(Self.wrong) }
    await eventually { service.unlocking.count == attackers.count - 1 }
    let next = try await processes.connect(pid_t(attackers.count), to: control)
    next.send(Self.unlock)
    await eventually { service.unlocking.count == attackers.count }
    service.unlocking.open()
    #expect(await next.receive() == [0x00])
  }

  // Holds: CONTROL-18
  @Test func `256 processes whose try failed are remembered, and the oldest makes room`() async throws {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    let service = control.service
    for number in 1...257 as ClosedRange<pid_t> {
      let client = try await processes.connect(number, to: control)
      #expect(await client.ask(Self.wrong)?.first == ControlStatus.wrongPassphrase.rawValue)
    }
    service.unlocking.close()
    var waiting: [Client] = []
    for number in 1001..<1000 + pid_t(ControlListener.maximumUnlocking) {
      let client = try await processes.connect(number, to: control)
      client.send(Self.wrong)
      waiting.append(client)
    }
    await eventually { service.unlocking.count == waiting.count }
    let second = try await processes.connect(2, to: control)
    #expect(await second.ask(Self.wrong)?.first == Self.busy)
    let first = try await processes.connect(1, to: control)
    first.send(Self.wrong)
    await eventually { service.unlocking.count == waiting.count + 1 }
    service.unlocking.open()
    for client in waiting + [first] {
      #expect(await client.receive()?.first == ControlStatus.wrongPassphrase.rawValue)
    }
  }

  // Holds: CONTROL-9
  @Test func `requests that wait for a person do not take every place`() async throws {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    control.service.gate.close()
    let ofOne = ControlListener.maximumWaitingOfOne
    var clients: [Client] = []
    for number in 1...ControlListener.maximumConnections {
      let isOfOne = number <= ofOne || number == ControlListener.maximumConnections
      clients.append(try await processes.connect(isOfOne ? 7 : 8, to: control))
    }
    for client in clients[..<ofOne] { client.send([0x01]) }
    await eventually { control.service.gate.count == ofOne }
    #expect(await clients.last?.ask([0x01])?.first == ControlStatus.busy.rawValue, "others have a turn")
    for client in clients[ofOne..<ControlListener.maximumWaiting] { client.send([0x01]) }
    await eventually { control.service.gate.count == ControlListener.maximumWaiting }
    for client in clients[ControlListener.maximumWaiting...] {
      #expect(await client.ask([0x01])?.first == ControlStatus.busy.rawValue)
    }
    let owner = try control.connect()
    await owner.greet()
    #expect(await owner.ask(Self.unlock) == [0x00])
    #expect(control.service.gate.count == ControlListener.maximumWaiting)
    owner.send([0x01])
    await eventually { control.service.gate.count == ControlListener.maximumWaiting + 1 }
    control.service.gate.open()
    #expect(await owner.receive() == [0x00, 0x01], "who has given the passphrase waits as well")
    for client in clients[..<ControlListener.maximumWaiting] { #expect(await client.receive() == [0x00, 0x01]) }
    #expect(await owner.ask([0x01]) == [0x00, 0x01], "there is room again")
  }

  // Holds: CONTROL-8
  @Test func `a connection without a hello is closed before one with a hello`() async throws {
    let control = try OpenControlSocket()
    let owner = try control.connect()
    #expect(await owner.greet() != nil)
    let silent = try (0..<3 * ControlListener.maximumConnections).map { _ in try control.connect() }
    #expect(await owner.ask([0x52]) == [0x00])
    #expect(await silent.last?.greet() != nil)
  }

  // Holds: CONTROL-8
  @Test func `a new connection has time to say hello`() async throws {
    let control = try OpenControlSocket()
    let idle = try (0..<ControlListener.maximumConnections).map { _ in try control.connect() }
    for client in idle { await client.greet() }
    let owner = try control.connect()
    let more = try (0..<ControlListener.maximumSilent - 1).map { _ in try control.connect() }
    #expect(await owner.greet() != nil)
    #expect(await idle[0].receive()?.isEmpty == true)
    #expect(more.count == 7)
  }

  // Holds: CONTROL-7
  @Test func `when no connection can be closed, a new one gets busy`()
    async throws
  {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    let verified = try (ControlListener.maximumWaiting..<ControlListener.maximumConnections).map { _ in
      try control.connect()
    }
    for client in verified {
      await client.greet()
      #expect(await client.ask(Self.unlock) == [0x00])
    }
    var clients: [Client] = []
    for number in 0..<ControlListener.maximumWaiting {
      clients.append(try await processes.connect(pid_t(100 + number), to: control))
    }
    control.service.gate.close()
    for client in clients { client.send([0x01]) }
    await eventually { control.service.gate.count == clients.count }
    let late = try control.connect()
    #expect(await late.receive()?.first == ControlStatus.busy.rawValue)
    #expect(await verified[0].ask([0x52]) == [0x00])
    // A wrong passphrase revokes what the right one granted.
    #expect(await verified[0].ask([0x53, 0xA1, 0x00, 0x41, 0x00])?.first == 0xF2)
    let last = try control.connect()
    await last.greet()
    #expect(await last.ask([0x52]) == [0x00])
    #expect(await verified[0].receive()?.isEmpty == true)
    control.service.gate.open()
    for client in clients { #expect(await client.receive() == [0x00, 0x01]) }
  }

  // Holds: CONTROL-7
  @Test func `ten thousand random packets leave the listener working`() async throws {
    let control = try OpenControlSocket()
    var generator = SeededGenerator(state: 42)
    for round in 0..<100 {
      guard let client = Client(control.path) else {
        Issue.record("round \(round): nobody listens")
        return
      }
      await client.greet()
      for _ in 0..<100 {
        let packet = (0..<Int.random(in: 1...48, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        guard await client.ask(packet)?.isEmpty == false else {
          Issue.record("round \(round): no answer to \(packet)")
          return
        }
      }
    }
    let client = try control.connect()
    await client.greet()
    #expect(await client.ask([0x52]) == [0x00])
  }

  // Holds: CONTROL-19
  @Test func `all requests are withdrawn before a suspend, and the connections stay`() async throws {
    let control = try OpenControlSocket()
    control.service.gate.close()
    let client = try control.connect()
    await client.greet()
    client.send([0x01])
    await eventually { control.service.gate.count == 1 }
    control.listener.withdrawRequests(by: nil)
    #expect(await client.receive() == [0x2D])
    #expect(control.service.calls.withLock { $0.last } == "withdrawn by us")
    client.send([0x01])
    await eventually { control.service.gate.count == 1 }
    // The process of the request locks the vault itself.
    let own = ControlServerSocket.peer(of: client.descriptor)
    control.listener.withdrawRequests(by: .controlSocket(process: own.number, instance: own.instance))
    #expect(await client.receive() == [0x2D])
    #expect(control.service.calls.withLock { $0.last } == "withdrawn by 1")
    control.service.gate.open()
    client.send([0x01])
    #expect(await client.receive() == [0x00, 0x01])
  }

  // Holds: CONTROL-19
  @Test func `a request that ends by a lock, before it is cancelled, is withdrawn by us, unless its process locks`()
    async throws
  {
    let processes = Processes()
    let control = try OpenControlSocket(processes)
    control.service.gate.close()
    for (process, word) in [(7, "withdrawn by us"), (8, "withdrawn by 2")] as [(pid_t, String)] {
      let client = try await processes.connect(process, to: control)
      client.send([0x01])
      await eventually { control.service.gate.count == 1 }
      control.listener.noteWithdrawals(by: .controlSocket(process: 8))
      // The request's wait ends by the lock itself, before the listener cancels it.
      control.service.gate.end()
      #expect(await client.receive() == [0x2D])
      #expect(control.service.calls.withLock { $0.last } == word)
    }
  }

  @Test func `stopping the listener withdraws requests and closes connections`() async throws {
    let control = try OpenControlSocket()
    control.service.gate.close()
    let client = try control.connect()
    await client.greet()
    client.send([0x01])
    await eventually { control.service.gate.count == 1 }
    control.listener.stop()
    #expect(await client.receive()?.isEmpty != false)
    await eventually { control.service.gate.count == 0 }
    #expect(Client(control.path) == nil)
  }
}

@Suite struct ControlSocketTests {
  let directory: TemporaryDirectory
  var path: String { directory.path + "/control.sock" }

  init() throws { directory = try TemporaryDirectory() }

  @Test func `a socket left by a crash is replaced`() async throws {
    let path = path
    func crash() throws { _ = try ControlServerSocket(listeningAt: path) }
    try crash()
    #expect(access(path, F_OK) == 0)
    let socket = try ControlServerSocket(listeningAt: path)
    #expect(Client(path) != nil)
    socket.removeFile()
  }

  @Test func `the process at the other end is the same for each of its connections`() {
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let peers = ends.map { ControlServerSocket.peer(of: $0) }
    #expect(peers.map(\.number) == [getpid(), getpid()] && peers[0] == peers[1])
    #expect(ControlServerSocket.peer(of: -1) == ControlServerSocket.Peer(number: nil))
  }

  @Test func `a socket in use is not taken over`() async throws {
    let control = try OpenControlSocket()
    let error = #expect(throws: TransportError.self) { _ = try ControlServerSocket(listeningAt: control.path) }
    #expect(
      error?.description
        == "another program listens at \(control.path) already; stop it first, or give another path with --control")
    #expect(Client(control.path) != nil)
  }

  @Test func `a file that is not a socket is kept`() async throws {
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
    #expect(throws: TransportError.self) { _ = try ControlServerSocket(listeningAt: path) }
    #expect(FileManager.default.contents(atPath: path) == Data([1, 2, 3]))
  }

  @Test func `the error for a path that is too long names the path`() {
    let path = "/tmp/" + String(repeating: "x", count: 104)
    let error = #expect(throws: TransportError.self) { _ = try ControlServerSocket(listeningAt: path) }
    #expect(error?.description.contains(path) == true)
  }

  @Test func `the error for a missing directory names the directory`() {
    let error = #expect(throws: TransportError.self) {
      _ = try ControlServerSocket(listeningAt: "/no/such/control.sock")
    }
    #expect(error?.description == "cannot find the directory /no/such: No such file or directory")
  }

  // Holds: CONTROL-10
  @Test func `a directory that others may write to is refused`() {
    chmod(directory.path, 0o777)
    let error = #expect(throws: TransportError.self) { _ = try ControlServerSocket(listeningAt: path) }
    #expect(
      error?.description == "other users can write to \(directory.path) (mode 777); restrict access with: "
        + "chmod go-w '\(directory.path)', or give another path with --control")
    #expect(access(path, F_OK) != 0)
  }
}

/// Random numbers that are the same in every run.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
