public import CryptoPrimitives
import Synchronization

/// One unlocking of the vault, compared by identity: an operation that began under it cannot continue under another.
public final class Unlocking: Sendable {
  /// 8 random bytes, which differ for each unlocking.
  package let id = randomBytes(8)
  /// The work to do at the end of the unlocking; `nil` after it.
  private let endings = Mutex<[@Sendable () -> Void]?>([])
  private let last = Mutex(Last())

  public init() {}

  /// Whether the vault was locked since.
  package var hasEnded: Bool { endings.withLock { $0 == nil } }

  /// Runs `work`, which must not wait, when the vault is locked, on any thread; runs it now if that has happened.
  package func atEnd(_ work: @escaping @Sendable () -> Void) {
    let isOver = endings.withLock { endings in
      endings?.append(work)
      return endings == nil
    }
    if isOver { work() }
  }

  /// Ends the unlocking, because the vault is locked.
  package func end() {
    let endings = endings.withLock { $0.take() }
    last.withLock { $0.secret }?.drop()
    endings?.forEach { $0() }
  }
}

// MARK: - A secret of one unlocking

extension Unlocking {
  /// A secret that is valid during one unlocking only.
  package final class Secret: Sendable {
    private let kept: Mutex<SecretBytes?>

    fileprivate init(_ bytes: SecretBytes) { kept = Mutex(bytes) }

    /// `nil` after the end of the unlocking, and once another secret has replaced this one.
    package var bytes: SecretBytes? { kept.withLock { $0 } }

    fileprivate func drop() { kept.withLock { $0 = nil } }
  }

  /// The secret that was made last, as long as it is in use.
  fileprivate struct Last {
    weak var secret: Secret?
  }

  /// Makes a secret that lasts until the end of the unlocking, and drops the previous one.
  package func keep(_ bytes: SecretBytes) -> Secret {
    let secret = Secret(bytes)
    let replaced = last.withLock { last in
      defer { last.secret = secret }
      return last.secret
    }
    replaced?.drop()
    // The vault may have been locked meanwhile.
    if hasEnded { secret.drop() }
    return secret
  }
}

/// The keys and the store of an open vault.
public struct OpenVault: Sendable {
  /// The keys that are derived from the main key.
  public let keys: CredentialKeys
  /// The xHD root (96 bytes) of the Algorand accounts; account keys are derived only here, so that their signatures are
  /// counted.
  let ed25519Root: SecretBytes
  /// The credentials of this machine.
  public let store: any CredentialStore
  /// The limit of discoverable credentials for registrations; recovered ones are stored beyond it.
  public let maximumDiscoverableCredentials: Int
  /// The unlocking that opened this vault; it holds no secret and may be kept.
  public let unlocking = Unlocking()
  /// Counts the signatures of accounts and association keys.
  package let signatures: SignatureCounts
  /// Whether the user typed the passphrase for the current request.
  public private(set) var isOpenedByPerson = false
  /// At most one element, which has none itself; an array, because a value cannot contain itself.
  private let replaced: [OpenVault]

  /// The keys and the store of the previous phrase, during the move to a new one (Recovery §14); `nil` otherwise.
  ///
  /// Only ``unlocking`` of this vault counts.
  public var previous: OpenVault? { replaced.first }

  /// One of the phrases of a vault.
  public enum Phrase: Sendable {
    case present, previous
  }

  /// The phrases of this vault: the present one first.
  public var phrases: [Phrase] { previous == nil ? [.present] : [.present, .previous] }

  /// The keys and the store of a phrase; those of the present one if there is no previous phrase.
  public subscript(phrase: Phrase) -> OpenVault { phrase == .present ? self : previous ?? self }

  /// The default limit of stored passkeys.
  public static let defaultMaximumDiscoverableCredentials = 10_000

  /// The result of one unlocking.
  ///
  /// - Parameters:
  ///   - maximumDiscoverableCredentials: the most passkeys that the store holds after a registration.
  ///   - signatures: the counts, which last from one unlocking to the next.
  ///   - previous: that of the previous phrase, without a previous one itself.
  public init(
    keys: CredentialKeys, ed25519Root: SecretBytes, store: any CredentialStore,
    maximumDiscoverableCredentials: Int = defaultMaximumDiscoverableCredentials,
    signatures: SignatureCounts = SignatureCounts(), previous: OpenVault? = nil
  ) {
    replaced = previous.map { [$0] } ?? []
    self.keys = keys
    self.ed25519Root = ed25519Root
    self.store = store
    self.maximumDiscoverableCredentials = maximumDiscoverableCredentials
    self.signatures = signatures
  }

  /// The same, for the request whose prompt opened the vault; never kept for another request.
  public var openedByPerson: OpenVault {
    var vault = self
    vault.isOpenedByPerson = true
    return vault
  }
}

/// The number of signatures since the start by keys that belong to no passkey.
///
/// Signatures are counted where they are made, so that none is missed. Locking and unlocking does not reset the counts.
public final class SignatureCounts: Sendable {
  private let counts = Mutex((algorand: UInt64(0), association: UInt64(0)))

  /// Starts at zero.
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
