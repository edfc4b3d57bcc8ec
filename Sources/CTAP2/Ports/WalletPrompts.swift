/// What a person is asked to agree to for a wallet.
public enum WalletPurpose: Sendable, Equatable {
  /// A program would be told the passkey of the account in use at a site that has it protected (credProtect 2 or 3).
  case tellPasskey
  /// The account in use would sign transactions of a dApp, all of them or none.
  case signTransactions(UserPrompt.TransactionTexts)
  /// The account in use would sign a message of a dApp.
  case signMessage(String)
  /// An association key would sign data of a service.
  case signAssociation(publicUserID: String, data: String, service: String)

  /// Whether it signs for an Algorand account.
  var needsReading: Bool {
    switch self {
    case .signTransactions, .signMessage: true
    case .tellPasskey, .signAssociation: false
    }
  }
}

/// What a wallet wants a locked vault for, about which nobody is asked, or not before it is open.
public enum WalletWish: Sendable, Equatable {
  /// A wallet would be told the account in use, or its passkey at a site, for a host that may be another.
  case tellAccount(rpID: String?, host: String? = nil)
  /// A program would be told addresses of an account, whichever it names.
  case tellAddresses
  /// The account in use would sign transactions of a dApp; what is shown of them depends on the account.
  case signTransactions(origin: String)
  /// A program would be told an association key.
  case tellAssociationKey(publicUserID: String)
}
