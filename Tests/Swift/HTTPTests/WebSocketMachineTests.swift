import HTTP
import Testing

/// Tests of RFC 6455 §5 to §8.
struct WebSocketMachineTests {
  typealias Action = WebSocketMachine.Action
  typealias Fault = WebSocketMachine.Fault

  /// Counts, so that masks are known.
  private struct Counter: RandomNumberGenerator {
    var last: UInt64 = 0
    mutating func next() -> UInt64 {
      last += 1
      return 0x0403_0200 + last
    }
  }

  private static func client(_ maximum: Int = 8) -> WebSocketMachine {
    WebSocketMachine(client: maximum, randomness: Counter())
  }

  /// A frame as a server sends it; as a client does with a mask.
  private static func frame(_ head: UInt8, _ payload: [UInt8] = [], mask: [UInt8]? = nil) -> [UInt8] {
    let bit: UInt8 = mask == nil ? 0 : 0x80
    let count = payload.count
    let length: [UInt8] =
      switch count {
      case ...125: [bit | UInt8(count)]
      case ...0xFFFF: [bit | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
      default: [bit | 127] + [56, 48, 40, 32, 24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
      }
    guard let mask else { return [head] + length + payload }
    return [head] + length + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
  }

  /// A masked frame with a payload of up to 125 bytes, read back.
  private static func plain(_ bytes: [UInt8]) -> [UInt8] {
    let mask = bytes[2..<6]
    return [bytes[0], bytes[1] & 0x7F] + bytes.dropFirst(6).enumerated().map { $1 ^ mask[2 + $0 % 4] }
  }

  @Test func `a socket for binary messages sends each in one frame, joins fragments, and refuses text`() {
    func client() -> WebSocketMachine { WebSocketMachine(client: 8, content: .binary, randomness: Counter()) }
    var socket = client()
    #expect(Self.plain(socket.send([0xFF, 0x00])) == [0x82, 2, 0xFF, 0x00])
    #expect(socket.receive(Self.frame(0x82, [0xFF])) == [.binary([0xFF])])
    #expect(socket.receive(Self.frame(0x02, [1]) + Self.frame(0x80, [2])) == [.binary([1, 2])])
    #expect(socket.receive(Self.frame(0x82)) == [.binary([])])
    #expect(Self.closing(socket.receive(Self.frame(0x81, [0x61]))) == 1003)
    #expect(socket.fault == .notBinary)
    #expect(socket.send([1]).isEmpty)
    var other = client()
    #expect(Self.closing(other.receive(Self.frame(0x82, [UInt8](repeating: 0, count: 9)))) == 1009)
  }

  private static func closing(_ actions: [Action]) -> UInt16? {
    guard case .send(let bytes)? = actions.first, bytes[0] == 0x88 else { return nil }
    let frame = plain(bytes)
    return UInt16(frame[2]) << 8 | UInt16(frame[3])
  }

  private static let normal: [UInt8] = [0x03, 0xE8]

  // MARK: Messages

  @Test func `the examples of the standard are read`() {
    // RFC 6455 §5.7: an unmasked text message, a masked one, and one of two fragments.
    var client = Self.client()
    #expect(client.receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [.text("Hello")])
    #expect(client.receive([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]) == [.text("Hello")])
    var server = WebSocketMachine(server: 8)
    let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
    #expect(server.receive(masked) == [.text("Hello")])
  }

  @Test func `messages arrive whole and in order, and a ping between fragments is answered`() throws {
    var client = Self.client()
    let bytes =
      Self.frame(0x81, Array("a".utf8)) + Self.frame(0x01, Array("b".utf8)) + Self.frame(0x89, [1, 2])
      + Self.frame(0x00, [0x20]) + Self.frame(0x80, Array("c".utf8)) + Self.frame(0x8A)
    let actions = client.receive(bytes)
    try #require(actions.count == 3)
    #expect(actions[0] == .text("a") && actions[2] == .text("b c"))
    guard case .send(let pong) = actions[1] else {
      Issue.record("the ping is not answered")
      return
    }
    #expect(Self.plain(pong) == [0x8A, 2, 1, 2])
    var one = Self.client()
    #expect(bytes.flatMap { one.receive([$0]) } == actions, "byte by byte")
  }

  @Test func `a character that two fragments share is one`() {
    var client = Self.client()
    #expect(client.receive(Self.frame(0x01, [0xC3])) == [])
    #expect(client.receive(Self.frame(0x80, [0xA9])) == [.text("é")])
  }

  @Test func `an empty message is one, also of fragments`() {
    var client = Self.client()
    #expect(client.receive(Self.frame(0x81)) == [.text("")])
    #expect(client.receive(Self.frame(0x01, [0x61]) + Self.frame(0x80)) == [.text("a")])
  }

  static let sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 65_537]

  @Test(arguments: sizes)
  func `each form of a length is written and read, by both roles`(size: Int) {
    let text = String(repeating: "x", count: size)
    var (client, server) = (Self.client(size), WebSocketMachine(server: size))
    let up = client.send(text)
    let length = size <= 125 ? 0 : size <= 0xFFFF ? 2 : 8
    #expect(up.count == 2 + length + 4 + size && up[1] & 0x80 != 0, "a client masks all that it sends")
    #expect(server.receive(up) == [.text(text)])
    let down = server.send(text)
    #expect(down == Self.frame(0x81, Array(text.utf8)), "a server masks nothing")
    #expect(client.receive(down) == [.text(text)])
    var (slowClient, slowServer) = (Self.client(size), WebSocketMachine(server: size))
    #expect(up.flatMap { slowServer.receive([$0]) } == [.text(text)])
    #expect(down.flatMap { slowClient.receive([$0]) } == [.text(text)])
  }

  @Test func `each frame has another mask`() {
    var client = Self.client()
    let masks = (0..<4).map { _ in Array(client.send("a")[2..<6]) }
    #expect(masks == [[1, 2, 3, 4], [2, 2, 3, 4], [3, 2, 3, 4], [4, 2, 3, 4]])
  }

  @Test func `a message as long as the limit is whole, in one frame and in many`() {
    var client = Self.client()
    #expect(client.receive(Self.frame(0x81, Array(repeating: 0x61, count: 8))) == [.text("aaaaaaaa")])
    let fragments =
      Self.frame(0x01, [0x61]) + (0..<6).flatMap { _ in Self.frame(0x00, [0x61]) } + Self.frame(0x80, [0x61])
    #expect(client.receive(fragments) == [.text("aaaaaaaa")])
  }

  // MARK: Faults

  struct Breach: Sendable {
    let frames: [[UInt8]]
    let code: UInt16
    let fault: Fault
  }

  static let breaches = [
    Breach(frames: [frame(0x82, [1])], code: 1003, fault: .notText),
    Breach(frames: [frame(0x81, Array(repeating: 0x61, count: 9))], code: 1009, fault: .tooLarge),
    Breach(frames: [[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]], code: 1009, fault: .tooLarge),
    Breach(frames: [frame(0x01, Array(repeating: 0x61, count: 8)), frame(0x80, [0x61])], code: 1009, fault: .tooLarge),
    Breach(frames: [frame(0x81, [0xC3, 0x28])], code: 1007, fault: .notUTF8),
    Breach(frames: [frame(0x81, [0xED, 0xA0, 0x80])], code: 1007, fault: .notUTF8),
    Breach(frames: [frame(0x01, [0xC3]), frame(0x80)], code: 1007, fault: .notUTF8),
    Breach(frames: [frame(0x01, [0x61]), frame(0x00)], code: 1002, fault: .emptyFragment),
    Breach(frames: [frame(0x01)], code: 1002, fault: .emptyFragment),
    Breach(frames: [frame(0x80, [0x61])], code: 1002, fault: .fragmentOfNoMessage),
    Breach(frames: [frame(0x01, [0x61]), frame(0x81, [0x61])], code: 1002, fault: .notAllowed),
  ]

  @Test(arguments: breaches)
  func `a fault is answered with its code, and nothing is heard until the other side closes`(breach: Breach) {
    var client = Self.client()
    var actions = breach.frames.flatMap { client.receive($0) }
    #expect(Self.closing(actions) == breach.code && actions.count == 1)
    #expect(client.isClosing && client.fault == breach.fault && client.send("a").isEmpty && client.close().isEmpty)
    guard breach.frames != [[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]] else { return }
    actions = client.receive(
      Self.frame(0x81, Array("after".utf8)) + Self.frame(0x89, [1]) + Self.frame(0x88, Self.normal))
    #expect(actions == [.close(breach.fault)])
    #expect(client.receive(Self.frame(0x81, [0x61])).isEmpty)
  }

  static let headers: [[UInt8]] = [
    [0xC1, 0], [0xA1, 0], [0x91, 0], [0x83, 0], [0x87, 0], [0x8B, 0], [0x8F, 0], [0x09, 0], [0x08, 0], [0x89, 126],
    [0x88, 127], [0x81, 0x80], [0x81, 126, 0, 125], [0x81, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
    [0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
  ]

  @Test(arguments: headers)
  func `a header that is not allowed ends the socket at once`(header: [UInt8]) {
    var client = Self.client(1 << 40)
    let actions = client.receive(header)
    #expect(Self.closing(actions) == 1002 && actions.last == .close(.notAllowed) && actions.count == 2)
    #expect(client.receive(Self.frame(0x81, [0x61])).isEmpty)
  }

  @Test func `a server accepts only masked frames`() {
    var server = WebSocketMachine(server: 8)
    #expect(server.receive(Self.frame(0x81, [0x61])) == [.send([0x88, 2, 0x03, 0xEA]), .close(.notAllowed)])
  }

  // MARK: Closing

  @Test(arguments: [[], [0x03, 0xE8], [0x03, 0xE9, 0x62, 0x79, 0x65], [0x0B, 0xB8], [0x13, 0x87]] as [[UInt8]])
  func `a Close frame is answered with its code`(payload: [UInt8]) throws {
    var server = WebSocketMachine(server: 8)
    let actions = server.receive(Self.frame(0x88, payload, mask: [1, 2, 3, 4]))
    #expect(actions == [.send(Self.frame(0x88, Array(payload.prefix(2)))), .close(nil)])
    #expect(server.isClosing && server.send("a").isEmpty)
  }

  @Test(
    arguments: [
      ([0x03], 1002, .notAllowed), ([0x03, 0xE7], 1002, .notAllowed), ([0x03, 0xEC], 1002, .notAllowed),
      ([0x03, 0xED], 1002, .notAllowed), ([0x03, 0xEE], 1002, .notAllowed), ([0x03, 0xF7], 1002, .notAllowed),
      ([0x13, 0x88], 1002, .notAllowed), ([0, 0], 1002, .notAllowed), ([0x03, 0xE8, 0xFF], 1007, .notUTF8),
    ] as [([UInt8], UInt16, Fault)])
  func `a Close frame with a code or a reason that is not allowed is a fault`(
    payload: [UInt8], code: UInt16, fault: Fault
  ) {
    var client = Self.client()
    let actions = client.receive(Self.frame(0x88, payload))
    #expect(Self.closing(actions) == code && actions.last == .close(fault))
  }

  @Test func `a Close frame of ours has code 1000, is sent once, and its answer is the end`() {
    var client = Self.client()
    #expect(Self.plain(client.close()) == [0x88, 2] + Self.normal)
    #expect(client.close().isEmpty && client.send("a").isEmpty)
    #expect(client.receive(Self.frame(0x81, [0x61]) + Self.frame(0x89, [1]) + Self.frame(0x82, [1])).isEmpty)
    #expect(client.receive(Self.frame(0x88, Self.normal)) == [.close(nil)])
  }

  @Test func `a Close frame between fragments is the end`() {
    var client = Self.client()
    let actions = client.receive(Self.frame(0x01, [0x61]) + Self.frame(0x88, Self.normal) + Self.frame(0x80, [0x62]))
    #expect(Self.closing(actions) == 1000 && actions.last == .close(nil) && actions.count == 2)
  }

  @Test func `a ping of 125 bytes is answered with the same bytes`() throws {
    var client = Self.client()
    let payload = (0..<125).map { UInt8($0) }
    guard case .send(let pong)? = client.receive(Self.frame(0x89, payload)).first else {
      Issue.record("the ping is not answered")
      return
    }
    #expect(Self.plain(pong) == [0x8A, 125] + payload)
  }
}
