public import CryptoPrimitives
import Synchronization

/// One unlocking of the vault, distinguished by identity: an operation that began under it does not continue under
/// another.
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
  /// The limit of discoverable credentials for registrations; recovered ones are stored
  /// beyond it.
  public let maximumDiscoverableCredentials: Int
  /// The unlocking that this came from; it holds no secret and may be kept.
  public let unlocking = Unlocking()
  /// Counts the signatures of accounts and association keys.
  package let signatures: SignatureCounts
  /// Whether the user has typed the passphrase for the very request that this was given to.
  public private(set) var isOpenedByPerson = false

  /// The default limit of stored passkeys.
  public static let defaultMaximumDiscoverableCredentials = 10_000

  /// The result of one unlocking.
  ///
  /// - Parameters:
  ///   - maximumDiscoverableCredentials: the most passkeys that the store holds after a registration.
  ///   - signatures: keeps counting from one unlocking to the next.
  public init(
    keys: CredentialKeys, ed25519Root: SecretBytes, store: any CredentialStore,
    maximumDiscoverableCredentials: Int = defaultMaximumDiscoverableCredentials,
    signatures: SignatureCounts = SignatureCounts()
  ) {
    self.keys = keys
    self.ed25519Root = ed25519Root
    self.store = store
    self.maximumDiscoverableCredentials = maximumDiscoverableCredentials
    self.signatures = signatures
  }

  /// The same, for the request for which the user has just opened it; never kept for another request.
  public var openedByPerson: OpenVault {
    var vault = self
    vault.isOpenedByPerson = true
    return vault
  }
}

/// How many signatures were given, since the start, by keys that belong to no passkey.
///
/// They are counted where they are made, so that none is missed; locking and unlocking
/// does not reset the counts.
public final class SignatureCounts: Sendable {
  private let counts = Mutex((algorand: UInt64(0), association: UInt64(0)))

  /// Nothing was signed.
  public init() {}

  /// By Algorand accounts: challenges, transactions and messages.
  public var algorand: UInt64 { counts.withLock(\.algorand) }
  /// By association keys of Keyri.
  public var association: UInt64 { counts.withLock(\.association) }

  /// Counts a signature by an account.
  package func countAlgorand() { counts.withLock { $0.algorand += 1 } }
  /// Counts a signature by an association key.
  package func countAssociation() { counts.withLock { $0.association += 1 } }
}
