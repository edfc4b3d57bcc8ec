import CTAP2
import CTAPHID
import Synchronization
import Testing

@testable import liquid_authenticator

/// The key between a host, a clock and an authenticator that are all in the test's hand.
struct CTAPHIDDriverTests {
  /// Requests as they reach the authenticator, each answered when the test says so.
  final class RequestRouter: Sendable {
    struct Call: Sendable {
      let kind: CTAPHIDStateMachine.Request.Kind
      let message: [UInt8]
      let channel: ChannelID
      let times: CTAPHIDDriver.Times
      let status: RequestStatus?
      let answer: @Sendable ([UInt8]) -> Void
    }

    let calls: AsyncStream<Call>
    private let incoming: AsyncStream<Call>.Continuation

    init() { (calls, incoming) = AsyncStream.makeStream(of: Call.self) }

    /// Answers with what the test says, or with 2D when the request is withdrawn.
    var respond: CTAPHIDDriver.Responder {
      { kind, message, channel, times in
        let (answers, answer) = AsyncStream.makeStream(of: [UInt8].self)
        self.incoming.yield(
          Call(
            kind: kind, message: message, channel: channel, times: times, status: RequestStatus.current,
            answer: { answer.yield($0) }))
        for await answer in answers { return answer }
        return [CTAPStatus.keepaliveCancel.rawValue]
      }
    }
  }

  /// The channels whose clients were said to be gone, in order.
  final class Left: Sendable {
    private let channels = Mutex<[ChannelID?]>([])
    var all: [ChannelID?] { channels.withLock { $0 } }
    func add(_ channel: ChannelID?) { channels.withLock { $0.append(channel) } }
  }

  let timepiece = ManualTimepiece()
  let transport = MemoryTransport()
  let router = RequestRouter()
  let left = Left()
  let lines = Lines()
  let key: CTAPHIDDriver

  init() throws {
    key = CTAPHIDDriver(
      transport: transport, timepiece: timepiece, loop: try EventLoop(),
      log: Log(isJournal: false, output: lines.add), withdraw: { [left] channel in left.add(channel) },
      respond: router.respond)
  }

  func openHost() async throws -> Host {
    try await key.attach()
    var host = Host(try #require(transport.link))
    #expect(await host.open() != nil)
    return host
  }

  @Test func `a request reaches the authenticator with its channel, and its answer the host`() async throws {
    let start = timepiece.now
    timepiece.advance(by: .seconds(7))
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [4, 1, 2])
    let call = try #require(await calls.next())
    #expect(call.message == [4, 1, 2])
    #expect(call.channel == host.client.channel)
    #expect(call.times == CTAPHIDDriver.Times(pluggedInAt: timepiece.now, poweredUpAt: start))
    call.answer([0, 9])
    #expect(await host.event() == .response(.cbor, [0, 9]))
  }

  // Holds: HID-1
  @Test func `nothing sleeps while nothing is under way`() async throws {
    var host = try await openHost()
    try host.ask(.ping, [1])
    #expect(await host.event() == .response(.ping, [1]))
    #expect(timepiece.sleeperCount == 0)
  }

