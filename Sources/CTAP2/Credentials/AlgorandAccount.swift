import CryptoPrimitives
public import DeterministicKeys

/// An Algorand account of this vault: m/44'/283'/account'/0/index, g = 9 (Recovery §11).
public struct AlgorandAccount: Sendable {
  /// What people and servers call the account.
  public let address: AlgorandAddress
  private let key: ExtendedKey

  init(_ tree: BIP32Ed25519, account: UInt32 = 0, index: UInt32 = 0) throws(BIP32Error) {
    key = try tree.key(.address, account: account, change: 0, index: index)
    address = AlgorandAddress(publicKey: key.publicKey)
  }

  /// Signs with the account's key (64 bytes) what the person was asked for.
  func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] { try key.signature(for: message) }
}

extension OpenVault {
  /// The account that signs for this vault: the first one.
  ///
  /// - Throws: `BIP32Error.invalidRoot` where the vault holds something else than a root.
  public func algorandAccount() throws(BIP32Error) -> AlgorandAccount {
    try AlgorandAccount(BIP32Ed25519(root: ed25519Root))
  }
}
