import CTAPHID
import TestVectors
import Testing

/// INIT and the channels.
///
/// The numbers in brackets are those of the FIDO Alliance's test cases.
struct AllocationTests {
  // Holds: HID-2
  @Test func `INIT on the broadcast channel allocates a channel (CHK-003, 004)`() {
    var device = Device()
    #expect(
      device.receive("ffffffff 86 0008 1122334455667788")
        == sent("ffffffff 86 0011 1122334455667788 0a0b0c01 02 010203 0d"))
    #expect(
      device.receive("ffffffff 86 0008 1122334455667788")
        == sent("ffffffff 86 0011 1122334455667788 0a0b0c02 02 010203 0d"))
    #expect(device.machine.deadline == nil)
  }

  // Holds: REPORT-7, HID-5
  @Test(arguments: ["0000", "0007", "0009", "0011", "1dba", "ffff"])
  func `INIT with a payload other than 8 bytes is refused with 03`(length: String) {
    var device = Device()
    #expect(device.receive("ffffffff 86 \(length)") == refused(.invalidLength, on: "ffffffff"))
    #expect(device.machine.deadline == nil)
  }

  // Holds: HID-6
  @Test func `INIT on an allocated channel echoes the channel`() {
    var device = Device.open()
    #expect(
      device.receive("0a0b0c01 86 0008 0102030405060708")
        == sent("0a0b0c01 86 0011 0102030405060708 0a0b0c01 02 010203 0d"))
  }

  // Holds: HID-6
  @Test func `INIT on an allocated channel drops its incomplete message (CHK-007)`() throws {
    var device = Device.open()
    let ping = CTAPHIDMessage(
      channel: ChannelID(rawValue: 0x0a0b_0c01), command: .ping, payload: [UInt8](repeating: 5, count: 512))
    for report in try ping.reports().dropLast() { #expect(device.machine.receive(report, at: device.now) == []) }
    #expect(
      device.receive("0a0b0c01 86 0008 0102030405060708")
        == sent("0a0b0c01 86 0011 0102030405060708 0a0b0c01 02 010203 0d"))
    #expect(device.machine.deadline == nil)
    #expect(reports(try device.receive(ping)) == (try ping.reports()))
  }

  // Holds: HID-6
  @Test func `INIT on a busy channel cancels its request, and drops the late answer`() throws {
    var device = Device.open()
    let transaction = try device.request()
    #expect(
      device.receive("0a0b0c01 86 0008 0102030405060708")
        == [.cancel(transaction)] + sent("0a0b0c01 86 0011 0102030405060708 0a0b0c01 02 010203 0d"))
    #expect(!device.machine.awaitsAnswer(to: transaction))
    let next = try device.request()
    #expect(next != transaction)
    #expect(device.machine.respond([0], to: transaction) == [])
    #expect(device.machine.setStatus(.upNeeded, of: transaction, at: device.now) == [])
    #expect(device.machine.respond([0], to: next) == sent("0a0b0c01 90 0001 00"))
  }

  // Holds: HID-7
  @Test func `INIT on channel 0 is refused with 0B (CHK-017)`() {
    var device = Device()
    #expect(device.receive("00000000 86 0008 0102030405060708") == refused(.invalidChannel, on: "00000000"))
  }

  // Holds: REPORT-9, HID-8
  @Test(arguments: ["81", "83", "84", "88", "90", "bb", "bf", "e6"], ["00000000", "ffffffff"])
  func `anything but INIT on channel 0 or broadcast is refused with 0B (CHK-018)`(command: String, channel: String) {
    var device = Device()
    #expect(device.receive("\(channel) \(command) 0008") == refused(.invalidChannel, on: channel))
  }

  // Holds: REPORT-9, HID-8
  @Test func `a channel that was never allocated is refused with 0B`() {
    var device = Device.open()
    #expect(device.receive("0a0b0c02 81 0000") == refused(.invalidChannel, on: "0a0b0c02"))
    #expect(device.receive("0a0b0c00 81 0000") == refused(.invalidChannel, on: "0a0b0c00"))
  }

  // Holds: HID-9
  @Test func `INIT on a channel that was never allocated opens it`() {
    var device = Device()
    #expect(
      device.receive("11223344 86 0008 0102030405060708")
        == sent("11223344 86 0011 0102030405060708 11223344 02 010203 0d"))
    #expect(device.receive("11223344 81 0001 77") == sent("11223344 81 0001 77"))
  }

  // Holds: HID-14
  @Test func `INIT on another channel does not disturb an incomplete message`() {
    var device = Device.open(channels: 2)
    #expect(device.receive("0a0b0c01 81 003b" + String(repeating: "aa", count: 57)) == [])
    #expect(
      device.receive("0a0b0c02 86 0008 0102030405060708")
        == sent("0a0b0c02 86 0011 0102030405060708 0a0b0c02 02 010203 0d"))
    #expect(
      device.receive("ffffffff 86 0008 0102030405060708")
        == sent("ffffffff 86 0011 0102030405060708 0a0b0c03 02 010203 0d"))
    #expect(reports(device.receive("0a0b0c01 00 bbcc")).count == 2)
  }

  // Holds: HID-3
  @Test func `channel ids are unique, and never 0 or broadcast, when the counter wraps`() throws {
    var device = Device(firstChannel: 0xffff_fffd)
    // A client uses an id that the counter has not reached yet.
    _ = device.receive("00000001 86 0008 0102030405060708")
    var client = ClientMachine()
    var given: Set<ChannelID> = []
    for _ in 0..<5 {
      client = ClientMachine()
      for report in reports(device.machine.receive(client.open(nonce: [1, 2, 3, 4, 5, 6, 7, 8]), at: device.now)) {
        _ = client.receive(report)
      }
      given.insert(client.channel)
    }
    #expect(given == Set([0xffff_fffd, 0xffff_fffe, 2, 3, 4].map(ChannelID.init)))
  }

  // Holds: REPORT-11
  @Test func `the machine does not grow from 1 to 100,000 channels`() {
    var device = Device.open()
    for number in 0..<100_000 {
      _ = device.receive("ffffffff 86 0008 0102030405060708")
      if number < 1000 {
        _ = device.machine.receive(
          Report(
            channel: ChannelID(rawValue: 0x7000_0000 + UInt32(number)),
            packet: .initialization(.initialize, length: 8, payload: [1, 2, 3, 4, 5, 6, 7, 8])), at: device.now)
      }
    }
    // Allocated channels stay. Of the channels that clients chose, the last eight stay.
    #expect(device.receive("0a0b0c01 81 0001 01") == sent("0a0b0c01 81 0001 01"))
    #expect(device.receive("700003e7 81 0001 01") == sent("700003e7 81 0001 01"))
    #expect(device.receive("700003e0 81 0001 01") == sent("700003e0 81 0001 01"))
    #expect(device.receive("700003df 81 0001 01") == refused(.invalidChannel, on: "700003df"))
  }
}
