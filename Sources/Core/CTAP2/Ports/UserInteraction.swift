public import Messages
public import Recovery

/// The content of a prompt, in the words of the request.
///
/// Texts come from the client and may be hostile: a back end shows them with control characters escaped and cut to
/// length.
public struct UserPrompt: Sendable, Equatable {
  /// The ceremony that waits for the user.
  public enum Purpose: Sendable, Equatable {
    /// authenticatorMakeCredential: a new credential would be made.
    case register
    /// authenticatorMakeCredential found a credential of its excludeList: none will be made.
    case alreadyRegistered
    /// authenticatorGetAssertion: a signature would be given.
    case signIn
    /// authenticatorClientPIN: a first PIN would be set, which verifies the user from then on.
    case setPIN
    /// U2F: a new second factor, for a site whose name U2F does not send.
    case registerSecondFactor
    /// U2F: a second factor would sign; the site is known only if the store has its record.
    case signInSecondFactor
    /// authenticatorSelection, or the empty `pinUvAuthParam` of older platforms: "is it this key that you mean?"
    case select
    /// authenticatorClientPIN: a program would get a token that shows for a while that the user was verified, and lets
    /// it do what the permissions say.
    case authorize(TokenPermissions)
    /// authenticatorConfig and authenticatorLargeBlobs without verification: the change that a program requests.
    case change(Change)
    /// authenticatorReset: the passkeys of this machine stop working.
    ///
    /// The phrase does not bring back `importedPasskeys` of them. `unsaved` of them were made or changed since the last
    /// backup, or all if there is none; `lastBackup` is its time, Unix milliseconds.
    case reset(importedPasskeys: Int, unsaved: Int = 0, lastBackup: UInt64? = nil)
    /// The owner's command: passkeys would leave the authenticator with their private keys.
    ///
    /// Those of `sites`, or all if it is `nil`; `passkeys` is their number.
    case export(passkeys: Int, sites: [String]?)
    /// A request of a wallet.
    case wallet(WalletPurpose)
  }

  /// Whether an OK counts only after the page has been open for half a second.
  ///
  /// True for prompts that destroy data, reveal private keys, change settings, or sign for an Algorand account: a key that
  /// is held down must not confirm them.
  public var needsReading: Bool {
    purpose.needsReading || algorandAddress != nil || replacesPasskey || !extras.isEmpty || resembles != nil
  }

  /// Whether the request comes from a wallet.
  public var isOfWallet: Bool {
    if case .wallet = purpose { true } else { false }
  }

  /// Whether no platform waits for the answer, so that there is time to read.
  public var hasTimeToRead: Bool {
    switch purpose {
    case .wallet, .export: true
    default: false
    }
  }

  /// What the site also gets in a registration or a sign-in, by extensions.
  public struct Extras: OptionSet, Hashable, Sendable {
    /// One bit for each.
    public let rawValue: UInt8

    /// Takes the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// hmac-secret and hmac-secret-mc: a secret for encryption, which WebAuthn calls `prf`.
    public static let secret = Self(rawValue: 1)
    /// largeBlobKey: the key of the site's large blob.
    public static let largeBlobKey = Self(rawValue: 2)
    /// thirdPartyPayment: payments that other sites start.
    public static let payment = Self(rawValue: 4)
  }

  /// A change that a program requests while neither passphrase nor PIN verifies.
  public enum Change: Sendable, Equatable {
    /// toggleAlwaysUv: whether every registration and sign-in would ask for verification.
    case alwaysUV(Bool)
    /// setMinPINLength: the shortest PIN, in code points, before and after; and the relying parties that can read it,
    /// if they change.
    case minimumPINLength(from: UInt8, to: UInt8, rpIDs: [String]?)
    /// The large-blob array: the sizes in bytes of the present and the new one.
    case largeBlobs(from: Int, to: Int)
  }

  /// What one transaction does.
  public struct TransactionText: Sendable, Equatable {
    /// The kind of the transaction.
    public var kind: Message
    /// A line for each other effect, uncut: in English, visible ASCII, except for letters in quotation marks.
    public var lines: [Message]
    /// Whether the account in use signs it; other transactions of its group may have other signers.
    public var isToBeSigned: Bool

    public init(kind: Message, lines: [Message], isToBeSigned: Bool) {
      self.kind = kind
      self.lines = lines
      self.isToBeSigned = isToBeSigned
    }
  }

  /// What an account gives away beside an amount.
  public enum Surrender: Sendable, Equatable {
    /// Another key controls the account.
    case control
    /// All that is left of the account, or of an asset, is sent.
    case rest
  }

