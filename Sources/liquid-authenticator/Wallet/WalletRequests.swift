import AlgorandStatements
import CTAP2
import ControlDoor
import DeterministicKeys

/// What a wallet asks at the control door, answered by the authenticator in its turn.
extension Authenticator {
  /// The packet that answers a wallet's request.
  func answer(toWallet request: ControlRequest) async throws(ControlFailure) -> [UInt8] {
    switch request {
    case .account:
      return AccountAddress(try await accountInUse(for: .tellAccount(rpID: nil)).text).encoded
    case .accounts(let range): return try await addresses(range).encoded
    case .walletPasskey(let rpID, let host): return try await passkey(rpID: rpID, host: host).encoded
    case .signTransactions(let transactions): return try await sign(transactions).encoded
    case .signMessage(let message): return try await sign(message).encoded
    case .associationKey(let publicUserID): return try await associationKey(publicUserID).encoded
    case .signAssociation(let association): return try await sign(association).encoded
    default: throw ControlFailure(.invalidCommand, "no such command")
    }
  }

  /// A locked vault is opened for what will be asked then.
  private func accountInUse(for wish: VaultWish) async throws(ControlFailure) -> AlgorandAddress {
    do { return try await accountAddresses(0..<1, of: 0, for: wish)[0] } catch { throw ControlFailure(error) }
  }

  private func addresses(_ range: AccountRange) async throws(ControlFailure) -> AccountAddresses {
    let indices = range.first..<range.first + range.count
    do {
      return AccountAddresses(
        try await accountAddresses(indices, of: range.account, for: .tellAddresses).map(\.text))
    } catch {
      throw ControlFailure(error)
    }
  }

  private func passkey(rpID: String, host: String?) async throws(ControlFailure) -> AccountPasskey {
    do {
      let passkey = try await accountPasskey(rpID: rpID, host: host)
      return AccountPasskey(credentialID: passkey.id, isStored: passkey.isStored)
    } catch {
      throw ControlFailure(error)
    }
  }

  /// What cannot be shown whole is refused before anybody is asked, and before the vault is opened.
  private func sign(_ transactions: TransactionsToSign) async throws(ControlFailure) -> TransactionSignatures {
    let decoded = try TransactionReview.decode(transactions)
    let account = try await accountInUse(for: .signTransactions(origin: transactions.origin))
    let review = try TransactionReview(of: decoded, account: account, origin: transactions.origin)
    do { return review.answer(with: try await sign(review.statements, asking: review.prompt)) } catch {
      throw ControlFailure(error)
    }
  }

  private func sign(_ message: MessageToSign) async throws(ControlFailure) -> WalletSignature {
    guard let text = String(validating: message.message, as: UTF8.self) else {
      throw ControlFailure(.cannotBeShown, "the message is not UTF-8, and cannot be shown")
    }
    var prompt = UserPrompt(purpose: .signMessage(text), origin: message.origin)
    prompt.algorandAddress = try await accountInUse(for: .prompt(prompt)).text
    do { return WalletSignature(try await sign([.message(message.message)], asking: prompt)[0]) } catch {
      throw ControlFailure(error)
    }
  }

  private func associationKey(_ publicUserID: String) async throws(ControlFailure) -> AssociationPublicKey {
    do { return AssociationPublicKey(try await associationPublicKey(publicUserID: publicUserID)) } catch {
      throw ControlFailure(error)
    }
  }

  private func sign(_ association: AssociationToSign) async throws(ControlFailure) -> WalletSignature {
    do {
      return WalletSignature(
        try await signAssociation(
          publicUserID: association.publicUserID, data: association.data, service: association.service))
    } catch {
      throw ControlFailure(error)
    }
  }
}

extension ControlFailure {
  /// The authenticator's refusal as the answer to a request: CTAP's status is one of ours too, but for a wrong passphrase,
  /// which the control door has a status of its own for.
  init(_ error: CTAPError) {
    switch error.status {
    case .uvInvalid, .uvBlocked: self.init(.wrongPassphrase, "\(error.reason); nothing was done, ask again")
    default: self.init(ControlStatus(rawValue: error.status.rawValue), error.reason)
    }
  }
}
