/// One whole message of the transport, in either direction.
public struct CTAPHIDMessage: Hashable, Sendable {
  /// The longest payload: one initialization packet and 128 continuation packets, 7609 bytes.
  public static let maximumLength = Packet.initializationCapacity + 128 * Packet.continuationCapacity

  /// The channel of the message.
  public var channel: ChannelID
  /// The command of the request or answer.
  public var command: CTAPHIDCommand
  /// The payload, at most `maximumLength` bytes.
  public var payload: [UInt8]

  public init(channel: ChannelID, command: CTAPHIDCommand, payload: [UInt8]) {
    self.channel = channel
    self.command = command
    self.payload = payload
  }

  /// Cuts the message into reports, padded with zeros.
  ///
  /// - Throws: `invalidLength` when the payload is longer than `maximumLength`.
  public func reports() throws(CTAPHIDError) -> [Report] {
    guard payload.count <= Self.maximumLength else { throw .invalidLength }
    let first = Packet.initialization(
      command, length: payload.count, payload: payload.prefix(Packet.initializationCapacity))
    var reports: [Report] = []
    reports.reserveCapacity(2 + payload.count / Packet.continuationCapacity)
    reports.append(Report(channel: channel, packet: first))
    var rest = payload.dropFirst(Packet.initializationCapacity)
    var sequence: UInt8 = 0
    while !rest.isEmpty {
      let packet = Packet.continuation(sequence: sequence, payload: rest.prefix(Packet.continuationCapacity))
      reports.append(Report(channel: channel, packet: packet))
      rest = rest.dropFirst(Packet.continuationCapacity)
      sequence += 1
    }
    return reports
  }
}

/// Joins the reports of one message, in order; both sides of the transport use it.
public struct MessageAssembler: Hashable, Sendable {
  /// The channel of the message.
  public let channel: ChannelID
  /// The command of the message.
  public let command: CTAPHIDCommand
  /// The length of the complete message, in bytes (BCNT).
  public let length: Int

  private var payload: [UInt8]
  private var nextSequence: UInt8 = 0

  /// Begins with an initialization packet.
  ///
  /// - Throws: `invalidLength` when BCNT is more than `CTAPHIDMessage.maximumLength`; `invalidSequence` for a
  ///   continuation packet.
  public init(_ report: Report) throws(CTAPHIDError) {
    guard case .initialization(let command, let length, let payload) = report.packet else { throw .invalidSequence }
    guard length <= CTAPHIDMessage.maximumLength else { throw .invalidLength }
    channel = report.channel
    self.command = command
    self.length = length
    self.payload = []
    self.payload.reserveCapacity(length)
    self.payload += payload.prefix(length)
  }

  /// Takes the next continuation packet; bytes after the end of the message are padding and are ignored.
  ///
  /// - Throws: `invalidSequence` when it is not the next one, or when the message was already complete.
  public mutating func append(sequence: UInt8, payload more: ArraySlice<UInt8>) throws(CTAPHIDError) {
    guard sequence == nextSequence, payload.count < length else { throw .invalidSequence }
    nextSequence += 1
    payload += more.prefix(length - payload.count)
  }

  /// The message, once it is complete.
  public var message: CTAPHIDMessage? {
    payload.count == length ? CTAPHIDMessage(channel: channel, command: command, payload: payload) : nil
  }
}