  /// What the transactions of one request do.
  public struct TransactionTexts: Sendable, Equatable {
    /// The transactions, in the order of the group.
    public var each: NonEmpty<TransactionText>
    /// Whether all or none are committed; otherwise each is committed alone.
    public var isGroup: Bool
    /// Lines that several transactions have in common; each does not repeat them.
    public var common: [Message]
    /// The networks of the transactions, for the last page.
    public var networks: [Message] = []
    /// The sum of the effects: shown on the page with the OK, and for several transactions also on the first page.
    public var inShort: [Message]
    /// What the account gives away, beside amounts, in the transactions that it signs; `nil` if nothing.
    public var surrender: Surrender?

    public init(each: NonEmpty<TransactionText>, isGroup: Bool, common: [Message], inShort: [Message]) {
      self.each = each
      self.isGroup = isGroup
      self.common = common
      self.inShort = inShort
    }
  }

  /// The ceremony.
  public var purpose: Purpose
  /// The relying party's id as received; `nil` if there is none.
  public var rpID: String?
  /// The account's `name`, as the request or the store has it.
  public var accountName: String?
  /// The account's `displayName`, as the request or the store has it.
  public var accountDisplayName: String?
  /// The number of accounts that the request can sign in with; 0 if the site has no passkey here.
  public var accountCount: Int
  /// With `authorize` for a sign-in: the newest accounts that the store has at the site, by their names.
  public var storedAccounts: [String] = []
  /// How many more accounts the store has there; with `signIn`, how many that the browser cannot choose.
  public var moreStoredAccounts = 0
  /// With `register`: the account has a passkey on this machine, which the new one replaces.
  public var replacesPasskey: Bool
  /// With `register`: the site has a key of the previous phrase for the account, which the new one is to replace there
  /// (Recovery §14).
  public var movesFromPreviousPhrase = false
  /// With `signIn` and `signInSecondFactor`: the key that signs is of the previous phrase.
  public var isOfPreviousPhrase = false
  /// With `select`: the site of the sign-in before it, if the vault has none of the passkeys that the sign-in lists.
  public var unservedSite: String?
  /// With `export`: passkeys of the previous phrase are not exported, because the sites are being moved to the present one.
  public var leavesOutPreviousPhrase = false
  /// With the `liquid` extension, transactions and messages: the Algorand address (58 characters) that would sign.
  public var algorandAddress: String?
  /// The origin that a wallet names, if one does.
  ///
  /// With the `liquid` extension in challenge form it is that of the client data; with transactions and messages it is
  /// the dApp's.
  public var origin: String?
  /// With the `liquid` extension: the account has no passkey of the site on this machine yet, so nothing here confirms
  /// the site.
  public var isFirstUse: Bool
  /// With `showPasskey`: the host that the wallet names, if it differs from the relying party's id.
  public var host: String?
  /// With `register`, and with `authorize` for a registration: the known site that this new site resembles.
  public var resembles: SiteResemblance?
  /// With `register`, and with `authorize` for a registration: no passkey is stored yet, and no folder of backups is
  /// followed, so the dialog advises a backup.
  public var isFirstPasskey = false
  /// With `register` and `signIn`: what the site also gets.
  public var extras: Extras = []
  /// With verification: what verifies before the passphrase, in this order (Recovery §6).
  public var means: [VerificationMeans] = []

  /// Makes a prompt; everything but the purpose may be absent.
  public init(
    purpose: Purpose, rpID: String? = nil, accountName: String? = nil, accountDisplayName: String? = nil,
    accountCount: Int = 1, replacesPasskey: Bool = false, algorandAddress: String? = nil, origin: String? = nil,
    isFirstUse: Bool = false
  ) {
    self.purpose = purpose
    self.rpID = rpID
    self.accountName = accountName
    self.accountDisplayName = accountDisplayName
    self.accountCount = accountCount
    self.replacesPasskey = replacesPasskey
    self.algorandAddress = algorandAddress
    self.origin = origin
    self.isFirstUse = isFirstUse
  }
}

extension UserPrompt.Purpose {
  /// Whether it destroys data, reveals private keys, changes settings, or signs for an Algorand account.
  ///
  /// A registration or sign-in that signs for an account, by the `liquid` extension, has an address in its prompt.
  var needsReading: Bool {
    switch self {
    case .setPIN, .change, .reset, .export: true
    case .wallet(let purpose): purpose.needsReading
    case .authorize(let permissions):
      !permissions.isDisjoint(with: [.credentialManagement, .largeBlobWrite, .authenticatorConfiguration])
    case .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor, .select: false
    }
  }
}

