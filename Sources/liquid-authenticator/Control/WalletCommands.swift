import CTAP2
import ControlDoor
import DeterministicKeys

/// What a wallet asks; a locked vault is opened for what will be asked then.
enum WalletCommands {
  static let all: [any ServedCommand.Type] = [
    GetAccount.self, GetAddresses.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self,
    GetAssociationKey.self, SignAssociation.self,
  ]
}

extension GetAccount: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    Answer(try await authenticator.accountInUse(for: .tellAccount(rpID: nil)).text)
  }
}

extension GetAddresses: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let indices = first..<first + count
    return Answer(try await authenticator.accountAddresses(indices, of: account, for: .tellAddresses).map(\.text))
  }
}

extension GetAccountPasskey: WalletCommand {
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let passkey = try await authenticator.accountPasskey(rpID: rpID, host: host)
    return Answer(credentialID: passkey.id, isStored: passkey.isStored)
  }
}

extension SignTransactions: WalletCommand {
  var signsFor: String? { origin }

  /// What cannot be shown whole is refused before anybody is asked, and before the vault is opened.
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let decoded = try TransactionReview.decode(self)
    let account = try await authenticator.accountInUse(for: .signTransactions(origin: origin))
    let review = try TransactionReview(of: decoded, account: account, origin: origin)
    return review.answer(with: try await authenticator.sign(review.statements, asking: review.prompt))
  }
}

extension SignMessage: WalletCommand {
  var signsFor: String? { origin }

  func handle(_ authenticator: Authenticator) async throws -> WalletSignature {
    guard let text = String(validating: message, as: UTF8.self) else {
      throw ControlFailure(.cannotBeShown, "the message is not UTF-8, and cannot be shown")
    }
    var prompt = UserPrompt(purpose: .signMessage(text), origin: origin)
    prompt.algorandAddress = try await authenticator.accountInUse(for: .prompt(prompt)).text
    return WalletSignature(try await authenticator.sign([.message(message)], asking: prompt)[0])
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
  fileprivate func accountInUse(for wish: VaultWish) async throws(CTAPError) -> AlgorandAddress {
    try await accountAddresses(0..<1, of: 0, for: wish)[0]
  }
}
