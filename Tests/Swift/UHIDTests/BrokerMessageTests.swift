import Testing

@testable import UHID

struct BrokerMessageTests {
  @Test func `each message has its bytes`() {
    #expect(BrokerMessage.ready.bytes == [1])
    #expect(BrokerMessage.closed.bytes == [2])
    #expect(BrokerMessage.refused("no").bytes == [0, 0x6E, 0x6F])
    for message in [BrokerMessage.ready, .closed, .refused(""), .refused("a reason")] {
      #expect(BrokerMessage(message.bytes) == message)
    }
  }

  @Test func `a long reason is cut to the largest packet`() {
    let bytes = BrokerMessage.refused(String(repeating: "x", count: 600)).bytes
    #expect(bytes.count == 512)
    #expect(BrokerMessage(bytes) == .refused(String(repeating: "x", count: 511)))
  }

  @Test(arguments: [[], [3], [1, 0], [2, 2], [UInt8](repeating: 0, count: 513)])
  func `any other packet is no message`(bytes: [UInt8]) {
    #expect(BrokerMessage(bytes) == nil)
  }
}
