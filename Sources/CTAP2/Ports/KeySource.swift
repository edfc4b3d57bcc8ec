public import Recovery

/// The reason for unlocking the vault, which the passphrase prompt shows; unlocking is not consent to the request.
public enum UnlockReason: Sendable, Equatable {
  /// What the user will be asked then.
  case prompt(UserPrompt)
  /// A wallet's request that has no prompt, or whose prompt depends on the open vault.
  case wallet(WalletUnlockReason)
}

/// The port to the vault: holds the keys, and opens it.
public protocol KeySource: Sendable {
  /// What is open now; `nil` while locked. Never prompts.
  var current: OpenVault? { get }

  /// The settings that the store keeps in clear, for use while the vault is locked. Never prompts.
  var reported: ReportedSettings { get }

  /// Opens the vault, asking the user for the passphrase when it is locked; cancelling the task withdraws the prompt.
  ///
  /// A vault or store that is missing or damaged cannot be opened: the back end logs which file and what to do, and
  /// the command ends as `declined`; after wrong passphrases alone it ends as `wrongPassphrase`.
  /// - Parameter reason: the reason for unlocking; `nil` if it is not known yet.
  /// - Returns: the vault, with ``/Recovery/OpenVault/openedByPerson`` set if a prompt asked for the passphrase.
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
