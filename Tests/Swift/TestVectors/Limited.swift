import Foundation
public import Testing

extension Trait where Self == TimeLimitTrait {
  /// A limit of one minute, for hangs only; `scripts/test` makes all limits longer by one setting.
  public static var limited: Self {
    .timeLimit(.minutes(Int(ProcessInfo.processInfo.environment["LIQUID_TEST_PATIENCE"] ?? "") ?? 1))
  }
}
