public import CryptoPrimitives
public import DeterministicKeys

// The keys of a phrase that belong to no passkey. This library does not sign: AlgorandStatements does, with a consent.

/// An Algorand account of this vault: m/44'/283'/account'/0/index, g = 9 (Recovery §11).
public struct AlgorandAccount: Sendable {
  /// The address of the account.
  public let address: AlgorandAddress
  /// The key that signs the account's statements.
  package let key: ExtendedKey
  /// Counts each signature.
  package let counts: SignatureCounts

  init(_ tree: BIP32Ed25519, account: UInt32, index: UInt32, counts: SignatureCounts) throws(DeterministicKeysError) {
    key = try tree.key(.address, account: account, change: 0, index: index)
    address = AlgorandAddress(publicKey: key.publicKey)
    self.counts = counts
  }
}

/// The key of one user of Keyri's protocols: P-256, derived from the phrase and the user's public id (Recovery §3).
public struct AssociationKey: Sendable {
  /// The key that signs the user's data.
  package let key: P256.PrivateKey
  /// Counts each signature.
  package let counts: SignatureCounts

  /// The public half.
  public var publicKey: P256.PublicKey { key.publicKey }

  /// `mac("keyri", attempt ‖ publicUserId)` for the first attempt that gives a scalar of the curve.
  init(_ keys: CredentialKeys, publicUserID: String, counts: SignatureCounts) throws(CryptoError) {
    self.counts = counts
    for attempt in UInt8.min...UInt8.max {
      do {
        key = try P256.PrivateKey(scalar: keys.secret(.keyri, [attempt] + publicUserID.utf8))
        return
      } catch .scalarOutOfRange {
        continue
      }
    }
    // This happens once in 2^8192.
    throw .scalarOutOfRange
  }
}

extension OpenVault {
  /// An account of the vault; the first address of the first account is the one that signs.
  ///
  /// - Throws: `DeterministicKeysError.invalidRoot` if the vault does not hold a root, `indexOutOfRange` from 2^31 on.
  public func algorandAccount(
    _ account: UInt32 = 0, index: UInt32 = 0
  ) throws(DeterministicKeysError) -> AlgorandAccount {
    try AlgorandAccount(BIP32Ed25519(root: ed25519Root), account: account, index: index, counts: signatures)
  }

  /// The key of one user.
  public func associationKey(publicUserID: String) throws(CryptoError) -> AssociationKey {
    try AssociationKey(keys, publicUserID: publicUserID, counts: signatures)
  }
}
