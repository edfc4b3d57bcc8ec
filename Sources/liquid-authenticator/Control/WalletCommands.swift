import AlgorandStatements
import CTAP2
import ControlProtocol
import DeterministicKeys
import DisplayText

/// The requests of a wallet; the prompt that opens a locked vault names the request.
enum WalletCommands {
  static let all: [any ServedCommand.Type] = [
    GetAccount.self, GetAddresses.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self,
    GetAssociationKey.self, SignAssociation.self,
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
  var signsFor: String? { origin }

  /// Before any prompt, and before the vault is unlocked, refuses transactions that cannot be shown in full.
  func handle(_ authenticator: Authenticator) async throws -> Answer {
    let decoded = try TransactionReview.decode(self)
    let account = try await authenticator.accountInUse(for: .wallet(.signTransactions(origin: origin)))
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
    var prompt = UserPrompt(purpose: .wallet(.signMessage(text)), origin: origin)
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
  fileprivate func accountInUse(for reason: UnlockReason) async throws(CTAPError) -> AlgorandAddress {
    try await accountAddresses(0..<1, of: 0, for: reason)[0]
  }
}

// MARK: - Texts for the person

extension WalletUnlockReason {
  /// The requested operation and its details, for the prompt that unlocks the vault.
  var words: (operation: String, details: [String]) {
    switch self {
    case .showAccount(let rpID, let host):
      ("see your Algorand account", rpID.map { [UserPrompt.siteLine($0)] + UserPrompt.hostLines(host, of: $0) } ?? [])
    case .showAddresses: ("see addresses of your Algorand accounts", [])
    case .signTransactions(let origin): ("have Algorand transactions signed", WalletText.dApp(origin))
    case .showAssociationKey(let publicUserID): ("see your key for Keyri", ["User: \(DisplayText.name(publicUserID))"])
    }
  }
}

extension WalletPurpose {
  /// The requested operation, for the prompt that unlocks the vault before `prompt`.
  func words(of prompt: UserPrompt) -> (operation: String, details: [String]) {
    switch self {
    case .showPasskey: ("see your Algorand account", prompt.siteLines)
    case .signTransactions: ("have Algorand transactions signed", prompt.dAppLines)
    case .signMessage: ("have a message signed by your Algorand account", prompt.dAppLines)
    case .signAssociation(let publicUserID, _, let service):
      (
        "sign in with Keyri",
        WalletText.service(service) + WalletText.wrapped("User: \(DisplayText.name(publicUserID))")
      )
    }
  }

  /// The dialogs of the prompt.
  ///
  /// - Parameter doorLines: where the request came in.
  func pages(of prompt: UserPrompt, askedThrough doorLines: [String]) -> PromptPages {
    switch self {
    case .showPasskey:
      return PromptPages(
        headline: "Show your passkey to a program?",
        details: prompt.siteLines + UserPrompt.hostLines(prompt.host, of: prompt.rpID ?? "") + [
          "The site protects it. The passkey's id alone is not enough to sign in."
        ] + doorLines,
        agree: "Show", refuse: "Deny")
    case .signTransactions(let transactions):
      return PromptPages(transactions, heading: prompt.dAppLines, askedThrough: doorLines)
    case .signMessage(let message):
      let account = prompt.algorandAddress.map { ["Account: \($0)"] } ?? []
      return PromptPages(
        question: "Sign this message?", heading: prompt.dAppLines + account + doorLines,
        body: WalletText.quoted(message),
        agree: "Sign")
    case .signAssociation(let publicUserID, let data, let service):
      return PromptPages(
        question: "Sign in with Keyri?", heading: WalletText.service(service) + doorLines,
        body: ["User:"] + WalletText.quoted(publicUserID) + ["It signs:"] + WalletText.quoted(data), agree: "Sign")
    }
  }
}
