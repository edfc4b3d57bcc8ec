import Synchronization

/// The state that both ends of a channel share: the peer connection's thread on one side, readers and writers on the
/// other.
///
/// No foreign code is called while the lock is held.
final class PeerChannelEnds: Sendable {
  private struct State {
    var connection: (any PeerConnection)?
    var isClosed = false
    /// Why it was closed, if not in order.
    var fault: LiquidAuthError?
    var unread = (count: 0, size: 0)
    var bells: [Int: AsyncStream<Void>.Continuation] = [:]
    var lastBell = 0
  }

  /// Received and unread messages; a failure is the last element.
  let inbox: AsyncStream<Result<PeerMessage, LiquidAuthError>>
  private let feed: AsyncStream<Result<PeerMessage, LiquidAuthError>>.Continuation
  private let state = Mutex(State())

  /// Ends without a connection yet.
  init() {
    (inbox, feed) = AsyncStream.makeStream()
    feed.onTermination = { [weak self] _ in self?.close(nil) }
  }

  /// Attaches the connection; closes it if the channel is already closed.
  func attach(_ connection: any PeerConnection) {
    let isClosed = state.withLock { state in
      if !state.isClosed { state.connection = connection }
      return state.isClosed
    }
    if isClosed { connection.close() }
  }

  /// The connection, unless the channel is closed.
  func connection() throws(LiquidAuthError) -> any PeerConnection {
    let (connection, fault) = state.withLock { ($0.connection, $0.fault) }
    guard let connection else { throw fault ?? .channelClosed }
    return connection
  }

  /// Closes connection and inbox; a writer gets `error`, and the reader gets it after the messages received before.
  func close(_ error: LiquidAuthError?) {
    let (isFirst, connection, bells) = state.withLock { state in
      defer {
        if !state.isClosed { state.fault = error }
        (state.isClosed, state.connection, state.bells) = (true, nil, [:])
      }
      return (!state.isClosed, state.connection, state.bells)
    }
    guard isFirst else { return }
    connection?.close()
    bells.values.forEach { $0.finish() }
    if let error { feed.yield(.failure(error)) }
    feed.finish()
  }

  // MARK: The peer connection's side

  /// Handles the events of an open channel; those of its opening are left to the signaling.
  ///
  /// - Returns: the dApp's fault for which the channel was closed; no further events follow.
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

  /// The fault of a message or of the number of unread ones; a good message is counted.
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

  /// Subtracts a message that was read from the unread ones.
  func hasRead(_ message: PeerMessage) {
    state.withLock { state in
      state.unread.count -= 1
      state.unread.size -= message.size
    }
  }

  /// Registers a bell that rings when the buffered amount is low, and finishes when the channel is closed.
  func addBell(_ bell: AsyncStream<Void>.Continuation) -> Int {
    let (id, isClosed) = state.withLock { state in
      state.lastBell += 1
      if !state.isClosed { state.bells[state.lastBell] = bell }
      return (state.lastBell, state.isClosed)
    }
    if isClosed { bell.finish() }
    return id
  }

  /// Removes a bell.
  func removeBell(_ id: Int) { state.withLock { _ = $0.bells.removeValue(forKey: id) } }
}
