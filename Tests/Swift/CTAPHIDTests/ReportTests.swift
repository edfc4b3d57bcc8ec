import CTAPHID
import TestVectors
import Testing

struct ReportTests {
  // Holds: HID-29
  @Test(arguments: [0, 1, 63, 65, 128])
  func `a report has exactly 64 bytes`(count: Int) {
    #expect(Report([UInt8](repeating: 0, count: count)) == nil)
    #expect(Report([UInt8](repeating: 0, count: 64)) != nil)
  }

  // Holds: HID-29
  @Test func `an initialization packet is channel, command, length and payload, padded with zeros`() {
    let packet = Packet.initialization(.cbor, length: 0x0123, payload: [0xaa, 0xbb])
    let written = Report(channel: ChannelID(rawValue: 0x0102_0304), packet: packet)
    #expect(Hex(written.bytes) == Hex("01020304" + "90" + "0123" + "aabb" + String(repeating: "00", count: 55)))
    #expect(written.channel == ChannelID(rawValue: 0x0102_0304))
    #expect(written.packet == .initialization(.cbor, length: 0x0123, payload: written.bytes[7...]))
  }

  @Test func `a continuation packet is channel, sequence and payload`() {
    let written = Report(
      channel: .broadcast, packet: .continuation(sequence: 127, payload: [UInt8](repeating: 9, count: 59)[...]))
    #expect(Hex(written.bytes) == Hex("ffffffff" + "7f" + String(repeating: "09", count: 59)))
    #expect(written.packet == .continuation(sequence: 127, payload: written.bytes[5...]))
  }

  @Test func `a payload that is too long does not make a report longer`() {
    let written = Report(
      channel: .broadcast, packet: .initialization(.ping, length: 99, payload: [UInt8](repeating: 7, count: 99)[...]))
    #expect(written.bytes.count == 64)
  }

  @Test func `a channel id is printed as eight digits`() {
    #expect(ChannelID(rawValue: 0x00ab_cdef).description == "00abcdef")
  }

  @Test func `an instant saturates at its maximum`() {
    #expect(Instant(nanoseconds: .max).advanced(by: .seconds(1)) == Instant(nanoseconds: .max))
    #expect(Instant(nanoseconds: 5).advanced(by: .milliseconds(80)) == Instant(nanoseconds: 80_000_005))
    #expect(Instant(nanoseconds: 5).advanced(by: .seconds(Int64.max)) == Instant(nanoseconds: .max))
    #expect(Instant(nanoseconds: 1).duration(to: Instant(nanoseconds: 3)) == .nanoseconds(2))
  }
}