/// A user's answer to a prompt, as a back end reports it.
///
/// It cannot sign; the authenticator makes from it the consent that a signature needs.
public struct Confirmation: Sendable, Hashable {
  /// Whether the user agreed to this prompt.
  public let userPresent: Bool
  /// What verified the user in this prompt; `none` if nothing did.
  public let verification: HistoryEntry.Verification
  /// Whether this prompt verified the user.
  public var userVerified: Bool { verification != .none }

  /// Records what the user did.
  public init(userPresent: Bool = true, verification: HistoryEntry.Verification) {
    self.userPresent = userPresent
    self.verification = verification
  }

  /// Records what the user did, where only the passphrase verifies.
  public init(userPresent: Bool = true, userVerified: Bool) {
    self.init(userPresent: userPresent, verification: userVerified ? .passphrase : .none)
  }
}

/// Why the user did not agree.
///
/// Each becomes one CTAP status, in one place.
public enum UserInteractionError: Error, Sendable, Equatable {
  /// The user refused.
  case declined
  /// No prompt could be shown, or the vault is not open.
  case unavailable
  /// The prompt timed out.
  case timedOut
  /// The client (CTAPHID_CANCEL) or a lock of the vault withdrew the request, or its task was cancelled.
  case cancelled
  /// The vault stays locked: the passphrase was wrong in every try of this request.
  case wrongPassphrase
  /// Verification failed: the passphrase was wrong in every try of this ceremony.
  case verificationFailed
  /// Too many wrong passphrases: verification is refused until the vault is unlocked again.
  case verificationBlocked
}

/// The port through which the authenticator prompts the user.
public protocol UserInteraction: Sendable {
  /// Whether built-in user verification is set up: getInfo's `uv` option is true then, and absent otherwise.
  var canVerify: Bool { get }
  /// How often verification can still fail before it is blocked: uvRetries of CTAP §6.5.5.3.
  var verificationTriesLeft: Int { get }

  /// Shows the prompt and waits for the user; cancelling the task withdraws it.
  ///
  /// With `verification`, the prompt asks for presence and verification together, and the confirmation has both.
  ///
  /// - Parameter client: that of the request; `nil` if the request names none.
  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation

  /// Refuses a request without a dialog, because of the owner's policy; returns when the client must get its answer.
  ///
  /// - Parameter client: that of the request; `nil` if the request names none.
  /// - Returns: the error that a refusal in a dialog would have caused.
  func refuse(_ prompt: UserPrompt, from client: (any RequestClient)?) async -> UserInteractionError
}

extension UserInteraction {
  /// Refuses at once.
  public func refuse(_ prompt: UserPrompt, from client: (any RequestClient)?) async -> UserInteractionError {
    .declined
  }
}

/// The purpose of a wallet's prompt.
public enum WalletPurpose: Sendable, Equatable {
  /// Show a program the passkey of the account in use at a site that protects it (credProtect 2 or 3).
  case showPasskey
  /// The account in use would sign all transactions of a dApp's request, or none.
  case signTransactions(UserPrompt.TransactionTexts)
  /// The account in use would sign a message of a dApp.
  case signMessage(String)
  /// Keep the pairing with a dApp, so that the wallet can connect to it again without a sign-in; it may replace the one
  /// that the store has, or the oldest, with a dApp of this origin, if there is no room for another.
  case rememberDApp(replaces: Bool, oldest: String? = nil)
  /// Give the wallet the pairing with a dApp, which stands for a sign-in.
  case useDApp
  /// An association key would sign data of a service.
  case signAssociation(publicUserID: String, data: String, service: String)

  /// Whether the request signs for an Algorand account.
  var needsReading: Bool {
    switch self {
    // A pairing stands for a sign-in with the account, whose prompt must be read too.
    case .signTransactions, .signMessage, .rememberDApp, .useDApp: true
    case .showPasskey, .signAssociation: false
    }
  }
}

/// The reason for a wallet's unlocking, for requests without a prompt, or whose prompt depends on the open vault.
public enum WalletUnlockReason: Sendable, Equatable {
  /// Show a wallet the account in use, or its passkey at a site; the host may differ from the site.
  case showAccount(rpID: String?, host: String? = nil)
  /// Show addresses of an account that the program names.
  case showAddresses
  /// Sign transactions of a dApp with the account in use; the prompt depends on the account.
  case signTransactions(origin: String)
  /// Connect to a remembered dApp again; the prompt depends on the store.
  case useDApp(site: String)
  /// Show a program an association key.
  case showAssociationKey(publicUserID: String)
}
