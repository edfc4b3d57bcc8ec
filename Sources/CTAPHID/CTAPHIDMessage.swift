/// One whole message of the transport, in either direction.
public struct CTAPHIDMessage: Hashable, Sendable {
  /// The longest payload: one initialization packet and 128 continuation packets, 7609 bytes.
  public static let maximumLength = Packet.initializationCapacity + 128 * Packet.continuationCapacity

  /// The channel that it travels on.
  public var channel: ChannelID
  /// What is asked, or answered.
  public var command: CTAPHIDCommand
  /// The payload, at most `maximumLength` bytes.
  public var payload: [UInt8]

  /// Joins the parts of a message.
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
    var reports = [Report(channel: channel, packet: first)]
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
