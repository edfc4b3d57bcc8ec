import CTAPHID
import TestVectors
import Testing

/// A request while the authenticator handles it.
struct TransactionTests {
  @Test func `a CBOR message is dispatched when complete, without its padding`() throws {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 90 003b" + String(repeating: "aa", count: 57)) == [])
    guard case .dispatch(let request) = device.receive("0a0b0c01 00 bbcc").first else { throw Device.NotDispatched() }
    #expect(request.channel == ChannelID(rawValue: 0x0a0b_0c01))
    #expect(request.kind == .cbor)
    #expect(request.payload == [UInt8](repeating: 0xaa, count: 57) + [0xbb, 0xcc])
    #expect(device.machine.awaitsAnswer(to: request.transaction))
  }

  // Holds: HID-22, TIME-2
  @Test func `KEEPALIVE is sent at least every 100 ms while a request runs (CHK-009)`() throws {
    var device = Device.open()
    _ = try device.request()
    var last = device.now
    for _ in 0..<20 {
      let deadline = try #require(device.machine.deadline)
      #expect(last.duration(to: deadline) < .milliseconds(100))
      device.now = deadline
      #expect(device.tick() == sent("0a0b0c01 bb 0001 01"))
      last = deadline
    }
  }

  // Holds: HID-24
  @Test func `a change of status is sent at once, and no status twice`() throws {
    var device = Device.open()
    let transaction = try device.request()
    device.wait(.milliseconds(30))
    #expect(device.machine.setStatus(.upNeeded, of: transaction, at: device.now) == sent("0a0b0c01 bb 0001 02"))
    #expect(device.machine.setStatus(.upNeeded, of: transaction, at: device.now) == [])
    #expect(device.machine.deadline == device.now.advanced(by: CTAPHIDStateMachine.keepaliveInterval))
    device.wait(.milliseconds(99))
    #expect(device.tick() == sent("0a0b0c01 bb 0001 02"))
    #expect(device.machine.setStatus(.processing, of: transaction, at: device.now) == sent("0a0b0c01 bb 0001 01"))
  }

  // Holds: HID-23
  @Test func `a U2F request gets its answer and no KEEPALIVE, however long it takes`() throws {
    var device = Device.open(capabilities: [.wink, .cbor])
    // A REGISTER of 73 bytes, in two reports.
    #expect(device.receive("0a0b0c01 83 0049 00010300 00 0040" + String(repeating: "aa", count: 50)) == [])
    device.wait(.milliseconds(499))
    #expect(device.tick() == [])
    let actions = device.receive("0a0b0c01 00" + String(repeating: "bb", count: 14) + "0000")
    guard case .dispatch(let request) = actions.first, actions.count == 1 else { throw Device.NotDispatched() }
    #expect(request.kind == .msg)
    #expect(device.machine.deadline == nil, "nothing is due before the answer")
    for status in [KeepaliveStatus.upNeeded, .processing, .upNeeded] {
      #expect(device.machine.setStatus(status, of: request.transaction, at: device.now) == [])
      #expect(device.machine.deadline == nil)
      device.wait(.seconds(20))
      #expect(device.tick() == [])
    }
    #expect(device.receive("0a0b0c01 91 0000") == [], "nor has it a CANCEL")
    #expect(device.machine.awaitsAnswer(to: request.transaction))
    #expect(device.machine.respond([0x69, 0x85], to: request.transaction) == sent("0a0b0c01 83 0002 6985"))
    // The next CTAP2 request on the same channel gets KEEPALIVE again.
    let next = try device.request()
    #expect(device.machine.setStatus(.upNeeded, of: next, at: device.now) == sent("0a0b0c01 bb 0001 02"))
    device.wait(CTAPHIDStateMachine.keepaliveInterval)
    #expect(device.tick() == sent("0a0b0c01 bb 0001 02"))
  }

  @Test func `the answer ends the transaction`() throws {
    var device = Device.open()
    let transaction = try device.request()
    #expect(device.machine.respond([0, 0xa0], to: transaction) == sent("0a0b0c01 90 0002 00a0"))
    #expect(device.machine.deadline == nil)
    device.wait(.seconds(60))
    #expect(device.tick() == [])
    #expect(device.machine.respond([0, 0xa0], to: transaction) == [])
    #expect(device.machine.setStatus(.upNeeded, of: transaction, at: device.now) == [])
    #expect(!device.machine.awaitsAnswer(to: transaction))
  }

