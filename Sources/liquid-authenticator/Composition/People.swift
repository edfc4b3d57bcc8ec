import CTAP2
import StateDirectory

/// The person's side: how to ask, how to verify, how to unlock.
struct People: Sendable {
  /// Holds the secrets while the vault is open.
  let vault: VaultKeySource
  /// The prompts that are open now.
  let prompts = OpenPrompts()
  private let dialogs: any DialogBackEnd
  private let verifies: Bool
  private let timepiece: any Timepiece
  private let workers: any TaskExecutor

  init(
    _ options: DaemonOptions, _ directory: StateDirectory, timepiece: any Timepiece, workers: any TaskExecutor, log: Log
  ) {
    dialogs = OneDialog(Self.dialogs(options, log: log))
    verifies = options.verification == .passphrase
    vault = VaultKeySource(directory: directory, dialogs: dialogs, log: log.warning)
    self.timepiece = timepiece
    self.workers = workers
  }

  /// Asks a person for presence and verification, for 30 s at most, and has it said in the keepalives.
  var interaction: any UserInteraction {
    let asks = DialogInteraction(
      dialogs: dialogs, verify: verifies ? vault.verify : nil, triesLeft: { [vault] in vault.triesLeft })
    let limited = TimeLimitedInteraction(
      base: asks, limit: TimeLimitedInteraction.presence, timepiece: timepiece, workers: workers)
    return StatusReportingInteraction(base: limited, prompts: prompts)
  }

  /// Opens the vault, and has it said in the keepalives.
  var keySource: any KeySource { StatusReportingKeySource(base: vault, prompts: prompts) }

  private static func dialogs(_ options: DaemonOptions, log: Log) -> any DialogBackEnd {
    switch options.prompt {
    case .pinentry:
      Pinentry(
        program: options.pinentry, environment: Environment.value, terminal: ControllingTerminal.name,
        log: log.warning)
    case .terminal: Terminal(log: log.warning)
    }
  }
}
