import CTAP2
import CTAPHID
import Recovery

/// Tells the client of the request that runs in this task what it waits for.
///
/// A value around the closure, and not the closure itself: optimised by Swift 6.3, `withValue` of a task local whose type
/// is a function is handed no type and crashes.
struct RequestStatus: Sendable {
  /// That of a request that came over CTAPHID; `nil` for requests of the control door.
  @TaskLocal static var current: RequestStatus?

  /// Takes each new status.
  let report: @Sendable (KeepaliveStatus) async -> Void

  /// Says "waiting for the person" while `body` runs.
  fileprivate static func waiting<Answer: ~Copyable>(
    _ body: () async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    await current?.report(.upNeeded)
    do throws(UserInteractionError) {
      let answer = try await body()
      await current?.report(.processing)
      return answer
    } catch {
      await current?.report(.processing)
      throw error
    }
  }
}

/// Says that the device waits for its person, for as long as a prompt is open.
struct StatusReportingInteraction: UserInteraction {
  let base: any UserInteraction

  var canVerify: Bool { base.canVerify }
  var verificationTriesLeft: Int { base.verificationTriesLeft }

  func confirm(
    _ prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> Confirmation {
    try await RequestStatus.waiting { () async throws(UserInteractionError) -> Confirmation in
      try await base.confirm(prompt, verification: verification)
    }
  }
}

/// Says that the device waits for its person, while the passphrase is asked for.
struct StatusReportingKeySource: KeySource {
  let base: any KeySource

  var current: OpenVault? { base.current }
  var told: ToldSettings { base.told }

  func open(for wish: VaultWish?) async throws(UserInteractionError) -> OpenVault {
    try await RequestStatus.waiting { () async throws(UserInteractionError) -> OpenVault in
      try await base.open(for: wish)
    }
  }
}
