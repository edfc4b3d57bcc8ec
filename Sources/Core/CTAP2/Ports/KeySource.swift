public import Recovery

/// The reason for unlocking the vault, which the passphrase prompt shows; unlocking is not consent to the request.
public enum UnlockReason: Sendable, Equatable {
  /// The prompt that follows the unlocking.
  case prompt(UserPrompt)
  /// A request that shows no prompt (up = false, or U2F's check-only). The value describes it as if it had one.
  case silent(UserPrompt)
  /// A wallet's request that has no prompt, or whose prompt depends on the open vault.
  case wallet(WalletUnlockReason)
}

/// The port to the vault: holds the keys, and opens it.
public protocol KeySource: Sendable {
  /// The open vault; `nil` while it is locked. Never prompts.
  var current: OpenVault? { get }

  /// The settings that the store keeps in clear, for use while the vault is locked. Never prompts.
  var reported: ReportedSettings { get }

  /// Opens the vault, and asks the user for the passphrase if it is locked; cancelling the task withdraws the prompt.
  ///
  /// A vault or store that is missing or damaged cannot be opened: the back end logs the file and what to do, and the
  /// command fails with `declined`. After wrong passphrases only, it fails with `wrongPassphrase`.
  /// - Parameters:
  ///   - reason: the reason for unlocking; `nil` if it is not known yet.
  ///   - client: that of the request; `nil` if the request names none.
  /// - Returns: the vault, with ``/Recovery/OpenVault/openedByPerson`` set if a prompt asked for the passphrase.
  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault
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
  public func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault { vault }
}
