import AlgorandStatements
import CTAP2
import CTAPHID
import ControlProtocol
import CredentialDB
import EventLoop
import Fingerprint
import Glibc
import HelperProcess
import Logind
import Messages
import ProcessIO
import Prompts
import Recovery
import StateDirectory
import Synchronization

/// The whole daemon: makes every part, and gives each the parts that it needs.
final class Daemon: Sendable {
  /// How long the system bus may take to accept the connections.
  private static let limitOfBus = Duration.seconds(5)

  /// The event loop of all work that neither blocks nor writes durably.
  let loop: EventLoop
  private let router: RequestRouter
  private let key: CTAPHIDDriver
  private let fingerprints: FingerprintReader?
  private let u2f: U2FRequestHandler
  private let history: HistoryRecorder
  private let followers: BackupFollowers
  private let lock: DirectoryLock
  private let controlPath: String
  private let control = Mutex<ControlListener?>(nil)
  private let otherKeys = Mutex<OtherKeysWatch?>(nil)
  private let session = Mutex<SessionMonitor?>(nil)
  /// Unlocks the vault at the start.
  private let unlocking = Mutex<Task<Void, Never>?>(nil)
  /// The connection to logind, until it is followed.
  private let loginSignals: Mutex<LoginSignals?>
  private let log: Log
  /// The log for what programs at the control socket did wrong.
  private let controlLog: LogLimit

