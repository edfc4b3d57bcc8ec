import CTAP2
import CTAPHID
import Synchronization

/// Tells the client of the request that runs in this task what it waits for.
///
/// A value around the closure, and not the closure itself: optimised by Swift 6.3, `withValue` of a task local whose type
/// is a function is handed no type and crashes.
struct RequestStatus: Sendable {
  /// That of a request that came over CTAPHID; `nil` for requests of the control door.
  @TaskLocal static var current: RequestStatus?

  /// Takes each new status.
  let report: @Sendable (KeepaliveStatus) async -> Void
}

/// The prompts that are open: told in keepalives and in `liquid-auth status`.
final class OpenPrompts: Sendable {
  private let count = Atomic(0)

  /// Whether somebody is being asked something now.
  var isAnybodyAsked: Bool { count.load(ordering: .relaxed) > 0 }

  /// Counts a prompt and says "waiting for the person" while `body` runs.
  func during<Answer: ~Copyable>(
    _ body: () async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    count.add(1, ordering: .relaxed)
    defer { count.subtract(1, ordering: .relaxed) }
    await RequestStatus.current?.report(.upNeeded)
    do throws(UserInteractionError) {
      let answer = try await body()
      await RequestStatus.current?.report(.processing)
      return answer
    } catch {
      await RequestStatus.current?.report(.processing)
      throw error
    }
  }
}

/// Says that the device waits for its person, for as long as a prompt is open.
struct StatusReportingInteraction: UserInteraction {
  let base: any UserInteraction
  let prompts: OpenPrompts

  var canVerify: Bool { base.canVerify }
  var verificationTriesLeft: Int { base.verificationTriesLeft }

  func confirm(
    _ prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> UserConsent {
    try await prompts.during { () async throws(UserInteractionError) -> UserConsent in
      try await base.confirm(prompt, verification: verification)
    }
  }
}

/// Says that the device waits for its person, while the passphrase is asked for.
struct StatusReportingKeySource: KeySource {
  let base: any KeySource
  let prompts: OpenPrompts

  var current: OpenVault? { base.current }
  var told: ToldSettings { base.told }

  func open(for prompt: UserPrompt?) async throws(UserInteractionError) -> OpenVault {
    try await prompts.during { () async throws(UserInteractionError) -> OpenVault in try await base.open(for: prompt) }
  }
}
