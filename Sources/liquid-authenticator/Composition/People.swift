import CTAP2
import Recovery
import StateDirectory

/// The person's side: how to ask, how to verify, how to unlock.
struct People: Sendable {
  /// Holds the secrets while the vault is open.
  let vault: VaultKeySource
  /// What accounts and association keys have signed.
  let signatures = SignatureCounts()
  /// What was wrong with the last dialog.
  let dialogFault = DialogFault()
  private let oneDialog: OneDialog
  private let dialogs: any DialogBackEnd
  private let verifies: Bool
  private let timepiece: any Timepiece
  private let workers: any TaskExecutor

  init(
    _ options: DaemonOptions, _ directory: StateDirectory, timepiece: any Timepiece, workers: any TaskExecutor, log: Log
  ) {
    let base = Self.dialogs(options, timepiece, workers) { [dialogFault] line in
      log.warning(line)
      dialogFault.note(line)
    }
    oneDialog = OneDialog(base, fault: dialogFault)
    // Without a hidraw node of our own, no client finds us and another key by the same look.
    let isHIDRaw = options.transport == .uhid
    dialogs = DialogsBesideOtherKeys(
      base: oneDialog, others: { isHIDRaw ? OtherKey.pluggedIn() : [] }, timepiece: timepiece)
    verifies = options.verification == .passphrase
    vault = VaultKeySource(
      directory: directory, dialogs: dialogs, signatures: signatures, log: log.warning)
    self.timepiece = timepiece
    self.workers = workers
  }

  /// Whether somebody is being asked something now: told in `liquid-auth status`.
  var isAnybodyAsked: Bool { oneDialog.isOpen }

  /// Asks a person for presence and verification, for as long as who asks can wait, and has it said in the keepalives.
  var interaction: any UserInteraction {
    let asks = DialogInteraction(
      dialogs: dialogs, verify: verifies ? vault.verify : nil, triesLeft: { [vault] in vault.triesLeft })
    let limited = TimeLimitedInteraction(base: asks, timepiece: timepiece, workers: workers)
    return StatusReportingInteraction(base: limited)
  }

  /// Opens the vault, and has it said in the keepalives.
  var keySource: any KeySource { StatusReportingKeySource(base: vault) }

  private static func dialogs(
    _ options: DaemonOptions, _ timepiece: any Timepiece, _ workers: any TaskExecutor,
    log: @escaping @Sendable (String) -> Void
  ) -> any DialogBackEnd {
    switch options.prompt {
    case .pinentry:
      Pinentry(
        program: options.pinentry, environment: Environment.value, terminal: ControllingTerminal.name,
        timepiece: timepiece, executor: workers, log: log)
    case .terminal: Terminal(timepiece: timepiece, log: log)
    }
  }
}
