public import Recovery

/// What a locked vault is wanted for, so that the person sees why the passphrase is asked for; it is no consent to it.
public enum UnlockReason: Sendable, Equatable {
  /// What the person will be asked then.
  case prompt(UserPrompt)
  /// A wallet's request that has no prompt, or whose prompt depends on the open vault.
  case wallet(WalletUnlockReason)
}

/// The port to the vault: who holds the secret, and how it is opened.
public protocol KeySource: Sendable {
  /// What is open now; `nil` while locked. Never prompts.
  var current: OpenVault? { get }

  /// What the store tells of its settings in clear, for as long as the vault is locked. Never prompts.
  var reported: ReportedSettings { get }

  /// Opens the vault, asking the person for the passphrase when it is locked; cancelling the task withdraws the prompt.
  ///
  /// A vault or store that is missing or damaged cannot be opened: the back end logs which file and what to do, and
  /// the command ends as `declined`; after wrong passphrases alone it ends as `wrongPassphrase`.
  /// - Parameter reason: what the vault is wanted for; `nil` when that is not known yet.
  /// - Returns: the vault, ``OpenVault/openedByPerson`` where somebody was asked for the passphrase.
  func open(for reason: UnlockReason?) async throws(UserInteractionError) -> OpenVault
}

/// A vault that stays open as long as the process runs; never asks for a passphrase.
public struct OpenKeySource: KeySource {
  private let vault: OpenVault

  /// Wraps an open vault.
  public init(_ vault: OpenVault) { self.vault = vault }

  /// The vault.
  public var current: OpenVault? { vault }
  /// The settings of a new device; unused, because the vault is always open.
  public var reported: ReportedSettings { ReportedSettings() }
  /// The vault.
  public func open(for reason: UnlockReason?) async throws(UserInteractionError) -> OpenVault { vault }
}
