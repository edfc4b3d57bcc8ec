import Foundation

/// Blocking work on a thread of its own, which begins at once.
///
/// Tests run on as many threads as there are processors. A test that blocks one must not wait for a task, which needs
/// another.
public struct BlockingWork<Value: Sendable>: Sendable {
  private let outcome: AsyncThrowingStream<Value, any Error>

  /// Starts the work.
  public init(_ body: @escaping @Sendable () throws -> Value) {
    let (outcome, continuation) = AsyncThrowingStream.makeStream(of: Value.self)
    self.outcome = outcome
    Thread.detachNewThread {
      do {
        continuation.yield(try body())
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
  }

  /// The result, once the work has ended.
  public var value: Value {
    get async throws {
      for try await value in outcome { return value }
      throw CancellationError()
    }
  }
}
