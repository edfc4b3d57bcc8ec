import CTAP2
import CTAPHID
import ControlDoor
import CryptoPrimitives
import Glibc
import Recovery
import StateDirectory

/// The desk as the control door sees it, which knows the device too.
struct KeyDesk: ControlDesk {
  let desk: Desk
  let key: SecurityKey

  func status() async -> AuthenticatorStatus {
    let vault = desk.vault.status
    let node = await key.node
    // The store is for one at a time, and a ceremony may wait for a person.
    let (credentials, settings, told) =
      desk.queue.ifFree { [vault = desk.vault] in
        let open = vault.current
        let settings = open.map { try? $0.settings() }
        return (try? open?.store.credentialCount(), settings ?? nil, settings.map { $0?.told } ?? vault.told)
      } ?? (nil, nil, nil)
    return AuthenticatorStatus(
      processID: getpid(), vault: condition(of: vault), transport: desk.options.transport.name,
      attached: await key.isAttached, node: node?.path, access: node?.access,
      verification: desk.options.verification.rawValue, prompt: desk.prompter.backEnd.name,
      fingerprint: vault.fingerprint, waiting: desk.prompter.isAsking,
      problems: problems(vault, told, dialogs: await desk.prompter.problem),
      stateDirectory: desk.directory.path, credentials: credentials.map(UInt64.init),
      steppedAsideFor: await key.steppedAsideFor?.description,
      algorandSignatures: desk.signatures.algorand, associationSignatures: desk.signatures.association,
      hasReaders: settings?.hasPersistentToken)
  }

  func lock() async { desk.vault.lock() }

  func device(_ action: DeviceAction) async throws(ControlFailure) {
    do throws(TransportError) {
      switch action {
      case .attach: try await key.attach()
      case .detach: await key.detach()
      case .replug: try await key.replug()
      case .powerCycle: try await key.powerCycle()
      }
    } catch {
      throw ControlFailure(.unavailable, error.description)
    }
  }

  func unlock(_ passphrase: SecretBytes) async throws(ControlFailure) -> Unlocking {
    do throws(StateDirectoryError) {
      if let unlocking = try await desk.vault.unlock(passphrase: passphrase) { return unlocking }
    } catch {
      throw ControlFailure(error)
    }
    throw ControlFailure(.keepaliveCancel, "the vault was locked meanwhile, or the request withdrawn")
  }

  func newStore(_ passphrase: SecretBytes) async throws(ControlFailure) {
    try await mendStore { directory throws(StateDirectoryError) in try directory.makeNewStore(passphrase: passphrase) }
  }

  func acceptStore(_ passphrase: SecretBytes) async throws(ControlFailure) {
    guard !desk.vault.hasStore else {
      throw ControlFailure(.notAllowed, "the store is open and unmodified: there is nothing to accept")
    }
    try await mendStore { directory throws(StateDirectoryError) in try directory.acceptStore(passphrase: passphrase) }
  }

  /// Changes the store's file in the turn of the ceremonies, and forgets what was known of it.
  private func mendStore(
    _ mend: @escaping @Sendable (StateDirectory) throws(StateDirectoryError) -> Void
  ) async throws(ControlFailure) {
    let directory = desk.directory
    let vault = desk.vault
    let outcome = await inTurn { _ in
      await OwnThread.run {
        Result { () throws(StateDirectoryError) in
          try mend(directory)
          vault.storeWasReplaced()
        }
      }.mapError(ControlFailure.init)
    }
    try outcome.get()
  }

  func respond(to message: [UInt8], client: UInt64) async -> [UInt8] {
    // CTAPHID's channels are numbers of 32 bits.
    let context = RequestContext(channel: 1 << 32 + client, times: await key.times)
    return await desk.respond(to: message, in: context)
  }

  func withOpenVault<Answer: Sendable>(
    _ body: @escaping @Sendable (OpenVault, inout Authenticator) throws(ControlFailure) -> Answer
  ) async throws(ControlFailure) -> Answer {
    let vault = desk.vault
    let outcome = await inTurn { authenticator in
      Result { () throws(ControlFailure) in
        guard let open = vault.current else {
          throw ControlFailure(.passphraseRequired, "the vault is locked; the passphrase is needed again")
        }
        return try body(open, &authenticator)
      }
    }
    return try outcome.get()
  }

  func inTurn(
    _ body: @escaping @Sendable (Authenticator) async throws(ControlFailure) -> [UInt8]
  ) async throws(ControlFailure) -> [UInt8] {
    let outcome = await inTurn { authenticator -> Result<[UInt8], ControlFailure> in
      do throws(ControlFailure) { return .success(try await body(authenticator)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  /// Works in the turn of the ceremonies, unless the client goes away before it comes; a list of accounts that is not
  /// told to the end ends, because they may change.
  private func inTurn<Answer: Sendable>(
    _ work: @Sendable (inout Authenticator) async -> Result<Answer, ControlFailure>
  ) async -> Result<Answer, ControlFailure> {
    do throws(CancellationError) {
      return try await desk.queue.submit { authenticator in
        authenticator.forgetRemaining()
        return await withTaskExecutorPreference(desk.writer) { await work(&authenticator) }
      }
    } catch {
      return .failure(ControlFailure(.keepaliveCancel, "the request was withdrawn"))
    }
  }

  /// - Parameter settings: `nil` where nobody can tell now.
  private func problems(_ vault: VaultStatus, _ settings: ToldSettings?, dialogs: String?) -> [String] {
    let nothingVerifies = settings.map { $0.alwaysUV && !$0.isPINSet && desk.options.verification == .none } ?? false
    let isPINBlocked = settings.map { $0.isPINSet && $0.pinRetries == 0 } ?? false
    return [
      vault.fault?.description, dialogs, nothingVerifies ? OwnerSettings.nothingVerifies : nil,
      isPINBlocked ? "the PIN is blocked: no tries are left; set another with: liquid-auth pin change" : nil,
      SecretBytes.areLocked ? nil : Self.notLocked,
    ].compactMap { $0 }
  }

  private static let notLocked = """
    the system did not lock all memory that holds secrets, so they may be written to swap; raise the limit to \
    1024 KiB or more (ulimit -l 1024, or LimitMEMLOCK= in a systemd unit) and restart liquid-authenticator
    """

  private func condition(of vault: VaultStatus) -> AuthenticatorStatus.VaultCondition {
    if vault.isUnlocked { return .unlocked }
    guard let fault = vault.fault else { return .locked }
    return fault.reason == .missing && access(desk.directory.vaultPath, F_OK) != 0 ? .missing : .unusable
  }
}

extension ControlFailure {
  /// What is wrong with vault or store, as the answer to a request.
  init(_ error: StateDirectoryError) {
    self.init(error.reason == .wrongPassphrase ? .wrongPassphrase : .unavailable, error.description)
  }
}
