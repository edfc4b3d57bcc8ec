/// An open channel to the dApp: messages in both directions, in order.
///
/// The owner closes it; without references to it, it closes by itself.
public final class PeerChannel: Sendable {
  /// The most bytes of one message of the dApp; a longer one closes the channel.
  ///
  /// The largest frame of ARC-27 has 340 000, in base64. The adapter behind ``PeerConnectionPort`` announces this limit
  /// (RFC 8841 §6); browsers send at most 262 144 at once in any case.
  public static let maximumIncomingSize = 340_000
  /// The most bytes of unread messages; a dApp that sends more closes the channel.
  public static let maximumUnreadSize = 4 * maximumIncomingSize
  /// The most unread messages, for the same reason.
  public static let maximumUnreadCount = 256
  /// If more bytes than this wait to be sent, ``send(_:)`` waits.
  public static let highWaterMark = 1024 * 1024
  /// The amount at which that wait ends: the threshold for ``PeerConnectionPort``.
  public static let lowWaterMark = 256 * 1024
  /// The channel's label, which dApps expect.
  public static let label = "liquid"

  /// The most bytes of one message to the dApp: `a=max-message-size` of its description.
  public let maximumOutgoingSize: Int
  fileprivate let ends: PeerChannelEnds

  init(_ ends: PeerChannelEnds, maximumOutgoingSize: Int) {
    self.ends = ends
    self.maximumOutgoingSize = maximumOutgoingSize
  }

  deinit { ends.close(nil) }

  /// The dApp's messages, until the channel is closed.
  ///
  /// Only one task may read them, once. Cancelling that task closes the channel.
  public var messages: PeerMessages { PeerMessages(self) }

  /// Sends a message; waits while too much earlier data is unsent.
  ///
  /// A sent message has not necessarily arrived.
  public func send(_ message: PeerMessage) async throws(LiquidAuthError) {
    let size = message.size
    guard size <= maximumOutgoingSize else { throw .outgoingTooLarge(size: size, limit: maximumOutgoingSize) }
    let connection = try ends.connection()
    if connection.bufferedAmount > Self.highWaterMark { try await waitForRoom(on: connection) }
    connection.send(message)
  }

  /// Closes the channel and its peer connection; messages that were received can still be read.
  public func close() { ends.close(nil) }

  /// Registers before it looks at the amount again, so that no event is missed.
  private func waitForRoom(on connection: any PeerConnection) async throws(LiquidAuthError) {
    let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = ends.addBell(bell)
    defer { ends.removeBell(id) }
    var iterator = rings.makeAsyncIterator()
    while connection.bufferedAmount > Self.highWaterMark {
      _ = await iterator.next(isolation: #isolation)
      if Task.isCancelled { throw .cancelled }
      _ = try ends.connection()
    }
  }
}

/// The dApp's messages; throws the reason at the end, unless the channel was closed in order.
public struct PeerMessages: AsyncSequence, Sendable {
  private let channel: PeerChannel

  init(_ channel: PeerChannel) { self.channel = channel }

  /// Begins to read.
  public func makeAsyncIterator() -> Iterator { Iterator(channel) }

  /// Reads one message after the other.
  public struct Iterator: AsyncIteratorProtocol {
    /// A reference that keeps the channel open.
    private let channel: PeerChannel
    private var base: AsyncStream<Result<PeerMessage, LiquidAuthError>>.Iterator

    init(_ channel: PeerChannel) {
      self.channel = channel
      base = channel.ends.inbox.makeAsyncIterator()
    }

    /// The next message; `nil` after the last, and when the task was cancelled.
    public mutating func next() async throws(LiquidAuthError) -> PeerMessage? {
      try await next(isolation: nil)
    }

    /// The next message; `nil` after the last, and when the task was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(LiquidAuthError) -> PeerMessage? {
      guard let message = try await base.next(isolation: actor)?.get() else { return nil }
      channel.ends.hasRead(message)
      return message
    }
  }
}

extension LiquidAuthError {
  /// The channel is closed; a dApp that closed it may come back.
  static let channelClosed = Self(.channelLost, "the channel to the dApp is closed", hint: newLink)

  /// The connection is lost; the reason is the adapter's.
  static func channelLost(_ reason: String) -> Self {
    Self(.channelLost, "the connection to the dApp was lost: \(reason.onOneLine)", hint: newLink)
  }

  /// The dApp sent a message of this size; the channel was closed.
  static func incomingTooLarge(size: Int) -> Self {
    Self(
      "the dApp sent a message of \(size) bytes; the limit is \(PeerChannel.maximumIncomingSize)",
      hint: "report this to the dApp's operator")
  }

  /// The dApp sent more than was read in time; the channel was closed.
  public static let unread = Self("the dApp sent more than can be read", hint: "report this to the dApp's operator")

  /// The message is larger than the dApp accepts; the channel stays open.
  static func outgoingTooLarge(size: Int, limit: Int) -> Self {
    Self("the answer has \(size) bytes; the dApp accepts \(limit)", hint: "ask for less at a time")
  }
}
