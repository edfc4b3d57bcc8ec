public import CryptoPrimitives

/// One unlocking of the vault, told from every other by identity: what began under it does not go on under another.
public final class Unlocking: Sendable {
  /// A new one.
  public init() {}
}

/// What is there to work with while the vault is open.
public struct OpenVault: Sendable {
  /// Everything that is derived from the main key.
  public let keys: CredentialKeys
  /// The xHD root (96 bytes) of the Algorand accounts; only here is a key of one derived, so that what it signs is
  /// counted.
  let ed25519Root: SecretBytes
  /// The credentials of this machine.
  public let store: any CredentialStore
  /// The unlocking that this came from; it holds no secret and may be kept.
  public let unlocking = Unlocking()
  /// Counts what accounts and association keys sign.
  let signatures: SignatureCounts
  /// Whether a person has typed the passphrase for the very request that this was given to.
  public private(set) var isOpenedByPerson = false

  /// Joins what one unlocking yields.
  ///
  /// - Parameter signatures: goes on counting from one unlocking to the next.
  public init(
    keys: CredentialKeys, ed25519Root: SecretBytes, store: any CredentialStore,
    signatures: SignatureCounts = SignatureCounts()
  ) {
    self.keys = keys
    self.ed25519Root = ed25519Root
    self.store = store
    self.signatures = signatures
  }

  /// The same, for the request for which a person has just opened it; never kept for another request.
  public var openedByPerson: OpenVault {
    var vault = self
    vault.isOpenedByPerson = true
    return vault
  }
}

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

extension KeySource {
  /// Opens the vault for something that is not known yet.
  public func open() async throws(UserInteractionError) -> OpenVault { try await open(for: nil) }
}
