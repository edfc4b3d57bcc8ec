import CryptoPrimitives
public import DeterministicKeys

/// An Algorand account of this vault: m/44'/283'/account'/0/index, g = 9 (Recovery §11).
public struct AlgorandAccount: Sendable {
  /// What people and servers call the account.
  public let address: AlgorandAddress
  private let key: ExtendedKey
  private let counts: SignatureCounts

  init(_ tree: BIP32Ed25519, account: UInt32, index: UInt32, counts: SignatureCounts) throws(BIP32Error) {
    key = try tree.key(.address, account: account, change: 0, index: index)
    address = AlgorandAddress(publicKey: key.publicKey)
    self.counts = counts
  }

  /// Signs with the account's key (64 bytes) what the person was asked for, and counts it.
  func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: message)
    counts.countAlgorand()
    return signature
  }
}

extension OpenVault {
  /// An account of the vault; the first address of the first account is the one that signs.
  ///
  /// - Throws: `BIP32Error.invalidRoot` where the vault holds something else than a root, `indexOutOfRange` from 2^31 on.
  public func algorandAccount(_ account: UInt32 = 0, index: UInt32 = 0) throws(BIP32Error) -> AlgorandAccount {
    try AlgorandAccount(BIP32Ed25519(root: ed25519Root), account: account, index: index, counts: signatures)
  }
}
