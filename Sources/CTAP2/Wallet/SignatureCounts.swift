import Synchronization

/// How many signatures were given, since the start, by keys that belong to no passkey.
///
/// They are counted where they are made, so that no way to one leads past the count; a vault that is locked and opened
/// again goes on counting.
public final class SignatureCounts: Sendable {
  private let counts = Mutex((algorand: UInt64(0), association: UInt64(0)))

  /// Nothing was signed.
  public init() {}

  /// By Algorand accounts: challenges, transactions and messages.
  public var algorand: UInt64 { counts.withLock(\.algorand) }
  /// By association keys of Keyri.
  public var association: UInt64 { counts.withLock(\.association) }

  func countAlgorand() { counts.withLock { $0.algorand += 1 } }
  func countAssociation() { counts.withLock { $0.association += 1 } }
}