  // Holds: REPORT-10, HID-25
  @Test func `another channel is refused with 06 while a request runs`() throws {
    var device = Device.open(channels: 2)
    let transaction = try device.request()
    #expect(device.receive("0a0b0c02 90 0001 04") == refused(.channelBusy, on: "0a0b0c02"))
    #expect(device.receive("01020304 81 0001 04") == refused(.channelBusy, on: "01020304"))
    #expect(device.receive("0a0b0c01 81 0001 04") == refused(.channelBusy))
    #expect(device.receive("0a0b0c01 00") == [])
    #expect(device.machine.respond([0], to: transaction) == sent("0a0b0c01 90 0001 00"))
  }

  // Holds: TIME-1
  @Test(arguments: ["90", "83"])
  func `a request is awaited once another channel was refused with a request of its own`(command: String) throws {
    var device = Device.open(channels: 2, capabilities: [.wink, .cbor])
    let transaction = try device.request()
    // A PING, the same channel, one that nobody opened, and INIT.
    for other in ["0a0b0c02 81", "0a0b0c01 \(command)", "01020304 \(command)"] {
      let answer = device.receive("\(other) 0001 04")
      #expect(!answer.isEmpty)
    }
    _ = device.receive("ffffffff 86 0008 0001020304050607")
    #expect(!device.machine.isAwaited(transaction))
    #expect(device.receive("0a0b0c02 \(command) 0001 04") == refused(.channelBusy, on: "0a0b0c02"))
    #expect(device.machine.isAwaited(transaction))
    _ = device.machine.respond([0], to: transaction)
    let next = try device.request()
    #expect(!device.machine.isAwaited(transaction) && !device.machine.isAwaited(next))
  }

  // Holds: HID-26
  @Test func `CANCEL has no answer of its own, and cancels once (CHK-010, 015)`() throws {
    var device = Device.open()
    let transaction = try device.request()
    #expect(device.receive("0a0b0c01 91 0000") == [.cancel(transaction)])
    #expect(device.receive("0a0b0c01 91 0000") == [])
    #expect(device.machine.awaitsAnswer(to: transaction))
    #expect(device.machine.respond([0x2d], to: transaction) == sent("0a0b0c01 90 0001 2d"))
    #expect(device.receive("0a0b0c01 91 0000") == [])
  }

  // Holds: HID-27
  @Test func `CANCEL on another channel, or with nothing to cancel, is ignored`() throws {
    var device = Device.open(channels: 2)
    #expect(device.receive("0a0b0c01 91 0000") == [])
    #expect(device.receive("01020304 91 0000") == [])
    #expect(device.receive("00000000 91 0000") == [])
    let transaction = try device.request()
    #expect(device.receive("0a0b0c02 91 0000") == [])
    #expect(device.receive("ffffffff 91 0000") == [])
    #expect(device.receive("0a0b0c01 91 0000") == [.cancel(transaction)])
  }

  @Test func `a CANCEL applies to its own request only`() throws {
    var device = Device.open()
    let first = try device.request()
    #expect(device.receive("0a0b0c01 91 0000") == [.cancel(first)])
    _ = device.machine.respond([0x2d], to: first)
    let second = try device.request()
    #expect(device.receive("0a0b0c01 91 0000") == [.cancel(second)])
  }

  @Test func `an answer too long for the transport becomes ERROR 7F`() throws {
    var device = Device.open()
    let transaction = try device.request()
    #expect(device.machine.respond([UInt8](repeating: 0, count: 7610), to: transaction) == refused(.other))
    #expect(device.machine.deadline == nil)
  }

  @Test func `a long answer is split into numbered reports`() throws {
    var device = Device.open()
    let transaction = try device.request()
    let sent = reports(device.machine.respond([UInt8](repeating: 3, count: 1800), to: transaction))
    #expect(sent.count == 31)
    #expect(sent.map { $0.bytes[4] } == [0x90] + (0..<30))
  }
}
