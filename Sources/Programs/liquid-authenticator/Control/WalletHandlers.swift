import AlgorandStatements
import AlgorandTransaction
import CTAP2
import ControlProtocol
import DeterministicKeys
import DisplayText
import Messages
import Recovery

/// The requests of a wallet; the prompt that opens a locked vault names the request.
enum WalletHandlers {
  static let all: [any ServedCommand.Type] = [
    GetAccount.self, GetAddresses.self, GetAccountPasskey.self, SignTransactions.self, SignMessage.self,
    GetAssociationKey.self, SignAssociation.self, GetRekeying.self, SignRekeying.self,
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
    let review = try TransactionReview(of: decoded, account: account, origin: origin)
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
  func words(in catalogue: Catalogue) -> (operation: Message, details: [String]) {
    switch self {
    case .showAccount(let rpID, let host):
      (
        Message("see your Algorand account"),
        catalogue.texts(rpID.map { UserPrompt.siteLines(of: $0) + UserPrompt.hostLines(host, of: $0) } ?? [])
      )
    case .showAddresses: (Message("see addresses of your Algorand accounts"), [])
    case .signTransactions(let origin):
      (Message("have Algorand transactions signed"), WalletText.wrapped(.dApp(origin), in: catalogue))
    case .showAssociationKey(let publicUserID):
      (Message("see your key for Keyri"), [catalogue.text(.user(publicUserID))])
    }
  }
}

extension WalletPurpose {
  /// The requested operation, for the prompt that unlocks the vault before `prompt`.
  func words(of prompt: UserPrompt, in catalogue: Catalogue) -> (operation: Message, details: [String]) {
    switch self {
    case .showPasskey: (Message("see your Algorand account"), catalogue.texts(prompt.siteLines))
    case .signTransactions: (Message("have Algorand transactions signed"), prompt.heading(in: catalogue))
    case .signMessage: (Message("have a message signed by your Algorand account"), prompt.heading(in: catalogue))
    case .signAssociation(let publicUserID, _, let service):
      (
        Message("sign in with Keyri"),
        WalletText.wrapped([Message].service(service) + [.user(publicUserID)], in: catalogue)
      )
    }
  }

  /// The dialogs of the prompt.
  ///
  /// - Parameter doorLines: the lines that say where the request came in.
  func pages(of prompt: UserPrompt, askedThrough doorLines: [String], in catalogue: Catalogue) -> PromptPages {
    switch self {
    case .showPasskey:
      return PromptPages(
        headline: Message("Show your passkey to a program?"),
        details: prompt.siteLines + UserPrompt.hostLines(prompt.host, of: prompt.rpID ?? "") + [
          Message("The site protects it. The passkey's id alone is not enough to sign in.")
        ],
        agree: Message("Show"), refuse: Message("Deny"), closing: doorLines, in: catalogue)
    case .signTransactions(let transactions):
      return PromptPages(
        transactions, heading: prompt.heading(in: catalogue), askedThrough: doorLines, in: catalogue)
    case .signMessage(let message):
      let account = prompt.groupedAddress.map { WalletText.wrapped([Message("Account: \($0)")], in: catalogue) } ?? []
      return PromptPages(
        question: Message("Sign this message?"), heading: prompt.heading(in: catalogue) + account + doorLines,
        body: WalletText.quoted(message), agree: Message("Sign"), in: catalogue)
    case .signAssociation(let publicUserID, let data, let service):
      return PromptPages(
        question: Message("Sign in with Keyri?"),
        heading: WalletText.wrapped(.service(service), in: catalogue) + doorLines,
        body: [catalogue.text(Message("User:"))] + WalletText.quoted(publicUserID)
          + [catalogue.text(Message("It signs:"))] + WalletText.quoted(data),
        agree: Message("Sign"), in: catalogue)
    }
  }
}

extension [Message] {
  /// The lines for the dApp that requests a signature.
  ///
  /// The wallet sends the origin, which the authenticator cannot check.
  fileprivate static func dApp(_ origin: String) -> [Message] {
    [Message("dApp: \(DisplayText.host(origin))")] + UserPrompt.letterLines(of: origin)
  }

  /// The lines for the service that requests a signature by an association key.
  fileprivate static func service(_ service: String) -> [Message] {
    [Message("Service: \(DisplayText.host(service))")] + UserPrompt.letterLines(of: service)
  }
}

extension Message {
  fileprivate static func user(_ publicUserID: String) -> Message {
    Message("User: \(DisplayText.name(publicUserID))")
  }
}

extension UserPrompt {
  /// The lines that name the dApp, on every page; without a dApp, the line for the move to a new phrase.
  fileprivate func heading(in catalogue: Catalogue) -> [String] {
    let lines =
      origin.map { [Message].dApp($0) } ?? [Message("Moves an account from your old phrase to your new phrase")]
    return WalletText.wrapped(lines, in: catalogue)
  }
}
