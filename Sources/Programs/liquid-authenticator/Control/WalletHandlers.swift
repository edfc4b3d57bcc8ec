import AlgorandStatements
import AlgorandTransaction
import CTAP2
import ControlProtocol
import DeterministicKeys
import Recovery

/// The requests of a wallet; the prompt that opens a locked vault names the request.
enum WalletHandlers {
  static let all: [any ServedCommand.Type] = [
    GetAccount.self, GetAddresses.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self,
    GetAssociationKey.self, SignAssociation.self, GetRekeying.self, SignRekeying.self, KeepPairing.self,
    GetPairing.self,
  ]
}

extension GetAccount: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    Answer(try await authenticator.accountInUse(for: .wallet(.showAccount(rpID: nil))).text)
  }
}

extension GetAddresses: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let indices = first..<first + count
    return Answer(
      try await authenticator.accountAddresses(indices, of: account, for: .wallet(.showAddresses)).map(\.text))
  }
}

extension GetAccountPasskey: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let passkey = try await authenticator.accountPasskey(rpID: rpID, host: host)
    return Answer(credentialID: passkey.id, isStored: passkey.isStored)
  }
}

extension SignTransactions: WalletCommand {
  var signsFor: SiteName? { SiteName(origin) }

  /// Before any prompt, and before the vault is unlocked, refuses transactions that cannot be shown in full.
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let decoded = try TransactionReview.decode(self)
    let account = try await authenticator.accountInUse(for: .wallet(.signTransactions(origin: origin)))
    let review = try TransactionReview(of: decoded, account: account, origin: origin, showsAll: showsAll)
    return review.answer(with: try await authenticator.sign(review.statements, asking: review.prompt))
  }
}

extension SignMessage: WalletCommand {
  var signsFor: SiteName? { SiteName(origin) }

  func handle(_ authenticator: Authenticator) async throws -> WalletSignature {
    guard let text = String(validating: message, as: UTF8.self) else {
      throw ControlFailure(.cannotBeShown, "the message is not UTF-8, and cannot be shown")
    }
    var prompt = UserPrompt(purpose: .wallet(.signMessage(text)), origin: origin)
    prompt.algorandAddress = try await authenticator.accountInUse(for: .prompt(prompt)).text
    return WalletSignature(try await authenticator.sign([.message(message)], asking: prompt)[0])
  }
}

extension GetRekeying: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let addresses = try await authenticator.rekeyedAddresses(for: .wallet(.showAddresses))
    return Answer(previous: addresses.previous.text, present: addresses.present.text)
  }
}

extension SignRekeying: WalletCommand {
  /// Signs no other transaction with the account of the previous phrase.
  ///
  /// The sender can be another address that this account controls, because an earlier move gave it to this account. Only
  /// the network knows that, and it refuses a signature of an account that does not control the sender.
  func handle(_ authenticator: Authenticator) async throws -> WalletSignature {
    var request = SignTransactions([.init(transaction, isToBeSigned: true)], origin: "")
    let rekeying = try TransactionReview.decode(request).entries.all[0].transaction
    let (previous, present) = try await authenticator.rekeyedAddresses(for: .wallet(.showAddresses))
    guard rekeying.isRekeying(rekeying.sender, to: present) else {
      throw ControlFailure(
        .invalidParameter,
        "the transaction must give an account to the account of the new phrase, and do nothing else")
    }
    request.items[0].signer = previous.text
    let review = try TransactionReview(
      of: TransactionReview.decode(request), account: previous, origin: nil)
    return WalletSignature(
      try await authenticator.sign(review.statements, asking: review.prompt, with: .previous)[0])
  }
}

extension KeepPairing: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Done {
    try await authenticator.keep(
      Pairing(origin: origin, path: path, rpID: rpID, id: pairingID, credential: credential))
    return Done()
  }
}

extension GetPairing: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let pairing = try await authenticator.pairing(with: site)
    return Answer(
      origin: pairing.origin, path: pairing.path, pairingID: pairing.id, credential: pairing.credential)
  }
}

extension GetAssociationKey: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    Answer(try await authenticator.associationPublicKey(publicUserID: publicUserID))
  }
}

extension SignAssociation: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> WalletSignature {
    WalletSignature(
      try await authenticator.signAssociation(publicUserID: publicUserID, data: data, service: service))
  }
}

extension Authenticator {
  fileprivate func accountInUse(for reason: UnlockReason) async throws(CTAPError) -> AlgorandAddress {
    try await accountAddresses(0..<1, of: 0, for: reason)[0]
  }
}
