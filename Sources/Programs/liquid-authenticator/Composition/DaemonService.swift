import CTAP2
import CTAPHID
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import EventLoop
import Fingerprint
import Glibc
import HelperProcess
import ProcessIO
import Prompts
import ProtectorProtocol
import Recovery
import StateDirectory
import Synchronization
import Vault

/// The daemon as the control socket serves it: the request router and the device.
struct DaemonService: ControlService {
  let router: RequestRouter
  let key: CTAPHIDDriver
  let fingerprints: FingerprintReader?
  let followers: BackupFollowers
  let dApps: DAppConnections
  let tickets: TerminalTickets
  let history: HistoryRecorder
  /// Notes that all requests will be withdrawn, so that they do not count as refused; gets the door of the request that
  /// asks for it.
  let noteWithdrawals: @Sendable (_ own: Door?) -> Void
  /// Withdraws all requests and their dialogs, and waits for their end, for a few seconds at most; gets the door of the
  /// request that asks for it.
  let withdrawRequests: @Sendable (_ own: Door?) async -> Void
  /// What is wrong with the connection to logind, if anything.
  let sessionProblem: @Sendable () -> String?
  /// The origin of the request that is served.
  var origin: RequestOrigin?

  func serving(_ origin: RequestOrigin) -> Self {
    var service = self
    service.origin = origin
    return service
  }

  func status() async -> AuthenticatorStatus {
    await key.settle()
    let vault = router.vault.status
    let node = await key.node
    // Not in turn with the requests: a ceremony may wait for a person.
    let open = router.vault.current
    let (credentials, state) = open?.store.overview() ?? (nil, nil)
    let reported = open == nil ? router.vault.reported : state?.settings.reported
    var prompts = router.prompter.report
    prompts.isWaiting = router.prompter.isAsking
    prompts.answerByThemselves = await router.prompter.answersByItself
    var status = AuthenticatorStatus(
      processID: getpid(), stateDirectory: router.directory.path,
      problems: problems(
        vault, reported, device: await key.problem,
        prompts: [await router.prompter.problem] + (await router.prompter.problems(of: reported?.means ?? []))),
      verification: verification(reported),
      vault: .init(
        condition(of: vault), fingerprint: vault.fingerprint, previousFingerprint: vault.previousFingerprint,
        lockReason: vault.lockReason?.description, unlockedBy: vault.unlockedBy),
      device: .init(
        transport: router.options.transport.name, attached: await key.isAttached, node: node?.path,
        access: node?.access, steppedAsideFor: await key.steppedAsideFor?.description),
      prompts: prompts)
    status.store = .init(
      credentials: credentials.map(UInt64.init), hasReaders: state?.settings.hasPersistentToken,
      counter: vault.counterProblem == nil ? state?.counter?.value : nil,
      defaultPolicy: state?.policies.standard.rawValue)
    status.backup = .init(
      written: state?.backup.lastWritten, checked: state?.backup.checked, folder: state?.backup.folder,
      report: state?.backup.folder == nil ? nil : followers.report)
    status.wallets = .init(
      algorandSignatures: router.signatures.algorand, associationSignatures: router.signatures.association,
      openDApps: UInt64(dApps.openCount), awayDApps: UInt64(dApps.awayCount))
    return status
  }

  /// Locks the vault and closes the store, after a change that is being written.
  ///
  /// A dialog of a request that began before is withdrawn: its answer must not count after the lock.
  func lock() async {
    noteWithdrawals(origin?.door)
    await withTaskExecutorPreference(router.writer) { _ = router.vault.lock(.command) }
    await withdrawRequests(origin?.door)
  }

  func device(_ action: PlugDevice.Action) async throws {
    switch action {
    case .attach: try await key.attach()
    case .detach: await key.detach()
    case .replug: try await key.replug()
    case .powerCycle: try await key.powerCycle()
    case .askAgain:
      guard await router.prompter.askAgain() else {
        throw ControlFailure(.notAllowed, "there is no closed prompt that a browser still waits for")
      }
    }
  }

  func unlock(_ passphrase: SecretBytes) async throws -> Unlocking {
    guard let unlocking = try await router.keySource.unlock(passphrase: passphrase) else {
      throw ControlFailure(.keepaliveCancel, "the vault was locked meanwhile, or the request was cancelled")
    }
    return unlocking
  }

