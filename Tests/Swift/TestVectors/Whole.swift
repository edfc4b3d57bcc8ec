import Foundation
public import Testing

/// Set by `scripts/test` for a part that runs whole; in the gate, a sweep over every bit or count takes a part of them.
package let isWhole = !(ProcessInfo.processInfo.environment["LIQUID_TEST_WHOLE"] ?? "").isEmpty

extension Trait where Self == ConditionTrait {
  /// A test that is not in the gate, with the reason: only a whole run of `unit` has it.
  public static func whole(_ reason: Comment) -> Self { .enabled(if: isWhole, reason) }
}
