import CTAP2
import CTAPHID
import ControlProtocol
import EventLoop
import EventLoopTests
import Prompts
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import liquid_authenticator

/// The driver, between a host, a clock and an authenticator that the test controls.
struct CTAPHIDDriverTests {
  /// Collects the requests that reach the authenticator, for the test to answer.
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

    /// Returns the test's answer, or 2D when the request is withdrawn.
    var respond: CTAPHIDDriver.Responder {
      { kind, message, channel, times, origin in
        let (answers, answer) = AsyncStream.makeStream(of: [UInt8].self)
        self.incoming.yield(
          Call(
            kind: kind, message: message, channel: channel, times: times, status: origin.status,
            answer: { answer.yield($0) }))
        for await answer in answers { return answer }
        return [CTAPStatus.keepaliveCancel.rawValue]
      }
    }
  }

  /// The channels that were reported as closed, in order.
  final class Left: Sendable {
    private let withdrawn = Mutex<[(channel: ChannelID?, mayReturn: Bool)]>([])
    var all: [ChannelID?] { withdrawn.withLock { $0.map { $0.channel } } }
    /// Whether each client may return.
    var mayReturn: [Bool] { withdrawn.withLock { $0.map { $0.mayReturn } } }
    func add(_ channel: ChannelID?, _ mayReturn: Bool) { withdrawn.withLock { $0.append((channel, mayReturn)) } }
  }

  let clock = ManualClock()
  let transport = MemoryTransport()
  let router = RequestRouter()
  let left = Left()
  let lines = Lines()
  let key: CTAPHIDDriver

  init() throws {
    key = CTAPHIDDriver(
      transport: transport, clock: clock, loop: try EventLoop(),
      log: Log(isJournal: false, output: lines.add), withdraw: { [left] in left.add($0, $1) },
      respond: router.respond)
  }

  func openHost() async throws -> Host {
    try await key.attach()
    var host = Host(try #require(transport.link))
    #expect(await host.open() != nil)
    return host
  }

  @Test func `a status waits five seconds for the first attachment, then says that it goes on`() async throws {
    transport.gate.close()
    let beginning = Task { try await key.begin(beside: []) }
    let settling = Task { await key.settle() }
    for _ in 0..<250 {
      await clock.sleepers(1)
      clock.advance(by: .milliseconds(20))
    }
    await settling.value
    #expect(await key.problem == CTAPHIDDriver.stillAttaching)
    transport.gate.open()
    try await beginning.value
    await key.settle()
    #expect(await key.problem == nil)
    #expect(await key.isAttached)
    await key.detach()
    #expect(await key.problem == nil, "a command has a line of its own")
  }

  @Test(.limited) func `a device that is still being attached is detached at once`() async throws {
    transport.gate.close()
    let attaching = Task { try await key.begin(beside: []) }
    #expect(await eventually { transport.gate.count == 1 })
    await key.detach()
    _ = await attaching.result
    #expect(await !key.isAttached)
    #expect(await key.problem == nil)
    transport.gate.open()
    try await key.attach()
    #expect(await key.isAttached)
  }

  @Test func `a request reaches the authenticator with its channel, and the host gets the answer`() async throws {
    let start = clock.now
    clock.advance(by: .seconds(7))
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [4, 1, 2])
    let call = try #require(await calls.next())
    #expect(call.message == [4, 1, 2])
    #expect(call.channel == host.client.channel)
    #expect(call.times == CTAPHIDDriver.Times(pluggedInAt: clock.now, poweredUpAt: start))
    call.answer([0, 9])
    #expect(await host.event() == .response(.cbor, [0, 9]))
  }

  // Holds: HID-1
  @Test func `an idle device has no sleeping task`() async throws {
    var host = try await openHost()
    try host.ask(.ping, [1])
    #expect(await host.event() == .response(.ping, [1]))
    #expect(clock.sleeperCount == 0)
  }

  // Holds: HID-22
  @Test func `keepalives are sent while the authenticator works, and end with the answer`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let call = try #require(await calls.next())
    for _ in 0..<3 {
      await clock.sleepers(1)
      clock.advance(by: .milliseconds(80))
      #expect(await host.event() == .keepalive(.processing))
    }
    await call.status?.report(.upNeeded)
    #expect(await host.event() == .keepalive(.upNeeded))
    call.answer([0])
    #expect(await host.event() == .response(.cbor, [0]))
    // The last timer may still fire once; after that no keepalive is sent.
    clock.advance(by: .seconds(1))
    try host.ask(.ping, [2])
    #expect(await host.event() == .response(.ping, [2]))
    #expect(clock.sleeperCount == 0)
  }

  @Test func `an earlier timer takes the place of a later one`() async throws {
    let host = try await openHost()
    // The first report sets a timer for the rest of the message, the last one an earlier timer for KEEPALIVE.
    try host.ask(.cbor, [UInt8](repeating: 1, count: 200))
    await clock.sleeper(until: .milliseconds(80))
    #expect(clock.sleeperCount == 1)
  }

  // Holds: TIME-1
  @Test func `a request learns that another client was refused because of it; U2F has no status`() async throws {
    var host = try await openHost()
    var other = Host(host.link)
    #expect(await other.open() != nil)
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    let call = try #require(await calls.next())
    #expect(await call.status?.isAwaited() == false)
    try other.ask(.cbor, [4])
    while await call.status?.isAwaited() == false { await Task.yield() }
    call.answer([0])
    #expect(await host.event() == .response(.cbor, [0]))
    try host.ask(.msg, [0, 3, 0, 0])
    let message = try #require(await calls.next())
    let hasStatus = message.status != nil
    #expect(!hasStatus)
  }

  @Test func `an incomplete message times out on the device's clock`() async throws {
    var host = try await openHost()
    for report in try host.client.request(.ping, [UInt8](repeating: 1, count: 200)).dropLast() {
      host.link.events.send(.report(report))
    }
    await clock.sleepers(1)
    // The timer of the first report fires too early for the last one, and is set again.
    clock.advance(by: .milliseconds(500))
    #expect(await host.event() == .failed(.messageTimeout))
  }

  // Holds: HID-26
  @Test func `CANCEL cancels the request's task, and the client gets 2D`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    _ = try #require(await calls.next())
    host.cancel()
    #expect(await host.event() == .response(.cbor, [0x2D]))
  }

  // Holds: PERSON-2
  @Test func `a request whose client has left is withdrawn, and one on another channel goes on`() async throws {
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
    #expect(left.mayReturn == [true, true, true])
  }

  @Test func `CANCEL immediately after the request is not lost`() async throws {
    var host = try await openHost()
    try host.ask(.cbor, [1])
    host.cancel()
    #expect(await host.event() == .response(.cbor, [0x2D]))
  }

  @Test func `INIT on a busy channel withdraws the request, and its late answer is dropped`() async throws {
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

  @Test func `detach withdraws the request and ends the link; attach makes a new device`() async throws {
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    _ = try #require(await calls.next())
    await key.detach()
    #expect(host.link.isClosed)
    #expect(await host.event() == nil)
    #expect(await key.isAttached == false)
    #expect(left.all == [nil] && left.mayReturn == [false])

    try await key.attach()
    var again = Host(try #require(transport.link))
    again.client = host.client
    try again.ask(.ping, [1])
    #expect(await again.event() == .failed(.invalidChannel), "channels do not outlive the device")
    #expect(transport.attachments == 2)
  }

  @Test func `a late answer of the previous device does not reach the next one`() async throws {
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

  @Test func `the node and its access are logged, and remembered until the device is gone`() async throws {
    _ = try await openHost()
    while await key.node == nil { await Task.yield() }
    #expect(await key.node?.path == "/dev/null")
    #expect(lines.all.count == 1)
    #expect(lines.all.first?.hasPrefix("liquid-authenticator: the device is /dev/null, which root") == true)
    await key.detach()
    #expect(await key.node == nil)
  }

  @Test func `a second attach or detach changes nothing`() async throws {
    try await key.attach()
    try await key.attach()
    #expect(transport.attachments == 1)
    await key.detach()
    await key.detach()
    #expect(transport.link?.isClosed == true)
  }

  @Test(.limited)
  func `while a device is being removed, the driver serves others, and makes no other device`() async throws {
    try await key.attach()
    transport.keepsDevices.store(true, ordering: .relaxed)
    let detaching = Task { await key.detach() }
    while await key.isAttached { await Task.yield() }
    let attaching = Task { try await key.attach() }
    for _ in 0..<100 { #expect(await key.isAttached == false) }
    #expect(transport.attachments == 1 && transport.link?.isClosed == false)
    transport.keepsDevices.store(false, ordering: .relaxed)
    await detaching.value
    try await attaching.value
    #expect(transport.attachments == 2)
    #expect(await key.isAttached)
  }

  /// Begins an attachment, and returns once it waits for the transport.
  private func slowAttachment() async -> Task<Void, any Error> {
    transport.gate.close()
    let attaching = Task { try await key.begin(beside: []) }
    while transport.gate.count == 0 { await Task.yield() }
    return attaching
  }

  @Test func `a second attach waits for the device that is being made`() async throws {
    let first = await slowAttachment()
    let second = Task { try await key.attach() }
    #expect(await key.isAttached == false, "the driver serves others meanwhile")
    transport.gate.open()
    try await first.value
    try await second.value
    #expect(await key.isAttached)
    #expect(transport.attachments == 1)
  }

  @Test func `a device that must step aside while it is made is closed`() async throws {
    let attaching = await slowAttachment()
    let detaching = Task { await key.see([Self.other]) }
    while await key.steppedAsideFor == nil { await Task.yield() }
    transport.gate.open()
    try await attaching.value
    await detaching.value
    #expect(await key.isAttached == false)
    #expect(transport.link?.isClosed == true)
    await key.see([])
    #expect(await key.isAttached)
    #expect(transport.attachments == 2)
  }

  @Test func `all requests are withdrawn before a suspend, and the device stays`() async throws {
    await key.withdrawRequests()
    var host = try await openHost()
    var calls = router.calls.makeAsyncIterator()
    try host.ask(.cbor, [1])
    _ = try #require(await calls.next())
    await key.withdrawRequests()
    #expect(await host.event() == .response(.cbor, [0x2D]))
    #expect(await key.isAttached)
    while left.all.isEmpty { await Task.yield() }
    #expect(left.all == [nil] && left.mayReturn == [false], "dialogs between messages are withdrawn too")
  }

  static let other = OtherKey(node: "/dev/hidraw4", name: "Example Key", device: "0003:1209:0001.0004")
  static let second = OtherKey(node: "/dev/hidraw5", name: "", device: "0003:1209:0002.0005")

  @Test func `without another key the device is attached at once`() async throws {
    try await key.begin(beside: [])
    #expect(transport.attachments == 1)
    #expect(await key.steppedAsideFor == nil)
  }

  @Test func `with another key present at the start, the device is attached when that key is gone`() async throws {
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
  @Test func `only a start and the owner's power cycle count as power-up`() async throws {
    let start = clock.now
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
      clock.advance(by: .seconds(20))
      try await comes(key)
      let times = await key.times
      #expect(times == CTAPHIDDriver.Times(pluggedInAt: clock.now, poweredUpAt: start), "coming \(number)")
    }
    #expect(transport.attachments == 4)
    for _ in 0..<2 {
      clock.advance(by: .seconds(20))
      try await key.powerCycle()
      #expect(await key.times == CTAPHIDDriver.Times(pluggedInAt: clock.now, poweredUpAt: clock.now))
      await key.detach()
    }
    #expect(transport.attachments == 6)
  }

  @Test func `stepping aside closes the device, and coming back counts as plugging in`() async throws {
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

    clock.advance(by: .seconds(9))
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

  @Test func `a manual detach lasts, and a manual attach works beside another key`() async throws {
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

  @Test func `a transport that ends leaves the device detached`() async throws {
    let host = try await openHost()
    host.link.events.finish()
    // The link is closed on a thread of its own.
    while !host.link.isClosed { await Task.yield() }
    #expect(await key.isAttached == false)
    #expect(lines.all.contains { $0.contains("the device is gone: memory ended") })
  }
}
