/// What a server sent that is not Socket.IO as this room speaks it.
public enum SocketIOError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Which part of a packet is not as the protocol has it.
  public enum Part: String, Sendable {
    /// An Engine.IO packet: its type, or what follows one that nothing may follow.
    case packet = "packet"
    /// The members of Engine.IO's first packet.
    case handshake = "handshake"
    /// A Socket.IO packet: its type, namespace or number.
    case message = "message"
    /// The JSON of a Socket.IO packet.
    case json = "JSON"
  }

  /// A part is not as it should be, or comes when it must not.
  case malformed(Part)
  /// A packet in binary, or with binary attachments.
  case binary
  /// A message of more bytes than are read.
  case tooLarge

  /// What is wrong, as part of a sentence.
  public var description: String {
    switch self {
    case .malformed(let part): "a malformed \(part.rawValue) came"
    case .binary: "a binary message came"
    case .tooLarge: "a message of more than \(SocketIOMachine.maximumMessageSize) bytes came"
    }
  }
}