  /// Hardens the process, locks the state directory, enters the sandbox, and makes the parts.
  ///
  /// - Parameter helper: does what the sandbox forbids.
  ///
  /// Throws without a vault and a store: the command that makes or repairs them needs the directory's lock.
  init(_ options: DaemonOptions, helper: HelperProcess, log: Log) throws(StartError) {
    signal(SIGPIPE, SIG_IGN)
    do { try Hardening.apply() } catch { throw StartError(TransportError("forbid core dumps", errno: error.number)) }
    let directory = try StartError.from { () throws(StateDirectoryError) in try Self.directory(options) }
    lock = try StartError.from(directory.lock)
    try StartError.from(directory.checkAtRest)
    if (try? directory.isStoreUnfinished) == true {
      log.notice(
        "a store was being made when liquid-auth was ended; the next unlocking completes it, or says what to do")
    }
    let controlPath = try StartError.from { () throws(StateDirectoryError) in try Self.controlPath(options) }
    self.controlPath = controlPath
    ControlServerSocket.makeDirectory(for: controlPath)
    let follows = options.detachesInBackground || !options.session.lockEvents.isEmpty
    let verifies = options.verification == .passphrase
    // A bus that accepts connections and does not answer delays the start once.
    let deadline = ContinuousClock.now + Self.limitOfBus
    loginSignals = Mutex(follows ? LoginSignals(of: getuid(), until: deadline) : nil)
    let screen = options.readsScreenLock ? ScreenLock(of: getuid(), until: deadline) : nil
    // Without the state of the screen lock, a finger could agree to a prompt behind the lock screen.
    fingerprints = verifies && screen != nil ? FingerprintReader(until: deadline) : nil
    // Read before the sandbox is entered, which forbids it.
    let catalogue = Catalogue.ofPerson(fault: log.warning)
    if options.sandbox == .on {
      let problems = try StartError.from { () throws(TransportError) in
        try DaemonSandbox.enter(options, directory: directory, controlPath: controlPath)
      }
      problems.forEach(log.info)
    }

    let loop = try Self.makeLoop()
    self.loop = loop
    let verifier = PassphraseVerifier()
    // Without a hidraw node, no client finds this device and another key in one search.
    let isHIDRaw = options.transport.isHIDRaw
    let prompter = UserPrompter(
      options.prompt, by: helper, hasAskpass: options.askpass != nil, terminal: ControllingTerminal.name,
      verifier: verifies ? verifier : nil, fingerprints: fingerprints, screen: screen,
      otherKeys: { isHIDRaw ? OtherKey.pluggedIn().map(\.nameOrNode) : [] }, catalogue: catalogue, clock: loop,
      executor: loop, notice: log.notice, log: log.warning)
    let signatures = SignatureCounts()
    let files = VaultFiles(
      directory: directory, counter: CounterCheck(ask: helper.askProtector, time: Self.unixMilliseconds),
      maximumPasskeys: options.maximumPasskeys, signatures: signatures, log: log.warning)
    let vault = CurrentVault(
      files: files, verifier: verifier,
      slotKeys: SlotKeys(ask: helper.askProtector, prompter: prompter, log: log.warning), log: log.warning)
    let keySource = VaultKeySource(vault: vault, prompter: prompter, log: log.warning)
    let writer = try Self.makeLoop()
    // Refusals cost a program nothing, so it could fill the log with them.
    let refusals = LogLimit(of: "refused requests", lines: 1000, clock: loop, output: log.request)
    let idle = options.session.idleLimit.map { IdleLock(limit: $0, clock: loop, executor: writer) }
    let history = HistoryRecorder(vault: vault, writer: writer, time: Self.unixMilliseconds, log: log.warning)
    let followers = BackupFollowers()
    vault.observe { event in
      if case .opened = event { idle?.wasOpened() }
      history.vaultChanged(event)
      if case .storeOpened(let store, _) = event { store.observe(followers.changed) }
      if case .opened = event { followers.changed() }
    }
    self.followers = followers
    let refused = RefusedPrograms(clock: loop)
    let notices = options.notifiesOfSuccess ? SuccessNotices(by: helper, prompter, log: log.notice) : nil
    let report: @Sendable (CommandReport) -> Void = { report in
      refused.ended(report)
      idle?.ended(report)
      history.ended(report)
      notices?.ended(report)
      if let line = CeremonyLog.line(report) {
        (report.error == nil ? log.request : refusals.write)(log.text(of: line))
      }
    }
    let authenticator = Authenticator(
      keySource: keySource, interaction: prompter, extensions: SupportedExtensions.all,
      hybridExtensions: SupportedExtensions.hybrid,
      randomness: SystemRandomNumberGenerator(), now: { Instant(nanoseconds: 0).duration(to: loop.now) },
      wallClock: Self.unixMilliseconds, writer: writer, expect: history.expect, report: report)
    let router = RequestRouter(
      options: options, directory: directory, vault: vault, keySource: keySource, prompter: prompter,
      signatures: signatures, queue: RequestQueue(authenticator), refused: refused, writer: writer)
    history.record(router.queue)
    self.history = history
    u2f = U2FRequestHandler(
      queue: router.queue, keySource: keySource, interaction: prompter, clock: loop, workers: loop, report: report)
    key = CTAPHIDDriver(
      transport: options.transport.transport(on: loop, helper: helper), clock: loop, loop: loop, log: log,
      withdraw: { [u2f] channel, mayReturn in
        await u2f.withdraw(channel.map { UInt64($0.rawValue) }, mayReturn: mayReturn)
      }
    ) { [u2f] kind, message, channel, times, origin in
      var origin = origin
      origin.status = origin.status?.orAwaited(in: router.queue)
      let context = RequestContext(channel: UInt64(channel.rawValue), times: times, client: origin)
      return switch kind {
      case .cbor: await router.respond(to: message, in: context, isOfDevice: true)
      case .msg: await u2f.respond(to: message, in: context)
      }
    }
    self.router = router
    self.log = log
    controlLog = LogLimit(of: "the control socket", lines: 10, clock: loop, output: log.warning)
    idle?.observe { [weak self] in self?.lockIdle() }
  }

  private static func makeLoop() throws(StartError) -> EventLoop {
    do { return try EventLoop() } catch { throw StartError(TransportError("start a thread", errno: error.number)) }
  }

