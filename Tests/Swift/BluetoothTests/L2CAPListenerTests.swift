import Bluetooth
import EventLoop
import Glibc
import Testing

/// A Unix socket of the same type in place of one of Bluetooth.
@Suite struct L2CAPListenerTests {
  private static let packetSize = 64
  private let address: sockaddr_un
  private let nameSize: socklen_t
  private let listener: L2CAPListener
  private let events: AsyncStream<L2CAPListener.Event>
  private let input: AsyncStream<L2CAPListener.Event>.Continuation
  private let loop: EventLoop

  init() throws {
    (events, input) = AsyncStream.makeStream()
    loop = try EventLoop()
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    // With the family alone, the kernel chooses an abstract name.
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isReady = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, socklen_t(MemoryLayout<sa_family_t>.size)) == 0 && listen(descriptor, 1) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    try #require(isReady)
    (self.address, nameSize) = (address, size)
    listener = L2CAPListener(descriptor, psm: 0x82, maximumSize: 1024) { _ in Int32(Self.packetSize) }
  }

  /// `nil` if nobody listens.
  private func connection() -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, nameSize) == 0 }
    }
    if !isConnected { close(descriptor) }
    return isConnected ? descriptor : nil
  }

  // Holds: HYBRID-12
  @Test func `packets go in both directions, cut to the size that the other side takes`() async throws {
    let client = try #require(connection())
    listener.serve(on: loop) { [input] event in input.yield(event) }
    let hello = [UInt8](repeating: 7, count: 1000)
    #expect(send(client, hello, hello.count, 0) == 1000)
    var received = events.makeAsyncIterator()
    let first = await received.next()
    #expect(first == .packet(hello))
    let answer = [UInt8](0..<150)
    loop.perform { [listener] in listener.send(answer) }
    var sizes: [Int] = []
    var bytes: [UInt8] = []
    while bytes.count < answer.count {
      var packet = [UInt8](repeating: 0, count: 1024)
      let count = recv(client, &packet, packet.count, 0)
      try #require(count > 0)
      sizes.append(count)
      bytes += packet.prefix(count)
    }
    #expect(bytes == answer && sizes == [64, 64, 22])
    close(client)
    let last = await received.next()
    #expect(last == .closed)
    listener.close()
  }

  // Holds: HYBRID-12
  @Test func `only the first program that connects is accepted`() async throws {
    let first = try #require(connection())
    listener.serve(on: loop) { [input] event in input.yield(event) }
    #expect(send(first, [1], 1, 0) == 1)
    var received = events.makeAsyncIterator()
    let event = await received.next()
    #expect(event == .packet([1]))
    #expect(connection() == nil)
    listener.close()
    var byte: UInt8 = 0
    #expect(recv(first, &byte, 1, 0) == 0)
    close(first)
  }
}