  func unlockBySlot() async throws -> Bool {
    let (keySource, refused, origin) = (router.keySource, router.refused, origin)
    return try await inTurn(changes: false) { _ in try await keySource.openBySlot(from: origin, countedBy: refused) }
  }

  func newStore(_ passphrase: SecretBytes) async throws {
    let warning = try await repairStore(isNew: true) { directory throws(StateDirectoryError) in
      try directory.makeNewStore(passphrase: passphrase)
    }
    router.vault.files.warn(warning)
  }

  func acceptStore(_ passphrase: SecretBytes) async throws -> UInt64 {
    guard !router.vault.files.hasStore else {
      throw ControlFailure(
        .notAllowed, "the passkeys of the store are unmodified", hint: "to replace a modified history, first run:",
        run: ["liquid-auth", "lock"])
    }
    return try await repairStore(isNew: false) { directory throws(StateDirectoryError) in
      try directory.acceptStore(passphrase: passphrase, now: Daemon.unixMilliseconds())
    }
  }

  func changeSlots(
    since unlocking: Unlocking, recordedAs kind: HistoryEntry.Kind,
    _ change: @escaping @Sendable (inout VaultFile, UnlockedVault) throws(VaultError) -> Void
  ) async throws {
    let vault = router.vault
    try await inTurn { authenticator in
      try vault.changeSlots(since: unlocking, change) { authenticator.reportChange(kind, of: nil) }
    }
  }

  func changeCounter(since unlocking: Unlocking, _ change: ChangeCounter.Change) async throws -> UInt32? {
    let vault = router.vault
    return try await inTurn { authenticator in
      guard let open = vault.current else { throw ControlSession.passphraseRequired }
      let kind: HistoryEntry.Kind =
        switch change {
        case .on: .turnOnCounter
        case .off: .turnOffCounter
        case .accept: .acceptOldStore
        }
      let changing = authenticator
      return try await OwnThread.run {
        Result {
          try changing.reportingChange(kind, of: nil, in: open) {
            try vault.changeCounter(since: unlocking, change)
          }
        }
      }.get()
    }
  }

  func beginRotation(since unlocking: Unlocking, to phrase: StateDirectory.NewPhrase) async throws {
    let (vault, history) = (router.vault, history)
    try await inTurn { authenticator in
      // The new store begins with a copy of the history, and a store that is replaced gets no entries.
      await history.finish()
      let now = authenticator.wallClock()
      try await OwnThread.run { Result { try vault.beginRotation(since: unlocking, to: phrase, now: now) } }.get()
    }
  }

  func endRotation(since unlocking: Unlocking, acceptsHistory: Bool) async throws {
    let (vault, history) = (router.vault, history)
    try await inTurn { authenticator in
      guard let open = vault.current, open.unlocking === unlocking else { throw ControlSession.passphraseRequired }
      await history.finish()
      try open.refuseKeysLeft(acceptsHistory: acceptsHistory)
      try vault.endRotation(since: unlocking) { authenticator.reportChange(.endRotation, of: nil) }
    }
  }

  func check(_ means: VerificationMeans) async throws {
    guard router.options.verification == .passphrase else {
      throw ControlFailure(
        .notAllowed,
        "with --verification none, only a PIN verifies you; start the authenticator with --verification passphrase"
      )
    }
    switch means {
    case .fingerprint:
      guard let fingerprints else {
        throw ControlFailure(.notAllowed, "there is no system bus, so fprintd cannot be reached")
      }
      let result = await OwnThread.run { Result { () throws(FingerprintFailure) in try fingerprints.check() } }
      if case .failure(.failed(let words)) = result { throw ControlFailure(.notAllowed, words) }
    case .pam:
      guard let converse = router.prompter.converse else {
        throw ControlFailure(.notAllowed, "this authenticator cannot use PAM")
      }
      let result = await OwnThread.run {
        Result { () throws(ProtectorFailure) in
          try converse(.check).get().next(until: .now + Self.checkLimit, Cancellation())
        }
      }
      switch result {
      case .success(.accepted): break
      case .success(.failed(let failure)), .failure(let failure):
        throw ControlFailure(.notAllowed, failure.description)
      case .success: throw ControlFailure(.notAllowed, ProtectorFailure.malformed(.account).description)
      }
    }
    await router.prompter.works(means)
  }

