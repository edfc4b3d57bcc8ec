import CTAP2
import CTAPHID

/// Tells the client of the request that runs in this task what it waits for.
enum RequestStatus {
  /// Where the request came from over CTAPHID, takes its status; `nil` for requests of the control door.
  @TaskLocal static var report: (@Sendable (KeepaliveStatus) async -> Void)?

  /// Says "waiting for the person" while `body` runs.
  static func upNeeded<Answer: ~Copyable>(
    _ body: () async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    await report?(.upNeeded)
    do throws(UserInteractionError) {
      let answer = try await body()
      await report?(.processing)
      return answer
    } catch {
      await report?(.processing)
      throw error
    }
  }
}

/// Says in the keepalives that the device waits for its person, for as long as a prompt is open.
struct StatusReportingInteraction: UserInteraction {
  let base: any UserInteraction

  var canVerify: Bool { base.canVerify }

  func confirm(
    _ prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> UserConsent {
    try await RequestStatus.upNeeded { () async throws(UserInteractionError) -> UserConsent in
      try await base.confirm(prompt, verification: verification)
    }
  }
}

/// Says in the keepalives that the device waits for its person while the passphrase is asked for.
struct StatusReportingKeySource: KeySource {
  let base: any KeySource

  var current: OpenVault? { base.current }

  func open() async throws(UserInteractionError) -> OpenVault {
    try await RequestStatus.upNeeded { () async throws(UserInteractionError) -> OpenVault in try await base.open() }
  }
}
