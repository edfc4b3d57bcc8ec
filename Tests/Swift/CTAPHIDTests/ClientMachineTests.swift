import CTAPHID
import TestVectors
import Testing

/// Machine against machine, and the client with reports of real devices.
struct ClientMachineTests {
  @Test func `a client opens a channel, sends a request and gets the answer`() throws {
    var device = Device()
    var client = ClientMachine()
    let opened = device.machine.receive(client.open(nonce: [8, 7, 6, 5, 4, 3, 2, 1]), at: device.now)
    let channel = ChannelID(rawValue: 0x0a0b_0c01)
    #expect(reports(opened).compactMap { client.receive($0) } == [.opened(channel, Device.identity)])
    #expect(client.channel == channel)

    let question = [UInt8](repeating: 4, count: 500)
    var transaction: CTAPHIDStateMachine.TransactionID?
    for report in try client.request(.cbor, question) {
      for case .dispatch(let request) in device.machine.receive(report, at: device.now) {
        #expect(request.payload == question)
        transaction = request.transaction
      }
    }
    let id = try #require(transaction)
    let status = device.machine.setStatus(.upNeeded, of: id, at: device.now)
    #expect(reports(status).compactMap { client.receive($0) } == [.keepalive(.upNeeded)])
    #expect(device.machine.receive(client.cancellation, at: device.now) == [.cancel(id)])
    let answer = [UInt8](repeating: 9, count: 700)
    let events = reports(device.machine.respond(answer, to: id)).compactMap { client.receive($0) }
    #expect(events == [.response(.cbor, answer)])
  }

  @Test func `a client ignores INIT answers to other clients`() {
    var device = Device()
    var client = ClientMachine()
    _ = client.open(nonce: [8, 7, 6, 5, 4, 3, 2, 1])
    let others = device.receive("ffffffff 86 0008 0102030405060708")
    #expect(reports(others).compactMap { client.receive($0) } == [])
    #expect(client.channel == .broadcast)
  }

  @Test func `a client reports an error, and ignores reports of other channels`() {
    var client = ClientMachine(channel: ChannelID(rawValue: 0x0a0b_0c01))
    #expect(client.receive(report("0a0b0c01 bf 0001 06")) == .failed(.channelBusy))
    #expect(client.receive(report("0a0b0c01 bf 0001 63")) == .failed(.other))
    #expect(client.receive(report("0a0b0c02 bf 0001 06")) == nil)
    #expect(client.receive(report("0a0b0c01 00")) == nil)
  }

  @Test func `a gap in an answer is a failure`() {
    var client = ClientMachine(channel: ChannelID(rawValue: 0x0a0b_0c01))
    #expect(client.receive(report("0a0b0c01 90 0200")) == nil)
    #expect(client.receive(report("0a0b0c01 00")) == nil)
    #expect(client.receive(report("0a0b0c01 02")) == .failed(.invalidSequence))
    #expect(client.receive(report("0a0b0c01 03")) == nil)
  }

  @Test(arguments: try DeviceReportReplayTests.replays())
  func `a client reads a real device's answers`(replay: Vector) throws {
    let channel = replay.messages[0].cid.bytes.reduce(0) { $0 << 8 | UInt32($1) }
    var client = ClientMachine(channel: ChannelID(rawValue: channel))
    _ = client.open(nonce: [0x80, 0x43, 0x56, 0x40, 0xb1, 0x4e, 0xd9, 0x2d])
    let events = try replay.frames.array.compactMap { client.receive(try #require(Report($0.bytes))) }
    let expected: [ClientMachine.Event] = replay.messages.array.map { message in
      switch message.cmd.integer(UInt8.self) {
      case 0x06:
        .opened(
          ChannelID(rawValue: 0x0022_0002),
          DeviceIdentity(major: 5, minor: 2, build: 1, capabilities: [.wink, .cbor]))
      case 0x3b: .keepalive(.upNeeded)
      default: .response(CTAPHIDCommand(rawValue: message.cmd.integer()), message.payload.bytes)
      }
    }
    // One recording is spliced: its continuation reports are on another channel, so this client ignores them.
    #expect(events == ("\(replay)".hasSuffix(".WIREDATA_CTAP_CBOR_ASSERT") ? [] : expected))
  }
}
