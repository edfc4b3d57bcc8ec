import CTAP2
import DisplayText
import Messages
import Recovery

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
    case .useDApp(let site):
      (Message("connect to a remembered dApp"), WalletText.wrapped(.dApp(site), in: catalogue))
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
    case .rememberDApp: (Message("remember a dApp"), prompt.heading(in: catalogue))
    case .useDApp: (Message("connect to a remembered dApp"), prompt.heading(in: catalogue))
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
    case .rememberDApp(let replaces, let oldest):
      let old = replaces ? [Message("It is remembered already; the new entry replaces the old one.")] : []
      let other = oldest.map { oldest in
        Message(
          "It replaces the oldest of \(Pairings.maximumCount) remembered dApps: \(DisplayText.host(oldest))")
      }
      return PromptPages(
        question: Message("Remember this dApp?"), heading: prompt.heading(in: catalogue) + doorLines,
        body: WalletText.wrapped(
          old + [other].compactMap(\.self) + [
            Message("Later connections to it need no link and no sign-in, only your consent."),
            Message("To forget it, remove your passkeys of the site."),
          ], in: catalogue), agree: replaces ? Message("Replace") : Message("Remember"), in: catalogue)
    case .useDApp:
      return PromptPages(
        question: Message("Connect to this dApp again?"), heading: prompt.heading(in: catalogue) + doorLines,
        body: WalletText.wrapped(
          [Message("It gets a channel to your wallet, as after a sign-in.")], in: catalogue),
        agree: Message("Connect"), in: catalogue)
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
