/// One open web socket, for text or for binary messages, as a client or a server: bytes in, messages and bytes out
/// (RFC 6455 §5 to §8).
///
/// It answers Ping and Close, and joins fragments. It has no extensions. After a fault of the other side it sends a Close
/// frame with the fault's code, and discards all frames until the other side's Close frame.
package struct WebSocketMachine: Sendable {
  /// What the other side does wrong.
  package enum Fault: Equatable, Sendable {
    /// A message longer than the limit, or a frame that announces one.
    case tooLarge
    /// A binary message, on a socket for text.
    case notText
    /// A text message, on a socket for binary messages.
    case notBinary
    /// A text message that is not UTF-8, or a reason to close that is not.
    case notUTF8
    /// A fragment without content that is not the last: an endless series of them would cost the sender nothing.
    case emptyFragment
    /// A fragment that continues no message.
    case fragmentOfNoMessage
    /// Any other frame that RFC 6455 forbids.
    case notAllowed

    /// The code of the Close frame: RFC 6455 §7.4.1.
    package var code: UInt16 {
      switch self {
      case .emptyFragment, .fragmentOfNoMessage, .notAllowed: 1002
      case .notText, .notBinary: 1003
      case .notUTF8: 1007
      case .tooLarge: 1009
      }
    }
  }

  /// What to do, in order.
  package enum Action: Equatable, Sendable {
    /// Send these bytes.
    case send([UInt8])
    /// A whole text message has arrived.
    case text(String)
    /// A whole binary message has arrived.
    case binary([UInt8])
    /// Close the connection; the value is the first fault, or `nil` if either side closed the socket in order.
    case close(Fault?)
  }

  /// The messages of a socket.
  package enum Content: Sendable {
    case text, binary
  }

  private enum Opcode: UInt8 {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue >= 0x8 }
  }

  /// A frame whose header is read.
  private struct Frame {
    let opcode: Opcode
    let isLast: Bool
    /// Empty without a mask.
    let mask: ArraySlice<UInt8>
    let size: Int
    /// Bytes of the payload that have not arrived.
    var missing: Int
    let isDiscarded: Bool
  }

  private static let normal: UInt16 = 1000
  private static let largestControlPayload = 125

  private let maximumMessageSize: Int
  private let content: Content
  /// Gives the masks of a client; `nil` for a server.
  private var randomness: (any RandomNumberGenerator & Sendable)?
  /// The bytes of an incomplete header.
  private var head: [UInt8] = []
  private var frame: Frame?
  /// The payload of a control frame, so far.
  private var control: [UInt8] = []
  /// The received part of an incomplete message.
  private var message: [UInt8]?
  /// The first fault of the other side.
  package private(set) var fault: Fault?
  /// Whether a Close frame was sent.
  package private(set) var isClosing = false
  private var isOver = false

  /// A client, which masks what it sends.
  ///
  /// - Parameters:
  ///   - maximumMessageSize: the most bytes of one message, of all its fragments together.
  ///   - content: the messages that it sends and takes.
  ///   - randomness: gives the masks, which nobody must be able to predict (RFC 6455 §10.3).
  package init(
    client maximumMessageSize: Int, content: Content = .text, randomness: any RandomNumberGenerator & Sendable
  ) {
    self.maximumMessageSize = maximumMessageSize
    self.content = content
    self.randomness = randomness
  }

  /// A server.
  package init(server maximumMessageSize: Int) {
    self.maximumMessageSize = maximumMessageSize
    content = .text
    randomness = nil
  }

  private var isClient: Bool { randomness != nil }

  // MARK: Sending

  /// The bytes of a text message; none after a Close frame.
  package mutating func send(_ text: String) -> [UInt8] { isClosing ? [] : frame(.text, Array(text.utf8)) }

  /// The bytes of a binary message in one frame; none after a Close frame.
  package mutating func send(_ bytes: [UInt8]) -> [UInt8] { isClosing ? [] : frame(.binary, bytes) }

  /// The bytes of a Close frame with code 1000; none after another.
  package mutating func close() -> [UInt8] { closeFrame(Self.normal) }

  private mutating func closeFrame(_ code: UInt16?) -> [UInt8] {
    guard !isClosing else { return [] }
    isClosing = true
    message = nil
    return frame(.close, code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? [])
  }

  private mutating func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x80 | opcode.rawValue]
    let maskBit: UInt8 = isClient ? 0x80 : 0
    switch payload.count {
    case ...125: bytes.append(maskBit | UInt8(payload.count))
    case ...0xFFFF: bytes += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
      bytes.append(maskBit | 127)
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) }
    }
    guard var randomness else { return bytes + payload }
    let random = randomness.next()
    self.randomness = randomness
    let mask = (0..<4).map { UInt8(truncatingIfNeeded: random >> (8 * $0)) }
    bytes += mask
    bytes.reserveCapacity(bytes.count + payload.count)
    for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
    return bytes
  }

  // MARK: Receiving

  /// Takes bytes as they come, in any pieces.
  package mutating func receive(_ bytes: [UInt8]) -> [Action] {
    var rest = bytes[...]
    var actions: [Action] = []
    while !isOver, !rest.isEmpty {
      if frame == nil { readHead(&rest, &actions) } else { readPayload(&rest) }
      if let frame, frame.missing == 0 {
        self.frame = nil
        if !frame.isDiscarded { finish(frame, &actions) }
      }
    }
    return actions
  }

  /// Reads a header, or a part of it: RFC 6455 §5.2.
  private mutating func readHead(_ rest: inout ArraySlice<UInt8>, _ actions: inout [Action]) {
    while let byte = rest.popFirst() {
      head.append(byte)
      guard head.count >= 2 else { continue }
      guard let opcode = Opcode(rawValue: head[0] & 0x0F), isAllowed(opcode) else { return breakOff(&actions) }
      let short = Int(head[1] & 0x7F)
      let lengthSize = short == 126 ? 2 : short == 127 ? 8 : 0
      let maskSize = isClient ? 0 : 4
      guard head.count == 2 + lengthSize + maskSize else { continue }
      let length = head[2..<2 + lengthSize].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      // The shortest form of a length is the only one, and its highest bit is 0.
      guard lengthSize == 0 || length > (lengthSize == 2 ? 125 : 0xFFFF), let size = Int(exactly: length) else {
        return breakOff(&actions)
      }
      begin(opcode, lengthSize == 0 ? short : size, mask: head[(2 + lengthSize)...], &actions)
      head = []
      return
    }
  }

  /// Whether the first two bytes of a header can begin a frame of the other side.
  private func isAllowed(_ opcode: Opcode) -> Bool {
    let (isLast, hasExtension) = (head[0] & 0x80 != 0, head[0] & 0x70 != 0)
    let (isMasked, short) = (head[1] & 0x80 != 0, Int(head[1] & 0x7F))
    return !hasExtension && isMasked != isClient
      && (!opcode.isControl || isLast && short <= Self.largestControlPayload)
  }

  private mutating func begin(_ opcode: Opcode, _ size: Int, mask: ArraySlice<UInt8>, _ actions: inout [Action]) {
    let isLast = head[0] & 0x80 != 0
    if !isClosing, let fault = fault(of: opcode, size, isLast: isLast) { refuse(fault, &actions) }
    control = []
    frame = Frame(
      opcode: opcode, isLast: isLast, mask: mask, size: size, missing: size,
      isDiscarded: isClosing && opcode != .close)
    if frame?.isDiscarded == false, !opcode.isControl, message == nil { message = [] }
  }

  /// What is wrong with a frame of data, by its header.
  private func fault(of opcode: Opcode, _ size: Int, isLast: Bool) -> Fault? {
    switch opcode {
    case .close, .ping, .pong: return nil
    case .binary where content == .text: return .notText
    case .text where content == .binary: return .notBinary
    case .text, .binary: if message != nil { return .notAllowed }
    case .continuation: if message == nil { return .fragmentOfNoMessage }
    }
    guard isLast || size > 0 else { return .emptyFragment }
    return size <= maximumMessageSize - (message?.count ?? 0) ? nil : .tooLarge
  }

  private mutating func readPayload(_ rest: inout ArraySlice<UInt8>) {
    guard let frame else { return }
    let piece = rest.prefix(frame.missing)
    rest = rest.dropFirst(piece.count)
    self.frame?.missing -= piece.count
    guard !frame.isDiscarded else { return }
    var plain = Array(piece)
    if let first = frame.mask.indices.first {
      let offset = frame.size - frame.missing
      for index in plain.indices { plain[index] ^= frame.mask[first + (offset + index) & 3] }
    }
    if frame.opcode.isControl { control += plain } else { message? += plain }
  }

  /// Handles a whole frame.
  private mutating func finish(_ frame: Frame, _ actions: inout [Action]) {
    switch frame.opcode {
    case .ping: actions.append(.send(self.frame(.pong, control)))
    case .pong: break
    case .close: finishClose(&actions)
    case .text, .continuation, .binary:
      guard frame.isLast, let bytes = message else { return }
      message = nil
      guard content == .text else { return actions.append(.binary(bytes)) }
      guard let text = String(validating: bytes, as: UTF8.self) else { return refuse(.notUTF8, &actions) }
      actions.append(.text(text))
    }
  }

  /// Answers a Close frame, unless it is an answer itself: RFC 6455 §5.5.1.
  private mutating func finishClose(_ actions: inout [Action]) {
    isOver = true
    if !isClosing {
      let code = control.count < 2 ? nil : UInt16(control[0]) << 8 | UInt16(control[1])
      if control.count == 1 || code.map(Self.isValid) == false {
        refuse(.notAllowed, &actions)
      } else if String(validating: control.dropFirst(2), as: UTF8.self) == nil {
        refuse(.notUTF8, &actions)
      } else {
        actions.append(.send(closeFrame(code)))
      }
    }
    actions.append(.close(fault))
  }

  /// Whether a Close frame may have the code: RFC 6455 §7.4.
  private static func isValid(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  private mutating func refuse(_ fault: Fault, _ actions: inout [Action]) {
    self.fault = fault
    actions.append(.send(closeFrame(fault.code)))
  }

  /// Ends after a header that does not show where the next one begins.
  private mutating func breakOff(_ actions: inout [Action]) {
    isOver = true
    if !isClosing { refuse(.notAllowed, &actions) }
    actions.append(.close(fault))
  }
}
