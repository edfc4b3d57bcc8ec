import Foundation
public import Testing

/// The minutes after which a test takes a wait for a hang; `scripts/test` makes all waits longer by one setting.
public let patience = Int(ProcessInfo.processInfo.environment["LIQUID_TEST_PATIENCE"] ?? "") ?? 1

extension Trait where Self == TimeLimitTrait {
  /// A limit of ``patience``, for hangs only.
  public static var limited: Self { .timeLimit(.minutes(patience)) }
}

extension Duration {
  /// The limit of a wait, for hangs only.
  public static var patience: Duration { .seconds(60 * TestVectors.patience) }
}

/// Waits until another task, thread or process has met the condition, without blocking a thread.
///
/// - Returns: `false` after the limit, which is for hangs only; then it also records an issue.
@discardableResult
public func eventually(
  _ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async rethrows -> Bool {
  let limit = ContinuousClock.now + .patience
  while try !condition() {
    guard ContinuousClock.now < limit, !Task.isCancelled else {
      guard try !condition() else { return true }
      Issue.record("it did not come to that", sourceLocation: sourceLocation)
      return false
    }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