  // Holds: HID-22
  @Test func `keepalives go on while the authenticator works, and end with the answer`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let call = try #require(await calls.next())
    for _ in 0..<3 {
      await timepiece.sleepers(1)
      timepiece.advance(by: .milliseconds(80))
      #expect(await host.event() == .keepalive(.processing))
    }
    await call.status?.report(.upNeeded)
    #expect(await host.event() == .keepalive(.upNeeded))
    call.answer([0])
    #expect(await host.event() == .response(.cbor, [0]))
    // The last alarm may still ring once; then nothing does.
    timepiece.advance(by: .seconds(1))
    try host.ask(.ping, [2])
    #expect(await host.event() == .response(.ping, [2]))
    #expect(timepiece.sleeperCount == 0)
  }

  @Test func `a half message times out on the key's clock`() async throws {
    var host = try await openHost()
    for report in try host.client.request(.ping, [UInt8](repeating: 1, count: 200)).dropLast() {
      host.link.events.send(.report(report))
    }
    await timepiece.sleepers(1)
    // The alarm of the first report rings too early for the last one: it is set anew.
    timepiece.advance(by: .milliseconds(500))
    #expect(await host.event() == .failed(.messageTimeout))
  }

  // Holds: HID-26
  @Test func `CANCEL cancels the request's task, and the client hears 2D`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    _ = try #require(await calls.next())
    host.cancel()
    #expect(await host.event() == .response(.cbor, [0x2D]))
  }

  // Holds: PERSON-2
  @Test func `a request whose client has left is withdrawn, and that of another channel is not`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let first = try #require(await calls.next())
    host.link.events.send(.left(.broadcast))
    try host.ask(.cbor, [9])
    #expect(await host.event() == .failed(.channelBusy), "the first goes on")
    first.answer([0, 1])
    #expect(await host.event() == .response(.cbor, [0, 1]))

    for channel in [host.client.channel, nil] {
      try host.ask(.cbor, [1])
      _ = try #require(await calls.next())
      host.link.events.send(.left(channel))
      #expect(await host.event() == .response(.cbor, [0x2D]))
    }
    while left.all.count < 3 { await Task.yield() }
    #expect(left.all == [.broadcast, host.client.channel, nil], "what stays open between messages goes with them")
  }

  @Test func `CANCEL right behind the request is not lost`() async throws {
    var host = try await openHost()
    try host.ask(.cbor, [1])
    host.cancel()
    #expect(await host.event() == .response(.cbor, [0x2D]))
  }

  @Test func `INIT on a busy channel withdraws the request, and its late answer reaches nobody`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let first = try #require(await calls.next())
    #expect(await host.open() != nil)
    try host.ask(.cbor, [2])
    let second = try #require(await calls.next())
    first.answer([0, 1])
    second.answer([0, 2])
    #expect(await host.event() == .response(.cbor, [0, 2]))
  }

  @Test func `detach withdraws the request and ends the link; attach is a new device`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    _ = try #require(await calls.next())
    await key.detach()
    #expect(host.link.isClosed)
    #expect(await host.event() == nil)
    #expect(await key.isAttached == false)
    #expect(left.all == [nil])

    try await key.attach()
    var again = Host(try #require(transport.link))
    again.client = host.client
    try again.ask(.ping, [1])
    #expect(await again.event() == .failed(.invalidChannel), "channels do not outlive the device")
    #expect(transport.attachments == 2)
  }

  @Test func `a late answer of the device before does not reach the one after`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let old = try #require(await calls.next())
    old.answer([0, 1])
    try await key.replug()
    var again = Host(try #require(transport.link))
    #expect(await again.open() != nil)
    try again.ask(.cbor, [2])
    let new = try #require(await calls.next())
    await old.status?.report(.upNeeded)
    old.answer([0, 1])
    new.answer([0, 2])
    #expect(await again.event() == .response(.cbor, [0, 2]))
    _ = await host.event()
  }

  @Test func `where the device is, and who may open it, is said and remembered until it is gone`() async throws {
    _ = try await openHost()
    while await key.node == nil { await Task.yield() }
    #expect(await key.node?.path == "/dev/null")
    #expect(lines.all.count == 1)
    #expect(lines.all.first?.hasPrefix("liquid-authenticator: the device is /dev/null, which root") == true)
    await key.detach()
    #expect(await key.node == nil)
  }

  @Test func `attach and detach may be said twice`() async throws {
    try await key.attach()
    try await key.attach()
    #expect(transport.attachments == 1)
    await key.detach()
    await key.detach()
    #expect(transport.link?.isClosed == true)
  }

  static let other = OtherKey(node: "/dev/hidraw4", name: "Example Key")
  static let second = OtherKey(node: "/dev/hidraw5", name: "")

  @Test func `beside no other key it begins at once`() async throws {
    try await key.begin(beside: [])
    #expect(transport.attachments == 1)
    #expect(await key.steppedAsideFor == nil)
  }

  @Test func `it begins when the other key, which was there before, is gone`() async throws {
    try await key.begin(beside: [Self.other])
    #expect(transport.attachments == 0)
    #expect(await key.steppedAsideFor == Self.other)
    #expect(
      lines.all.map { $0.contains("is detached while another security key is plugged in, /dev/hidraw4 Example Key") }
        == [true])
    await key.see([])
    #expect(transport.attachments == 1)
    #expect(await key.isAttached)
  }

  // Holds: PERSON-9
  @Test func `only a start and the owner's power cycle power it up`() async throws {
    let start = timepiece.now
    try await key.begin(beside: [Self.other])
    #expect(await key.times == CTAPHIDDriver.Times(pluggedInAt: Instant(nanoseconds: 0), poweredUpAt: start))
    let comings: [@Sendable (CTAPHIDDriver) async throws -> Void] = [
      { await $0.see([]) },
      {
        await $0.see([Self.other])
        await $0.see([])
      },
      { try await $0.replug() },
      {
        await $0.detach()
        try await $0.attach()
      },
    ]
    for (number, comes) in comings.enumerated() {
      timepiece.advance(by: .seconds(20))
      try await comes(key)
      let times = await key.times
      #expect(times == CTAPHIDDriver.Times(pluggedInAt: timepiece.now, poweredUpAt: start), "coming \(number)")
    }
    #expect(transport.attachments == 4)
    for _ in 0..<2 {
      timepiece.advance(by: .seconds(20))
      try await key.powerCycle()
      #expect(await key.times == CTAPHIDDriver.Times(pluggedInAt: timepiece.now, poweredUpAt: timepiece.now))
      await key.detach()
    }
    #expect(transport.attachments == 6)
  }

  @Test func `it steps aside as if pulled out, and comes back as when plugged in`() async throws {
    try await key.begin(beside: [])
    var host = Host(try #require(transport.link))
    #expect(await host.open() != nil)
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let first = try #require(await calls.next())

    await key.see([Self.other])
    #expect(host.link.isClosed, "the request is withdrawn with it")
    #expect(await key.isAttached == false)
    await key.see([Self.other, Self.second])
    await key.see([Self.second])
    #expect(await key.steppedAsideFor == Self.second)

    timepiece.advance(by: .seconds(9))
    await key.see([])
    #expect(transport.attachments == 2)
    var again = Host(try #require(transport.link))
    #expect(await again.open() != nil)
    try again.ask(.cbor, [1])
    let second = try #require(await calls.next())
    #expect(first.times.pluggedInAt.duration(to: second.times.pluggedInAt) == .seconds(9))
    #expect(first.times.poweredUpAt == second.times.poweredUpAt)
    second.answer([0])
    #expect(await again.event() == .response(.cbor, [0]))
    let said = lines.all.filter { !$0.contains("the device is /dev/null") }
    #expect(said.count == 2, "one line when it goes, one when it comes: \(said)")
    #expect(said.last?.contains("is attached again") == true)
  }

  @Test func `pulled out by hand it stays out, and plugged in by hand it is beside the other`() async throws {
    try await key.begin(beside: [])
    await key.detach()
    await key.see([Self.other])
    await key.see([])
    #expect(await key.isAttached == false)
    await key.see([Self.other])
    try await key.attach()
    #expect(await key.isAttached)
    await key.see([Self.other, Self.second])
    #expect(await key.isAttached)
    #expect(await key.steppedAsideFor == nil)
    #expect(transport.attachments == 2)
  }

  @Test func `a transport that ends leaves the key unplugged`() async throws {
    let host = try await openHost()
    host.link.events.finish()
    while await key.isAttached { await Task.yield() }
    #expect(host.link.isClosed)
    #expect(lines.all.contains { $0.contains("the device is gone: memory ended") })
  }
}