  /// Opens the control socket, then makes the device appear: when the device is there, the socket is open.
  func start() async throws(StartError) {
    do throws(TransportError) {
      let socket = try ControlServerSocket(listeningAt: controlPath)
      let isPassed = socket.isPassed
      let service = DaemonService(
        router: router, key: key, fingerprints: fingerprints, followers: followers,
        dApps: DAppConnections(),
        tickets: TerminalTickets(clock: loop), history: history,
        noteWithdrawals: { [self] own in noteWithdrawals(by: own) },
        withdrawRequests: { [self] own in await withdrawRequests(by: own) },
        sessionProblem: { [self] in sessionProblem })
      let listener = ControlListener(
        socket, on: loop,
        makeSession: { [log] in
          ControlSession(client: $0, service: service, terminal: $1) { log.request(log.text(of: $0)) }
        }, isPromptOpen: { [prompter = router.prompter] in prompter.isAsking }, log: controlLog.write)
      router.prompter.observe { [weak listener] in listener?.promptOpened() }
      control.withLock { $0 = listener }
      if let problem = await router.prompter.problem { log.warning(problem) }
      // Not awaited, because a notification daemon can be slow to answer.
      Task(executorPreference: loop) { [prompter = router.prompter] in await prompter.testBackEnds() }
      do throws(TransportError) {
        try await attachDevice()
      } catch {
        // A client of systemd's socket waits for an answer; the status says why there is no device.
        guard isPassed else { throw error }
        log.error(error.problem)
        await key.failed(error)
      }
      unlocking.withLock { unlocking in
        unlocking = Task(executorPreference: loop) { [keySource = router.keySource] in await keySource.openAtStart() }
      }
    } catch {
      throw StartError(error)
    }
  }

  // MARK: The session

  /// Locks the vault, and writes a line if it was open; the caller then withdraws all requests.
  private func lockVault(_ reason: LockReason) {
    noteWithdrawals()
    if router.vault.lock(reason) { log.notice("the vault was locked \(reason.description)") }
  }

  /// Locks the vault after the time without use.
  private func lockIdle() {
    // The dialog that opens a locked vault stays open.
    guard let limit = router.options.session.idleLimit, router.vault.current != nil else { return }
    lockVault(.idle(limit))
    withdrawSoon()
  }

  /// Follows logind, if it runs.
  private func followSession() async {
    let detaches = router.options.detachesInBackground
    guard detaches || !router.options.session.lockEvents.isEmpty else { return }
    let signals = loginSignals.withLock { $0.take() }
    guard let monitor = signals.flatMap({ SessionMonitor($0, on: loop) }) else {
      return log.info("logind cannot be reached: its events do not lock the vault or detach the device")
    }
    session.withLock { $0 = monitor }
    Task(executorPreference: router.writer) {
      for await change in monitor.changes { await self.follow(change, monitor, detaches: detaches) }
    }
    if detaches { await key.see(isInBackground: SessionMonitor.isInBackground()) }
  }

  /// Handles one change; the next one waits for its end.
  private func follow(_ change: SessionMonitor.Change, _ monitor: SessionMonitor, detaches: Bool) async {
    switch change {
    case .signal(.suspending):
      if lock(on: .suspend) { await withdrawRequests() }
      monitor.allowSleep()
    case .signal(.resumed): monitor.delaySleep()
    case .signal(.screenLocked):
      if lock(on: .screenLock) { withdrawSoon() }
    case .isInBackground(let isInBackground):
      if isInBackground, lock(on: .userSwitch) { withdrawSoon() }
      // Not awaited: the broker may take seconds, and a suspend must not wait for it.
      if detaches { Task(executorPreference: router.writer) { [key] in await key.see(isInBackground: isInBackground) } }
    case .disconnected:
      guard router.options.session.needsSignals else { return }
      log.warning(Self.disconnected)
      lockVault(.disconnected)
      withdrawSoon()
    }
  }

