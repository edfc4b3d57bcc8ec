/// The host's side of CTAPHID, as a pure value.
///
/// For programs that talk to a device, or to a key in the same process. One request at a time.
public struct ClientMachine: Sendable {
  /// The meaning of a report from the device.
  public enum Event: Hashable, Sendable {
    /// INIT was answered: the client has this channel.
    case opened(ChannelID, DeviceIdentity)
    /// The request is still being processed.
    case keepalive(KeepaliveStatus)
    /// The request was answered.
    case response(CTAPHIDCommand, [UInt8])
    /// The device refused, or a packet of its answer was missing (`invalidSequence`).
    case failed(CTAPHIDError)
  }

  /// The channel that was allocated; the broadcast channel before.
  public private(set) var channel: ChannelID

  private var nonce: [UInt8]?
  private var assembler: MessageAssembler?

  /// A client without a channel, or with one that it already has.
  public init(channel: ChannelID = .broadcast) { self.channel = channel }

  /// The report that requests a channel, or resynchronises the present one.
  ///
  /// - Parameter nonce: eight bytes that identify the client's own answer.
  public mutating func open(nonce: [UInt8]) -> Report {
    self.nonce = nonce
    assembler = nil
    return Report(
      channel: channel, packet: .initialization(.initialize, length: nonce.count, payload: nonce.prefix(8)))
  }

  /// The reports of one request.
  ///
  /// - Throws: `invalidLength` when the payload is longer than the transport carries.
  public func request(_ command: CTAPHIDCommand, _ payload: [UInt8]) throws(CTAPHIDError) -> [Report] {
    try CTAPHIDMessage(channel: channel, command: command, payload: payload).reports()
  }

  /// The report that withdraws the request under way.
  public var cancellation: Report {
    Report(channel: channel, packet: .initialization(.cancel, length: 0, payload: []))
  }

  /// Takes one report from the device; `nil` while a message is incomplete, and for reports to other clients.
  public mutating func receive(_ report: Report) -> Event? {
    guard report.channel == channel else { return nil }
    do throws(CTAPHIDError) {
      switch report.packet {
      case .initialization:
        assembler = try MessageAssembler(report)
      case .continuation(let sequence, let payload):
        guard assembler != nil else { return nil }
        try assembler?.append(sequence: sequence, payload: payload)
      }
    } catch {
      assembler = nil
      return .failed(error)
    }
    guard let message = assembler?.message else { return nil }
    assembler = nil
    return event(of: message)
  }

  private mutating func event(of message: CTAPHIDMessage) -> Event? {
    switch message.command {
    case .initialize: opened(message.payload)
    case .keepalive: .keepalive(message.payload.first.flatMap(KeepaliveStatus.init) ?? .processing)
    case .error: .failed(message.payload.first.flatMap(CTAPHIDError.init) ?? .other)
    default: .response(message.command, message.payload)
    }
  }

  /// Reads an answer to INIT; `nil` for another client's, which has another nonce.
  private mutating func opened(_ payload: [UInt8]) -> Event? {
    guard payload.count >= 17, let nonce, payload.starts(with: nonce), let identity = DeviceIdentity(payload[12..<17])
    else { return nil }
    self.nonce = nil
    channel = ChannelID(rawValue: payload[8..<12].reduce(0) { $0 << 8 | UInt32($1) })
    return .opened(channel, identity)
  }
}
