import HTTP
import LiquidAuth

/// The progress of one web socket, from the connection to the end: what is heard in, steps out.
struct WebSocketProgress: Sendable {
  /// What is heard from the connection.
  enum Sound {
    case connected
    case bytes([UInt8])
    /// The connection has ended, or none was made.
    case ended(PortError)
  }

  /// What happened.
  enum Event: Equatable {
    case open
    case text(String)
    case binary([UInt8])
    /// The end; `nil` if either side closed the socket in order.
    case closed(PortError?)
  }

  /// What to do next, in order.
  enum Step: Equatable {
    case write([UInt8])
    case deliver(Event)
    case close(after: Duration)
  }

  /// The most time for a server's answer to a Close frame.
  static let timeout = Duration.seconds(1)
  /// The most bytes that may wait while a server does not read; one more message is written then.
  static let maximumWaiting = 65_536

  private var opening: WebSocketOpening
  private var machine: WebSocketMachine
  private var isOpen = false
  private var hasEnded = false

  init(_ opening: WebSocketOpening, _ machine: WebSocketMachine) {
    self.opening = opening
    self.machine = machine
  }

  /// The head of the answer that opened the socket.
  var answer: MessageHead? { opening.answer }

  /// - Parameter waiting: the bytes that wait to be sent.
  mutating func hear(_ sound: Sound, waiting: Int) -> [Step] {
    guard !hasEnded else { return [] }
    switch sound {
    case .connected: return [.write(opening.request)]
    case .bytes(let bytes): return isOpen ? read(bytes, waiting) : open(bytes, waiting)
    case .ended(let error): return end(isOpen && machine.isClosing ? nil : isOpen ? error : Self.early(error))
    }
  }

  /// Sends a text; nothing before the opening, and after a Close frame.
  mutating func send(_ text: String, waiting: Int) -> [Step] {
    isOpen && !hasEnded && !machine.isClosing ? write(machine.send(text), waiting) : []
  }

  /// Sends a binary message, as for a text.
  mutating func send(_ bytes: [UInt8], waiting: Int) -> [Step] {
    isOpen && !hasEnded && !machine.isClosing ? write(machine.send(bytes), waiting) : []
  }

  /// Closes the socket, or ends its opening; a second call does nothing.
  mutating func close(waiting: Int) -> [Step] {
    guard !hasEnded else { return [] }
    guard isOpen else { return end(nil) }
    guard !machine.isClosing else { return [] }
    // A server that does not read sees no Close frame either.
    guard waiting <= Self.maximumWaiting else { return end(nil) }
    return write(machine.close(), waiting) + [.close(after: Self.timeout)]
  }

  // MARK: Steps

  private mutating func open(_ bytes: [UInt8], _ waiting: Int) -> [Step] {
    switch opening.receive(bytes) {
    case nil: return []
    case .refused(let status): return end(.refused(status: status))
    case .invalid: return end(.broken("what it sent is not HTTP"))
    case .open(let rest):
      isOpen = true
      return [.deliver(.open)] + read(rest, waiting)
    }
  }

  private mutating func read(_ bytes: [UInt8], _ waiting: Int) -> [Step] {
    let wasClosing = machine.isClosing
    var steps: [Step] = []
    for action in machine.receive(bytes) where !hasEnded {
      switch action {
      case .send(let bytes): steps += write(bytes, waiting)
      case .text(let text): steps.append(.deliver(.text(text)))
      case .binary(let bytes): steps.append(.deliver(.binary(bytes)))
      case .close: steps += end(nil)
      }
    }
    if !hasEnded, machine.isClosing, !wasClosing { steps.append(.close(after: Self.timeout)) }
    return steps
  }

  /// Fails if the server does not read, so that the bytes that wait are limited.
  private mutating func write(_ bytes: [UInt8], _ waiting: Int) -> [Step] {
    waiting <= Self.maximumWaiting ? [.write(bytes)] : end(.broken("it does not read what is sent"))
  }

  /// The first fault of the server is the reason.
  private mutating func end(_ failure: PortError?) -> [Step] {
    hasEnded = true
    return [.deliver(.closed(machine.fault.map(PortError.init) ?? failure)), .close(after: .zero)]
  }

  /// The failure of an opening; one that takes too long is unreachable.
  private static func early(_ error: PortError) -> PortError {
    switch error {
    case .timedOut: .unreachable("it did not answer in time")
    case .broken("it was closed"): .broken("it was closed before it was open")
    default: error
    }
  }
}

extension PortError {
  fileprivate init(_ fault: WebSocketMachine.Fault) {
    switch fault {
    case .tooLarge: self = .tooLarge
    case .notText: self = .notText
    case .notBinary: self = .broken("a text message came")
    case .notUTF8: self = .broken("a text message is not UTF-8")
    case .emptyFragment: self = .broken("an empty fragment")
    case .fragmentOfNoMessage: self = .broken("a fragment of no message")
    case .notAllowed: self = .broken("a frame that is not allowed")
    }
  }
}
