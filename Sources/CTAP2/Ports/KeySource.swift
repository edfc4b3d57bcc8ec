public import Recovery

/// What a locked vault is wanted for, so that the person sees why the passphrase is asked for; it is no consent to it.
public enum VaultWish: Sendable, Equatable {
  /// What the person will be asked then.
  case prompt(UserPrompt)
  /// What a wallet wants, about which nobody is asked, or not before the vault is open.
  case wallet(WalletWish)
}

/// The port to the vault: who holds the secret, and how it is opened.
public protocol KeySource: Sendable {
  /// What is open now; `nil` while locked. Never prompts.
  var current: OpenVault? { get }

  /// What the store tells of its settings in clear, for as long as the vault is locked. Never prompts.
  var told: ToldSettings { get }

  /// Opens the vault, asking the person for the passphrase when it is locked; cancelling the task withdraws the prompt.
  ///
  /// A vault or store that is missing or damaged cannot be opened: the back end logs which file and what to do, and
  /// the command ends as `declined`; after wrong passphrases alone it ends as `wrongPassphrase`.
  /// - Parameter wish: what the vault is wanted for; `nil` when that is not known yet.
  /// - Returns: the vault, ``OpenVault/openedByPerson`` where somebody was asked for the passphrase.
  func open(for wish: VaultWish?) async throws(UserInteractionError) -> OpenVault
}

/// A vault that is open for as long as the process has it: nothing is asked for.
public struct OpenKeySource: KeySource {
  private let vault: OpenVault

  /// Takes the open vault.
  public init(_ vault: OpenVault) { self.vault = vault }

  /// The vault.
  public var current: OpenVault? { vault }
  /// What a new device tells; nobody is told it, since the vault is open.
  public var told: ToldSettings { ToldSettings() }
  /// The vault.
  public func open(for wish: VaultWish?) async throws(UserInteractionError) -> OpenVault { vault }
}
