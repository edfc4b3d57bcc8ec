import LiquidAuth
import Synchronization

/// The exchange over one channel: requests of the dApp, answers of the provider.
///
/// Messages are read while a prompt is open, so that a dApp that disconnects withdraws its prompt.
struct Conversation {
  let channel: PeerChannel
  /// Called for each event.
  let report: @Sendable (WalletEvent) -> Void
  /// Whether it ends after the first answer.
  let isOnce: Bool

  /// How the conversation ended.
  enum Ending: Equatable {
    /// The dApp closed the channel.
    case byDApp
    /// This side closes it, as requested.
    case asWanted
    /// This side closes it, and the user refused the only request.
    case refused(ARC27Error)
  }

  /// The most requests that may wait while a prompt for another is open.
  private static let maximumWaiting = 8

  /// A dApp that leaves within this time, without a request, wanted something else.
  private static let shortestStay = Duration.seconds(5)

  /// Runs until the channel is closed, the task is cancelled or, if `isOnce`, one request is answered.
  ///
  /// - Throws: `answerLost` if the dApp left before it got the only answer; the fault or loss of the channel.
  func run(_ provider: Provider) async throws(LiquidAuthError) -> Ending {
    let (begin, hasRequested) = (ContinuousClock.now, Latch())
    let (frames, feed) = AsyncStream.makeStream(
      of: PeerMessage.self, bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    let outcome = await withTaskGroup(of: Result<Ending, LiquidAuthError>.self) { group in
      group.addTask { await read(into: feed, hasRequested) }
      group.addTask { await answer(frames, by: provider) }
      let first = await group.next() ?? .success(.byDApp)
      group.cancelAll()
      // The reader may be the first to learn that the dApp has left. A fault of the dApp says more than that.
      let (second, lost) = (await group.next(), Result<Ending, LiquidAuthError>.failure(.answerLost))
      let isFault = if case .failure(let error) = first { error.kind == .failed } else { false }
      // On cancellation both end as if the channel were at its end.
      return Task.isCancelled ? .success(.asWanted) : second == lost && !isFault ? lost : first
    }
    if !hasRequested.isSet, ContinuousClock.now - begin < Self.shortestStay, !Task.isCancelled {
      switch outcome {
      case .success(.byDApp): report(.leftAtOnce(nil))
      case .failure(let error) where error.kind == .channelLost: report(.leftAtOnce(error.reason))
      default: break
      }
    }
    return try outcome.get()
  }

  private func read(
    into feed: AsyncStream<PeerMessage>.Continuation, _ hasRequested: Latch
  ) async -> Result<Ending, LiquidAuthError> {
    do throws(LiquidAuthError) {
      var messages = channel.messages.makeAsyncIterator()
      while let message = try await messages.next() {
        // Liquid Auth's own wallets send ten in a row, which is no reason to close the channel.
        if message == "ping" {
          report(.unanswered(.ping))
          continue
        }
        hasRequested.set()
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
      // Queued messages still arrive after a cancellation.
      if Task.isCancelled { break }
      switch await provider.answer(frame) {
      case .none(let reason): report(.unanswered(reason))
      case .reply(let reply):
        // Reported first: a network has accepted the transactions even if the dApp is gone.
        if !reply.posted.isEmpty { report(.signing(.posted(reply.posted))) }
        // An error may say only that a prompt was withdrawn because the dApp had left.
        let lost: Result<Ending, LiquidAuthError>? = isOnce && reply.error == nil ? .failure(.answerLost) : nil
        if Task.isCancelled { return lost ?? .success(.asWanted) }
        do throws(LiquidAuthError) {
          try await channel.send(reply.frame)
        } catch {
          return error.kind == .failed ? .failure(error) : lost ?? .failure(error)
        }
        if let introduction = reply.introduction { report(.introduced(introduction)) }
        report(.answered(method: reply.method, error: reply.error))
        if isOnce { return .success(Ending(of: reply.error)) }
      }
    }
    return .success(.asWanted)
  }
}

extension LiquidAuthError {
  /// The dApp left before it got the only answer.
  static let answerLost = Self("the answer did not reach the dApp, because the channel was closed", hint: newLink)
}

/// The conversations with one dApp, one after the other, each over a channel of its own.
final class Conversations: Sendable {
  /// Whether they end after the first answer.
  let isOnce: Bool
  private let ending = Mutex<Result<Conversation.Ending, LiquidAuthError>?>(nil)

  init(isOnce: Bool) { self.isOnce = isOnce }

  /// Whether there was a conversation.
  var hasBegun: Bool { ending.withLock { $0 != nil } }

  /// Holds one; returns whether another may follow: the dApp has left, or the connection to it was lost.
  func hold(_ conversation: Conversation, by provider: Provider) async -> Bool {
    let result: Result<Conversation.Ending, LiquidAuthError>
    do throws(LiquidAuthError) {
      result = .success(try await conversation.run(provider))
    } catch {
      result = .failure(error)
    }
    ending.withLock { $0 = result }
    return switch result {
    case .success(let ending): ending == .byDApp
    case .failure(let error): error.kind == .channelLost
    }
  }

  /// How the last one ended.
  ///
  /// - Parameter ending: how the wait for another ended. If there was none, a lost connection is a failure.
  func last(before ending: SignalingEnding) throws(LiquidAuthError) -> Conversation.Ending {
    guard let last = self.ending.withLock({ $0 }) else { return .byDApp }
    do throws(LiquidAuthError) { return try last.get() } catch {
      guard error.kind == .channelLost, ending != .done else { throw error }
      return .byDApp
    }
  }
}

extension Conversation.Ending {
  /// The ending that follows from the only answer.
  fileprivate init(of error: ARC27Error?) {
    switch error {
    case .methodCanceled(let method, let reason)?: self = .refused(.methodCanceled(method, reason: reason))
    case .methodTimedOut(let method)?: self = .refused(.methodTimedOut(method))
    default: self = .asWanted
    }
  }
}
