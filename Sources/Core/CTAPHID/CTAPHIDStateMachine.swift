/// The device's side of CTAPHID: reports in, actions out.
///
/// A pure value: it opens nothing, reads no clock and starts nothing. The driver gives it every report and the time,
/// does what the actions say in their order, and calls `tick` at `deadline`. It holds at most one message, so its
/// memory is bounded. CTAP §11.2.
public struct CTAPHIDStateMachine: Sendable {
  /// How long an incomplete message waits for its next report.
  public static let messageTimeout = Duration.milliseconds(500)
  /// The interval between KEEPALIVEs: 100 ms at most, less a margin for late timers.
  public static let keepaliveInterval = Duration.milliseconds(80)

  private enum State {
    case idle
    case assembling(MessageAssembler, until: Instant)
    case processing(Processing)
  }

  private struct Processing {
    let request: Request
    var status = KeepaliveStatus.processing
    /// `nil` for U2F, which has no KEEPALIVE.
    var nextKeepalive: Instant?
    var isCancelled = false
    /// Whether another request was refused because of this one.
    var isAwaited = false
  }

  private let identity: DeviceIdentity
  private var channels: ChannelAllocator
  private var state = State.idle
  private var lastTransaction: UInt64 = 0

  /// Makes the state after a power-up.
  ///
  /// - Parameter firstChannel: the first channel id. A random number at every power-up distinguishes new ids from older
  ///   ones.
  public init(identity: DeviceIdentity, firstChannel: UInt32) {
    self.identity = identity
    channels = ChannelAllocator(first: firstChannel)
  }

  // MARK: Events

  /// Takes one report from the host.
  public mutating func receive(_ report: Report, at now: Instant) -> [Action] {
    let overdue = tick(at: now)
    let actions =
      switch report.packet {
      case .initialization(.initialize, let length, let payload):
        initialize(report.channel, length: length, nonce: payload.prefix(8))
      case .initialization(.cancel, _, _): cancel(on: report.channel)
      case .initialization(let command, let length, _):
        receiveInitialization(report, command: command, length: length, at: now)
      case .continuation(let sequence, let payload):
        proceed(report.channel, sequence: sequence, payload: payload, at: now)
      }
    return overdue.isEmpty ? actions : overdue + actions
  }

  /// Does what is due at `now`: discards an incomplete message, or sends a KEEPALIVE.
  public mutating func tick(at now: Instant) -> [Action] {
    switch state {
    case .assembling(let assembler, let until) where until <= now:
      state = .idle
      return refuse(.messageTimeout, on: assembler.channel)
    case .processing(let processing):
      guard let due = processing.nextKeepalive, due <= now else { return [] }
      return keepalive(processing, at: now)
    case .idle, .assembling:
      return []
    }
  }

  /// When `tick` is due next; `nil` while there is nothing to wait for.
  public var deadline: Instant? {
    switch state {
    case .idle: nil
    case .assembling(_, let until): until
    case .processing(let processing): processing.nextKeepalive
    }
  }

  /// Sets what the request waits for; a change is sent to the client at once, except over U2F.
  public mutating func setStatus(_ status: KeepaliveStatus, of transaction: TransactionID, at now: Instant) -> [Action]
  {
    guard case .processing(var processing) = state, processing.request.transaction == transaction,
      processing.nextKeepalive != nil, processing.status != status
    else { return [] }
    processing.status = status
    return keepalive(processing, at: now)
  }

  /// Whether the request is being processed, and another channel was refused meanwhile with a request of its own.
  public func isAwaited(_ transaction: TransactionID) -> Bool {
    guard case .processing(let processing) = state else { return false }
    return processing.request.transaction == transaction && processing.isAwaited
  }

  /// Sends the answer to a request; an answer that no client waits for any more is dropped.
  public mutating func respond(_ payload: [UInt8], to transaction: TransactionID) -> [Action] {
    guard case .processing(let processing) = state, processing.request.transaction == transaction else { return [] }
    state = .idle
    return send(processing.request.kind.command, payload, on: processing.request.channel)
  }

  // MARK: Packets

  /// CTAPHID_INIT: allocates on the broadcast channel; on another one, ends its transaction and echoes the channel.
  private mutating func initialize(
    _ channel: ChannelID, length: Int, nonce: ArraySlice<UInt8>
  ) -> [Action] {
    guard channel != .reserved else { return refuse(.invalidChannel, on: channel) }
    guard length == 8 else { return refuse(.invalidLength, on: channel) }
    var actions: [Action] = []
    var opened = channel
    if channel == .broadcast {
      opened = channels.allocate()
    } else {
      actions = abandonTransaction(on: channel)
      channels.adopt(channel)
    }
    let answer = nonce + opened.bigEndianBytes + identity.bytes
    return actions + send(.initialize, Array(answer), on: channel)
  }

  /// CTAPHID_CANCEL: not answered; cancels the request of its own channel once, if that is a CBOR request.
  private mutating func cancel(on channel: ChannelID) -> [Action] {
    guard case .processing(var processing) = state, processing.request.channel == channel,
      processing.request.kind == .cbor, !processing.isCancelled
    else { return [] }
    processing.isCancelled = true
    state = .processing(processing)
    return [.cancel(processing.request.transaction)]
  }

