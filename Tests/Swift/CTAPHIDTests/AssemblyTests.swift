import CTAPHID
import TestVectors
import Testing

/// Incomplete messages: order, other channels, time.
struct AssemblyTests {
  let half = "0a0b0c01 81 003b" + String(repeating: "aa", count: 57)

  // Holds: REPORT-2, HID-1
  @Test func `a stray continuation gets no answer (CHK-001, 002)`() {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 00") == [])
    #expect(device.receive("0a0b0c09 05") == [])
    #expect(device.receive("00000000 00") == [])
    #expect(device.receive("ffffffff 00") == [])
    device.wait(.seconds(60))
    #expect(device.tick() == [])
    #expect(device.machine.deadline == nil)
  }

  // Holds: REPORT-4, HID-12
  @Test func `an initialization packet within a message is refused with 04, and drops the message`() {
    var device = Device.open()
    #expect(device.receive(half) == [])
    #expect(device.receive("0a0b0c01 81 0001 aa") == refused(.invalidSequence))
    #expect(device.machine.deadline == nil)
    #expect(device.receive("0a0b0c01 00") == [])
    #expect(device.receive("0a0b0c01 81 0001 aa") == sent("0a0b0c01 81 0001 aa"))
  }

  // Holds: REPORT-3, HID-13
  @Test(arguments: ["01", "02", "7f"])
  func `a packet out of sequence is refused with 04, and drops the message (CHK-019)`(sequence: String) {
    var device = Device.open()
    #expect(device.receive(half) == [])
    #expect(device.receive("0a0b0c01 \(sequence) aa") == refused(.invalidSequence))
    #expect(device.receive("0a0b0c01 00 aa") == [])
    #expect(device.receive("0a0b0c01 81 0001 aa") == sent("0a0b0c01 81 0001 aa"))
  }

  // Holds: REPORT-3, HID-13
  @Test func `a repeated packet is refused with 04`() {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 81 0200" + String(repeating: "aa", count: 57)) == [])
    #expect(device.receive("0a0b0c01 00 aa") == [])
    #expect(device.receive("0a0b0c01 00 aa") == refused(.invalidSequence))
  }

  // Holds: HID-14
  @Test(arguments: ["81", "83", "84", "88", "90", "bb", "bf", "e6"])
  func `another channel is refused with 06 during an incomplete message, which continues`(command: String) {
    var device = Device.open(channels: 2)
    #expect(device.receive(half) == [])
    #expect(device.receive("0a0b0c02 \(command) 0001") == refused(.channelBusy, on: "0a0b0c02"))
    // The busy check comes before allocation. A continuation on another channel is a stray one.
    #expect(device.receive("01020304 \(command) 0001") == refused(.channelBusy, on: "01020304"))
    #expect(device.receive("0a0b0c02 00 11") == [])
    #expect(
      device.receive("0a0b0c01 00 bbcc")
        == sent("0a0b0c01 81 003b" + String(repeating: "aa", count: 57)) + sent("0a0b0c01 00 bbcc"))
  }

  // Holds: REPORT-5, HID-15, TIME-3
  @Test func `an incomplete message ends with 05 after 500 ms without a report`() {
    var device = Device.open()
    #expect(device.receive(half) == [])
    #expect(device.machine.deadline == Instant(nanoseconds: 500_000_000))
    device.wait(.milliseconds(499))
    #expect(device.tick() == [])
    device.wait(.milliseconds(1))
    #expect(device.tick() == refused(.messageTimeout))
    #expect(device.machine.deadline == nil)
    #expect(device.tick() == [])
  }

  // Holds: TIME-3
  @Test func `every report extends the timeout by 500 ms`() {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 81 0200" + String(repeating: "aa", count: 57)) == [])
    for sequence in 0..<7 {
      device.wait(.milliseconds(499))
      #expect(device.receive("0a0b0c01 0\(sequence)").isEmpty)
    }
    device.wait(.milliseconds(499))
    #expect(reports(device.receive("0a0b0c01 07")).count == 9)
  }

  @Test func `a report after the timeout finds the message dropped`() {
    var device = Device.open()
    #expect(device.receive(half) == [])
    device.wait(.seconds(1))
    #expect(device.receive("0a0b0c01 00 bbcc") == refused(.messageTimeout))
    #expect(device.receive("0a0b0c01 81 0001 aa") == sent("0a0b0c01 81 0001 aa"))
  }

  // Holds: REPORT-6, HID-11
  @Test(arguments: ["81", "83", "90"])
  func `a length above 7609 is refused with 03`(command: String) {
    var device = Device.open(capabilities: [.wink, .cbor])
    #expect(device.receive("0a0b0c01 \(command) 1dba") == refused(.invalidLength))
    #expect(device.receive("0a0b0c01 \(command) ffff") == refused(.invalidLength))
    #expect(device.receive("0a0b0c01 00") == [])
  }

  @Test func `CANCEL within an incomplete message has no answer, and the message continues`() {
    var device = Device.open()
    #expect(device.receive(half) == [])
    #expect(device.receive("0a0b0c01 91 0000") == [])
    #expect(reports(device.receive("0a0b0c01 00 bbcc")).count == 2)
  }
}