  /// Replaces or accepts the store in turn with the ceremonies.
  private func repairStore<Answer: Sendable>(
    isNew: Bool, _ repair: @escaping @Sendable (StateDirectory) throws(StateDirectoryError) -> Answer
  ) async throws -> Answer {
    let vault = router.vault
    return try await inTurn { _ in
      try await OwnThread.run {
        Result { () throws(StateDirectoryError) in try vault.repairStore(isNew: isNew, repair) }
      }.get()
    }
  }

  func respond(to message: [UInt8], client: UInt64, isHybrid: Bool) async -> [UInt8] {
    var origin = origin
    if isHybrid { origin?.door.isOfAnotherComputer() }
    // CTAPHID's channels are numbers of 32 bits.
    let context = RequestContext(
      channel: 1 << 32 + client, times: await key.times, client: origin, isHybrid: isHybrid)
    return await router.respond(to: message, in: context, isOfDevice: false)
  }

  func inTurn<Answer: Sendable>(
    changes: Bool, _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer {
    let outcome: Result<Answer, any Error> = try await router.refused.submit(
      to: router.queue, from: origin
    ) { authenticator in
      authenticator.client = origin
      if changes { authenticator.forgetRemaining() }
      return await withTaskExecutorPreference(router.writer) {
        do { return .success(try await work(&authenticator)) } catch { return .failure(error) }
      }
    }
    do { return try outcome.get() } catch let error as CTAPError where error.prompt == .unavailable {
      // Without a vault no prompt is shown: the vault's own fault says what to do, and is no refusal.
      if router.vault.current == nil, let fault = router.vault.files.fault { throw fault }
      throw error
    }
  }

  /// How long `liquid-auth-pam` may take to say whether PAM can be used.
  private static let checkLimit = Duration.seconds(10)

  private func verification(_ settings: ReportedSettings?) -> [String] {
    let choice = router.options.verification
    guard choice == .passphrase else { return [choice.rawValue] }
    // If the store cannot be read, these are the settings at the last lock.
    let means = (settings ?? router.vault.reported).means
    return means.map(\.name) + [choice.rawValue]
  }

  /// - Parameter settings: `nil` if they cannot be read now.
  private func problems(
    _ vault: VaultStatus, _ settings: ReportedSettings?, device: Problem?, prompts: [Problem?]
  ) -> [Problem] {
    let nothingVerifies = settings.map { $0.alwaysUV && !$0.isPINSet && router.options.verification == .none } ?? false
    let before: [Problem?] = [
      vault.fault.map { Problem($0) }, vault.counterProblem, history.problem,
      router.vault.openStore?.writeFailure.map { Problem($0) }, sessionProblem().map { Problem($0) }, device,
    ]
    let after: [Problem?] = [
      nothingVerifies ? OwnerSettings.nothingVerifies : nil, Self.pinProblem(vault, settings),
      SecretBytes.areLocked ? nil : Self.notLocked,
    ]
    return (before + prompts + after).compactMap { $0 }
  }

  private static func pinProblem(_ vault: VaultStatus, _ settings: ReportedSettings?) -> Problem? {
    guard let settings, settings.isPINSet else { return nil }
    if settings.pinRetries == 0 { return vault.counterProblem == nil ? pinBlocked : pinBlockedByCounter }
    return settings.forcePINChange ? OwnerSettings.pinMustBeChanged : nil
  }

  private static let pinBlocked = Problem(
    "the PIN is blocked: no tries are left", hint: "set another", with: ["liquid-auth", "pin", "change"], kind: .pin)
  private static let pinBlockedByCounter = Problem(
    "the PIN is blocked, because the store may be an old copy: see liquid-auth-vault(1)", kind: .pin)
  private static let notLocked = Problem(
    "the system did not lock all memory that holds secrets, so they may be written to swap",
    hint: "raise the limit to 1024 KiB or more (ulimit -l 1024, or LimitMEMLOCK= in a systemd unit) and restart "
      + "liquid-authenticator")

  private func condition(of vault: VaultStatus) -> AuthenticatorStatus.VaultCondition {
    if vault.isUnlocked { return .unlocked }
    guard let fault = vault.fault else { return .locked }
    return fault.kind == .noVault && access(router.directory.vaultPath, F_OK) != 0 ? .missing : .unusable
  }
}
