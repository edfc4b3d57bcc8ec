import LiquidAuth

/// What is said over one channel: the dApp asks, the provider answers.
///
/// Messages are read while a person is asked, so that a dApp that goes away withdraws its prompt.
struct Conversation {
  let channel: PeerChannel
  /// Told what happens.
  let report: @Sendable (WalletEvent) -> Void
  /// Whether it ends after the first answer.
  let isOnce: Bool

  /// How it ended.
  enum Ending: Equatable {
    /// The dApp closed the channel.
    case byDApp
    /// This side closes it, as was wanted.
    case asWanted
    /// Likewise, and the person did not agree to the one request.
    case refused(ARC27Error)
  }

  /// How many requests may wait while a person is asked about another.
  private static let maximumWaiting = 8

  /// Talks until the channel is closed, the task is cancelled or, where it is wanted, one request is answered.
  func run(_ provider: Provider) async throws(LiquidAuthError) -> Ending {
    let (frames, feed) = AsyncStream.makeStream(
      of: PeerMessage.self, bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    let outcome = await withTaskGroup(of: Result<Ending, LiquidAuthError>.self) { group in
      group.addTask { await read(into: feed) }
      group.addTask { await answer(frames, by: provider) }
      let first = await group.next() ?? .success(.byDApp)
      group.cancelAll()
      // On cancellation both end, as if there were nothing more to hear.
      return Task.isCancelled ? .success(.asWanted) : first
    }
    return try outcome.get()
  }

  private func read(into feed: AsyncStream<PeerMessage>.Continuation) async -> Result<Ending, LiquidAuthError> {
    do throws(LiquidAuthError) {
      var messages = channel.messages.makeAsyncIterator()
      while let message = try await messages.next() {
        // Liquid Auth's own wallets send ten in a row; they are no reason to hang up.
        if message == "ping" {
          report(.unanswered(.ping))
          continue
        }
        if case .dropped = feed.yield(message) { return .failure(.unread) }
      }
      return .success(.byDApp)
    } catch {
      return .failure(error)
    }
  }

  private func answer(_ frames: AsyncStream<PeerMessage>, by provider: Provider) async -> Result<
    Ending, LiquidAuthError
  > {
    var provider = provider
    for await frame in frames {
      // What is queued still comes after a cancellation.
      if Task.isCancelled { break }
      switch await provider.answer(frame) {
      case .none(let reason): report(.unanswered(reason))
      case .reply(let reply):
        // First of all: what a network took is done, also where nobody is left to be answered.
        if !reply.posted.isEmpty { report(.signing(.posted(reply.posted))) }
        if Task.isCancelled { return .success(.asWanted) }
        do throws(LiquidAuthError) {
          try await channel.send(reply.frame)
        } catch {
          return .failure(error)
        }
        report(.answered(method: reply.method, error: reply.error))
        if isOnce { return .success(Ending(of: reply.error)) }
      }
    }
    return .success(.asWanted)
  }
}

extension Conversation.Ending {
  /// How the only answer ends it.
  fileprivate init(of error: ARC27Error?) {
    switch error {
    case .methodCanceled(let method)?: self = .refused(.methodCanceled(method))
    case .methodTimedOut(let method)?: self = .refused(.methodTimedOut(method))
    default: self = .asWanted
    }
  }
}
