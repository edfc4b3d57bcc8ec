import TestSupport
import TestVectors
import Testing

@testable import FuzzTargets

/// The targets of `scripts/fuzz`, without libFuzzer.
@Suite struct TargetTests {
  @Test func `each target has a name of its own`() {
    #expect(Set(Target.all.map(\.name)).count == Target.all.count)
  }

  /// A fault ends the process, as it does for libFuzzer.
  @Test(.limited, arguments: Target.all.map(\.name)) func `a target reads its seeds`(name: String) async throws {
    let target = try #require(Target.all.first { $0.name == name })
    let seeds = try target.seeds().filter { $0.count <= target.maximumSize }
    #expect(!seeds.isEmpty)
    try await BlockingWork { for seed in seeds { try target.read(seed) } }.value
  }
}
