import CTAPHID
import TestVectors
import Testing

/// PING, WINK and unsupported commands, of which LOCK is one.
struct CommandTests {
  // Holds: HID-10
  @Test(arguments: [0, 1, 57, 58, 116, 1024, 7608, 7609])
  func `PING echoes every length, with leading zeros (CHK-005, 006, 008)`(length: Int) throws {
    var device = Device.open()
    let payload = [0, 0, 0].prefix(length) + (3..<max(3, length)).map { UInt8(truncatingIfNeeded: $0) }
    let ping = CTAPHIDMessage(
      channel: ChannelID(rawValue: 0x0a0b_0c01), command: .ping, payload: Array(payload))
    #expect(try device.receive(ping) == ping.reports().map { .send($0) })
    #expect(device.machine.deadline == nil)
  }

  // Holds: REPORT-8, HID-16
  @Test(arguments: ["82", "85", "87", "89", "92", "e6", "ff", "86".replacing("8", with: "c")])
  func `an unknown command is refused with 01 (CHK-016)`(command: String) {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 \(command) 0000") == refused(.invalidCommand))
    #expect(device.receive("0a0b0c01 \(command) 0123") == refused(.invalidCommand))
    #expect(device.machine.deadline == nil)
  }

  // Holds: HID-18
  @Test(arguments: ["bb", "bf"])
  func `KEEPALIVE and ERROR from a host are refused with 01`(command: String) {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 \(command) 0001 01") == refused(.invalidCommand))
  }

  // Holds: HID-17
  @Test(arguments: ["90", "83"])
  func `CBOR and MSG without payload are refused with 03, supported or not`(command: String) {
    for capabilities in [[.cbor], [.nmsg]] as [Capabilities] {
      var device = Device.open(capabilities: capabilities)
      #expect(device.receive("0a0b0c01 \(command) 0000") == refused(.invalidLength))
    }
  }

  // Holds: HID-4
  @Test func `MSG is refused with 01 if the NMSG capability is set`() {
    var device = Device.open(capabilities: [.cbor, .nmsg])
    #expect(device.receive("0a0b0c01 83 0001 00") == refused(.invalidCommand))
  }

  // Holds: HID-28
  @Test func `MSG is dispatched if the NMSG capability is absent, and answered as MSG`() throws {
    var device = Device.open(capabilities: [.cbor])
    guard case .dispatch(let request) = device.receive("0a0b0c01 83 0003 00030a").first else {
      throw Device.NotDispatched()
    }
    #expect(request.kind == .msg)
    #expect(request.payload == [0, 3, 10])
    #expect(device.receive("0a0b0c01 91 0000") == [], "CANCEL does not cancel a U2F message")
    #expect(device.machine.respond([0x90, 0], to: request.transaction) == sent("0a0b0c01 83 0002 9000"))
  }

  // Holds: HID-4
  @Test func `CBOR is refused with 01 if the capability is absent`() {
    var device = Device.open(capabilities: [.wink])
    #expect(device.receive("0a0b0c01 90 0001 04") == refused(.invalidCommand))
  }

  // Holds: HID-19
  @Test func `WINK is reported and answered empty if the capability is set (CHK-012)`() {
    var device = Device.open()
    #expect(device.receive("0a0b0c01 88 0000") == [.wink] + sent("0a0b0c01 88 0000"))
    #expect(device.receive("0a0b0c01 88 0001") == refused(.invalidLength))
  }

  // Holds: HID-4
  @Test func `WINK is refused with 01 if the capability is absent (CHK-012)`() {
    var device = Device.open(capabilities: [.cbor])
    #expect(device.receive("0a0b0c01 88 0000") == refused(.invalidCommand))
  }

  // Holds: HID-20
  @Test(arguments: ["0001 01", "0001 0a", "0001 00", "0001 0b", "0000", "0002 01"])
  func `LOCK is refused with 01, and keeps no channel out`(message: String) {
    var device = Device.open(channels: 2)
    #expect(device.receive("0a0b0c01 84 \(message)") == refused(.invalidCommand))
    #expect(device.receive("0a0b0c02 81 0001 aa") == sent("0a0b0c02 81 0001 aa"))
    #expect(device.receive("0a0b0c02 88 0000") == [.wink] + sent("0a0b0c02 88 0000"))
  }
}