  /// Locks the vault if the options say so for this event; returns whether they do.
  private func lock(on event: SessionPolicy.LockEvent) -> Bool {
    let isWanted = router.options.session.lockEvents.contains(event)
    if isWanted { lockVault(.event(event)) }
    return isWanted
  }

  /// Withdraws all requests.
  ///
  /// Not awaited: a suspend that follows must not wait twice.
  private func withdrawSoon() { Task(executorPreference: router.writer) { await self.withdrawRequests() } }

  /// Notes that all requests are withdrawn, before a lock ends what they wait for.
  ///
  /// - Parameter own: the door of the request that asks for it, if one does.
  private func noteWithdrawals(by own: Door? = nil) { control.withLock { $0 }?.noteWithdrawals(by: own) }

  /// How long a suspend waits for the end of a request; logind waits for five seconds (InhibitDelayMaxSec=).
  private static let withdrawal = Duration.seconds(3)

  /// Withdraws all requests and waits for their end, because the request that is being served keeps the vault's keys.
  ///
  /// - Parameter own: the door of the request that asks for it, if one does.
  private func withdrawRequests(by own: Door? = nil) async {
    await key.withdrawRequests()
    control.withLock { $0 }?.withdrawRequests(by: own)
    let turn = Task(executorPreference: loop) { [queue = router.queue] in _ = try? await queue.submit { _ in } }
    let limit = Task(executorPreference: loop) { [loop] in
      try? await loop.sleep(until: loop.now.advanced(by: Self.withdrawal))
      turn.cancel()
    }
    await turn.value
    limit.cancel()
  }

  private static let disconnected =
    "the connection to logind has ended: its events no longer lock the vault; restart liquid-authenticator"

  /// What is wrong with the connection to logind, if it is needed.
  private var sessionProblem: String? {
    let isNeeded = router.options.session.needsSignals
    return isNeeded && session.withLock { $0?.isConnected } == false ? Self.disconnected : nil
  }

  // MARK: The device

  /// Makes the device appear, now or once it need not step aside any more.
  private func attachDevice() async throws(TransportError) {
    await followSession()
    guard router.options.besideHardwareKey == .stepAside else { return try await key.begin(beside: []) }
    // Listens before it looks, so that no key is missed.
    let watch = try OtherKeysWatch(on: loop)
    otherKeys.withLock { $0 = watch }
    try await key.begin(beside: OtherKey.pluggedIn())
    Task(executorPreference: loop) { [key] in
      for await others in watch.changes { await key.see(others) }
    }
  }

  /// Waits until no request was served for `time`, or for `limit` and the end of the request that is open then.
  func quiet(for time: Duration, limit: Duration) async {
    await router.queue.quiet(for: time, limit: limit, clock: loop)
  }

  /// Detaches the device, withdraws pending requests, and forgets the secrets.
  func stop() async {
    control.withLock { $0.take() }?.stop()
    otherKeys.withLock { $0.take() }?.stop()
    session.withLock { $0.take() }?.stop()
    let unlocking = unlocking.withLock { $0.take() }
    unlocking?.cancel()
    await key.detach()
    await unlocking?.value
    // Our turn comes when the last prompt is closed.
    _ = try? await router.queue.submit { [history] _ in await history.finish() }
    await router.prompter.ended()
    router.vault.lock()
  }

  private static func directory(_ options: DaemonOptions) throws(StateDirectoryError) -> StateDirectory {
    if let path = options.stateDir { return try StateDirectory(opening: path) }
    return try StateDirectory(opening: StateDirectory.defaultPath(environment: environmentVariable))
  }

  private static func controlPath(_ options: DaemonOptions) throws(StateDirectoryError) -> String {
    if let path = options.control { return path }
    return try StateDirectory.controlSocketPath(stateDirectory: options.stateDir, environment: environmentVariable)
  }

  @Sendable static func unixMilliseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return UInt64(clamping: now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
  }
}
