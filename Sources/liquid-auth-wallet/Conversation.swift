import LiquidAuth

/// What is said over one channel: the dApp asks, the provider answers.
///
/// Messages are read while a person is asked, so that a dApp that goes away withdraws its prompt.
struct Conversation {
  let channel: PeerChannel
  let output: EventOutput
  /// Whether it ends after the first answer.
  let isOnce: Bool

  /// How many requests may wait while a person is asked about another.
  private static let maximumWaiting = 8

  /// Talks until the channel is closed, the task is cancelled or, where it is wanted, one request is answered.
  ///
  /// - Returns: whether it was the dApp that ended it.
  func run(_ provider: Provider) async throws(PeerChannelError) -> Bool {
    let (frames, feed) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    let outcome = await withTaskGroup(of: Result<Bool, PeerChannelError>.self) { group in
      group.addTask { await read(into: feed) }
      group.addTask { await answer(frames, by: provider) }
      let first = await group.next() ?? .success(true)
      group.cancelAll()
      return first
    }
    return try outcome.get()
  }

  private func read(into feed: AsyncStream<String>.Continuation) async -> Result<Bool, PeerChannelError> {
    do throws(PeerChannelError) {
      var messages = channel.messages.makeAsyncIterator()
      while let message = try await messages.next() {
        if case .dropped = feed.yield(message) { return .failure(.unread) }
      }
      return .success(true)
    } catch {
      return .failure(error)
    }
  }

  private func answer(_ frames: AsyncStream<String>, by provider: Provider) async -> Result<Bool, PeerChannelError> {
    var provider = provider
    for await frame in frames {
      switch await provider.answer(frame) {
      case .none(let reason): output.report(.unanswered(reason))
      case .reply(let reply):
        if Task.isCancelled { break }
        do throws(PeerChannelError) {
          try await channel.send(reply.frame)
        } catch {
          return .failure(error)
        }
        output.report(.answered(method: reply.method, error: reply.error))
        if isOnce { return .success(false) }
      }
    }
    return .success(false)
  }
}
