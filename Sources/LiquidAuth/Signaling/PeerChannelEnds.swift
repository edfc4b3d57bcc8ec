import Synchronization

/// What the two ends of a channel share: the peer connection's thread on one side, readers and writers on the other.
///
/// Nothing of the outside is called while the lock is held.
final class PeerChannelEnds: Sendable {
  private struct State {
    var connection: (any PeerConnection)?
    var isClosed = false
    var unread = (count: 0, size: 0)
    var bells: [Int: AsyncStream<Void>.Continuation] = [:]
    var lastBell = 0
  }

  /// What was received and is not read yet; a failure is the last element.
  let inbox: AsyncStream<Result<PeerMessage, LiquidAuthError>>
  private let feed: AsyncStream<Result<PeerMessage, LiquidAuthError>>.Continuation
  private let state = Mutex(State())

  /// Ends without a connection yet.
  init() {
    (inbox, feed) = AsyncStream.makeStream()
    feed.onTermination = { [weak self] _ in self?.close(nil) }
  }

  /// Takes the connection; one that comes too late is closed.
  func attach(_ connection: any PeerConnection) {
    let isClosed = state.withLock { state in
      if !state.isClosed { state.connection = connection }
      return state.isClosed
    }
    if isClosed { connection.close() }
  }

  /// The connection, while the channel is not closed.
  func connection() throws(LiquidAuthError) -> any PeerConnection {
    guard let connection = state.withLock({ $0.connection }) else { throw .channelClosed }
    return connection
  }

  /// Closes connection and inbox; `error` is told to the reader, after what was received before.
  func close(_ error: LiquidAuthError?) {
    let (isFirst, connection, bells) = state.withLock { state in
      defer { (state.isClosed, state.connection, state.bells) = (true, nil, [:]) }
      return (!state.isClosed, state.connection, state.bells)
    }
    guard isFirst else { return }
    connection?.close()
    bells.values.forEach { $0.finish() }
    if let error { feed.yield(.failure(error)) }
    feed.finish()
  }

  // MARK: The peer connection's side

  /// Takes what concerns an open channel; what belongs to its opening is the signaling's.
  ///
  /// - Returns: what the dApp did for which the channel is closed now; nothing more comes from it then.
  @discardableResult
  func receive(_ event: PeerEvent) -> LiquidAuthError? {
    switch event {
    case .message(let message):
      let fault = fault(of: message)
      if let fault { close(fault) } else { feed.yield(.success(message)) }
      return fault
    case .channelClosed: close(nil)
    case .failed(let reason): close(.channelLost(reason))
    case .bufferedAmountLow: state.withLock { Array($0.bells.values) }.forEach { $0.yield() }
    case .offer, .candidate, .noRelay, .channelOpen: break
    }
    return nil
  }

  /// What is wrong with a message or with how many wait; else it is counted.
  private func fault(of message: PeerMessage) -> LiquidAuthError? {
    let size = message.size
    guard size <= PeerChannel.maximumIncomingSize else { return .incomingTooLarge(size: size) }
    let hasRoom = state.withLock { state in
      state.unread.count += 1
      state.unread.size += size
      return state.unread.count <= PeerChannel.maximumUnreadCount && state.unread.size <= PeerChannel.maximumUnreadSize
    }
    return hasRoom ? nil : .unread
  }

  // MARK: The reader's and the writer's side

  /// Makes room for what comes next.
  func hasRead(_ message: PeerMessage) {
    state.withLock { state in
      state.unread.count -= 1
      state.unread.size -= message.size
    }
  }

  /// Has `bell` rung when the buffered amount is low, and finished when the channel is closed; at once if it is.
  func hang(_ bell: AsyncStream<Void>.Continuation) -> Int {
    let (id, isClosed) = state.withLock { state in
      state.lastBell += 1
      if !state.isClosed { state.bells[state.lastBell] = bell }
      return (state.lastBell, state.isClosed)
    }
    if isClosed { bell.finish() }
    return id
  }

  /// Takes a bell down.
  func takeDown(_ id: Int) { state.withLock { _ = $0.bells.removeValue(forKey: id) } }
}