  /// Any other initialization packet; whether the device is busy is checked before whether the channel was allocated.
  private mutating func receiveInitialization(
    _ report: Report, command: CTAPHIDCommand, length: Int, at now: Instant
  ) -> [Action] {
    let channel = report.channel
    guard channel != .reserved, channel != .broadcast else { return refuse(.invalidChannel, on: channel) }
    switch state {
    case .assembling(let assembler, _) where assembler.channel == channel:
      state = .idle
      return refuse(.invalidSequence, on: channel)
    case .processing(var processing):
      let isRequest = (command == .cbor || command == .msg) && channels.contains(channel)
      processing.isAwaited = processing.isAwaited || isRequest && channel != processing.request.channel
      state = .processing(processing)
      return refuse(.channelBusy, on: channel)
    case .assembling:
      return refuse(.channelBusy, on: channel)
    case .idle:
      break
    }
    guard channels.contains(channel) else { return refuse(.invalidChannel, on: channel) }
    do throws(CTAPHIDError) {
      try check(command, length: length)
      return advance(try MessageAssembler(report), at: now)
    } catch {
      return refuse(error, on: channel)
    }
  }

  /// A continuation packet; one that belongs to no incomplete message is not answered.
  private mutating func proceed(
    _ channel: ChannelID, sequence: UInt8, payload: ArraySlice<UInt8>, at now: Instant
  ) -> [Action] {
    guard case .assembling(var assembler, _) = state, assembler.channel == channel else { return [] }
    // Releases the payload, so that appending to it does not copy it with each report.
    state = .idle
    do throws(CTAPHIDError) {
      try assembler.append(sequence: sequence, payload: payload)
      return advance(assembler, at: now)
    } catch {
      return refuse(error, on: channel)
    }
  }

  // MARK: Messages

  /// Refuses invalid lengths, then unsupported commands, at the first report.
  private func check(_ command: CTAPHIDCommand, length: Int) throws(CTAPHIDError) {
    let (lengths, isOffered): (ClosedRange<Int>, Bool)
    switch command {
    case .ping: (lengths, isOffered) = (0...CTAPHIDMessage.maximumLength, true)
    case .cbor: (lengths, isOffered) = (1...CTAPHIDMessage.maximumLength, identity.capabilities.contains(.cbor))
    case .msg: (lengths, isOffered) = (1...CTAPHIDMessage.maximumLength, !identity.capabilities.contains(.nmsg))
    case .wink: (lengths, isOffered) = (0...0, identity.capabilities.contains(.wink))
    // LOCK is optional, and no browser sends it. A program that repeats it would keep all others out.
    default: throw .invalidCommand
    }
    guard lengths.contains(length) else { throw .invalidLength }
    guard isOffered else { throw .invalidCommand }
  }

  private mutating func advance(_ assembler: MessageAssembler, at now: Instant) -> [Action] {
    guard let message = assembler.message else {
      state = .assembling(assembler, until: now.advanced(by: Self.messageTimeout))
      return []
    }
    state = .idle
    return perform(message, at: now)
  }

  private mutating func perform(_ message: CTAPHIDMessage, at now: Instant) -> [Action] {
    switch message.command {
    case .wink: [.wink] + send(.wink, [], on: message.channel)
    case .cbor: dispatch(.cbor, message, at: now)
    case .msg: dispatch(.msg, message, at: now)
    default: send(.ping, message.payload, on: message.channel)
    }
  }

  private mutating func dispatch(_ kind: Request.Kind, _ message: CTAPHIDMessage, at now: Instant) -> [Action] {
    lastTransaction += 1
    let request = Request(
      transaction: TransactionID(rawValue: lastTransaction), channel: message.channel, kind: kind,
      payload: message.payload)
    // U2F HID 1.0, which defines CTAPHID_MSG, has no KEEPALIVE: its hosts take one for a wrong answer.
    let nextKeepalive = kind == .cbor ? now.advanced(by: Self.keepaliveInterval) : nil
    state = .processing(Processing(request: request, nextKeepalive: nextKeepalive))
    return [.dispatch(request)]
  }

  /// INIT on a channel discards its incomplete message, or abandons its request; other channels continue.
  private mutating func abandonTransaction(on channel: ChannelID) -> [Action] {
    switch state {
    case .assembling(let assembler, _) where assembler.channel == channel:
      state = .idle
      return []
    case .processing(let processing) where processing.request.channel == channel:
      state = .idle
      return [.cancel(processing.request.transaction)]
    case .idle, .assembling, .processing:
      return []
    }
  }

  // MARK: Answers

  /// Sends a KEEPALIVE, and sets the time of the next one.
  private mutating func keepalive(_ processing: Processing, at now: Instant) -> [Action] {
    var processing = processing
    processing.nextKeepalive = now.advanced(by: Self.keepaliveInterval)
    state = .processing(processing)
    return send(.keepalive, [processing.status.rawValue], on: processing.request.channel)
  }

  private func refuse(_ error: CTAPHIDError, on channel: ChannelID) -> [Action] {
    send(.error, [error.rawValue], on: channel)
  }

  /// An answer that is too long for the transport is reported as an error of the authenticator.
  private func send(_ command: CTAPHIDCommand, _ payload: [UInt8], on channel: ChannelID) -> [Action] {
    do throws(CTAPHIDError) {
      return try CTAPHIDMessage(channel: channel, command: command, payload: payload).reports().map(Action.send)
    } catch {
      return refuse(.other, on: channel)
    }
  }
}
