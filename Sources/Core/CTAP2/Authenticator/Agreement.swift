package import Recovery

// Unlocking and prompts for requests that are not CTAP commands, such as a wallet's: their errors are more
// specific than those that a platform gets.

extension Authenticator {
  /// Whether the authenticator itself can verify the user.
  public var canVerify: Bool { interaction.canVerify }

  /// The open vault; if it is locked, asks for the passphrase and shows the reason.
  package func vault(for reason: UnlockReason) async throws(CTAPError) -> OpenVault {
    if let vault = keySource.current { return vault }
    do throws(UserInteractionError) { return try await keySource.open(for: reason, from: client) } catch {
      throw CTAPError(ofAgreement: error)
    }
  }

  /// The same for a request of which nothing else is reported: reports a prompt that failed, such as a refusal.
  package func vault(for reason: UnlockReason, reporting request: String) async throws(CTAPError) -> OpenVault {
    let start = now()
    do throws(CTAPError) {
      return try await vault(for: reason)
    } catch {
      report(CommandReport(command: request, rpID: nil, error: error, elapsed: now() - start, client: client))
      throw error
    }
  }

  /// Prompts the user, with verification if it is configured.
  package func agreement(to prompt: UserPrompt, with vault: OpenVault) async throws(CTAPError) -> UserConsent {
    do throws(UserInteractionError) {
      return try await ask(prompt, verification: canVerify, with: vault)
    } catch {
      throw CTAPError(ofAgreement: error)
    }
  }

  /// Runs `body`, which also returns what verified the user; reports the request, its origin and its outcome.
  package func reported<Answer>(
    _ request: String, _ kind: HistoryEntry.Kind, of origin: String?,
    _ body: () async throws(CTAPError) -> (Answer, HistoryEntry.Verification)
  ) async throws(CTAPError) -> Answer {
    let start = now()
    var outcome = CommandReport(command: request, rpID: origin, error: nil, elapsed: .zero, kind: kind, client: client)
    defer {
      outcome.elapsed = now() - start
      report(outcome)
    }
    do throws(CTAPError) {
      let (answer, verification) = try await body()
      outcome.verification = verification
      return answer
    } catch {
      outcome.error = error
      throw error
    }
  }
}

extension CTAPError {
  /// Maps a failed prompt as clientPIN does (CTAP §6.5.5.7.3), where a wrong passphrase is not a refusal.
  fileprivate init(ofAgreement error: UserInteractionError) {
    switch error {
    case .wrongPassphrase:
      self.init(.uvInvalid, "the vault stays locked: the passphrase was wrong in every try", prompt: error)
    case .verificationFailed: self.init(.uvInvalid, "the passphrase was wrong in every try", prompt: error)
    case .verificationBlocked:
      self.init(.uvBlocked, "the passphrase was wrong too often, and the vault is locked now", prompt: error)
    case .declined, .unavailable, .timedOut, .cancelled: self.init(error)
    }
  }
}
