import CBOR
public import CryptoPrimitives

/// One request of the control socket.
public enum ControlRequest: Sendable {
  /// A CTAP2 message, command byte and CBOR, as it is; 1 to ``ControlMessage/maximumCTAPSize`` bytes.
  case ctap([UInt8])
  /// The first request of every connection. Answer: ``Hello``.
  case hello(version: UInt64)
  /// What runs, and what is wrong. It never waits for a person. Answer: ``AuthenticatorStatus``.
  case status
  /// Forgets what the vault holds. It never waits for a person. Answer: nothing.
  case lock
  /// Opens the vault, and lets this connection manage credentials while the vault is open. Answer: nothing.
  case unlock(passphrase: SecretBytes)
  /// A page of the stored credentials, newest first; `start` is 0 or the `next` of the page before. Answer:
  /// ``CredentialPage``.
  case listCredentials(start: UInt64)
  /// One credential with its public key. Answer: ``CredentialDescription``.
  case showCredential(CredentialReference)
  /// Changes the names of one credential. Answer: nothing.
  case renameCredential(CredentialReference, names: CredentialNames)
  /// Removes one credential; a tombstone stays. Answer: nothing.
  case removeCredential(CredentialReference)
  /// Writes the record of a credential that the phrase gives back, Recovery §9. Answer: ``CredentialDescription``.
  case recoverCredential(CredentialRecovery)
  /// Takes a reset back for what the phrase can open: floor = 0, Recovery §7. Answer: nothing.
  case acceptBeforeReset
  /// Makes an empty store and a new `storeID`, where the store is missing, Recovery §1. Answer: nothing.
  case newStore(passphrase: SecretBytes)
  /// Accepts a store that was modified outside liquid-auth. Answer: nothing.
  case acceptStore(passphrase: SecretBytes)
  /// Plugs the device in or out; a power cycle needs the passphrase on this connection. It never waits for a person.
  /// Answer: nothing.
  case device(DeviceAction)
  /// Sets the PIN, the first or another, 1 to 63 bytes of UTF-8. Answer: nothing.
  case setPIN(SecretBytes)
  /// Goes back to no PIN. Answer: nothing.
  case removePIN
  /// What is set beside the PIN. Answer: ``OwnerSettings``.
  case settings
  /// Changes some of it. Answer: ``OwnerSettings``, as they are then.
  case changeSettings(SettingsChange)
  /// Ends the token of permission pcmr, by which programs list passkeys without asking again. Answer: nothing.
  case forgetReaders
  /// Replaces the serialized large-blob array, CTAP §6.10.3: any, or the one that ends with this digest, 16 bytes. Answer:
  /// nothing.
  case setLargeBlobArray([UInt8], changedFrom: [UInt8]?)

  // The wallet's. A locked vault is opened by the authenticator's own prompt, in its turn, as for a ceremony.

  /// The address of the account in use, m/44'/283'/0'/0/0. Answer: ``AccountAddress``.
  case account
  /// The account's passkey at a site, Recovery §3 and §8: {1: rp.id, 2: host?}; the host for which it is asked, where that
  /// is another. Answer: ``AccountPasskey``.
  case walletPasskey(rpID: String, host: String? = nil)
  /// Shows transactions, and signs them when a person agrees to all. Answer: ``TransactionSignatures``.
  case signTransactions(TransactionsToSign)
  /// Shows a message, and signs it when a person agrees. Answer: ``WalletSignature``.
  case signMessage(MessageToSign)
  /// Addresses of an account, by index. Answer: ``AccountAddresses``.
  case accounts(AccountRange)
  /// The public half of an association key, Recovery §3. Answer: ``AssociationPublicKey``.
  case associationKey(publicUserID: String)
  /// Shows data, and signs them with an association key when a person agrees. Answer: ``WalletSignature``.
  case signAssociation(AssociationToSign)
}

extension ControlRequest {
  /// What an answer may have to wait for.
  public enum Wait: Sendable {
    /// Nothing.
    case none
    /// Argon2id or the end of a dialog: a moment, and no person.
    case work
    /// The queue of all requests, and the person who is asked in it.
    case queue
  }

  /// What its answer may have to wait for.
  public var wait: Wait {
    switch self {
    case .hello, .status, .lock: .none
    case .unlock, .device: .work
    case .ctap, .newStore, .acceptStore, .listCredentials, .showCredential, .renameCredential, .removeCredential,
      .recoverCredential, .acceptBeforeReset, .setPIN, .removePIN, .settings, .changeSettings, .forgetReaders,
      .setLargeBlobArray, .account, .walletPasskey, .signTransactions, .signMessage, .accounts, .associationKey,
      .signAssociation:
      .queue
    }
  }

  /// The command byte of each request of our own.
  enum Command: UInt8 {
    case hello = 0x50
    case status = 0x51
    case lock = 0x52
    case unlock = 0x53
    case listCredentials = 0x54
    case showCredential = 0x55
    case renameCredential = 0x56
    case removeCredential = 0x57
    case recoverCredential = 0x58
    case acceptBeforeReset = 0x59
    case newStore = 0x5A
    case device = 0x5B
    case setPIN = 0x5C
    case removePIN = 0x5D
    case settings = 0x5E
    case changeSettings = 0x5F
    case setLargeBlobArray = 0x60
    case account = 0x61
    case walletPasskey = 0x62
    case signTransactions = 0x63
    case signMessage = 0x64
    case accounts = 0x65
    case associationKey = 0x66
    case signAssociation = 0x67
    case forgetReaders = 0x68
    case acceptStore = 0x6A
  }

  /// The request as it goes into one packet; in locked memory, because it may hold a passphrase.
  public var encoded: SecretBytes {
    switch self {
    case .ctap(let message): message.withUnsafeBytes { SecretBytes(copying: $0) }
    case .hello(let version): Self.encode(.hello, [1: .unsigned(version)])
    case .status: Self.encode(.status)
    case .lock: Self.encode(.lock)
    case .unlock(let passphrase): SecretMember.encode(command: Command.unlock.rawValue, secret: passphrase)
    case .listCredentials(let start): Self.encode(.listCredentials, [1: .unsigned(start)])
    case .showCredential(let reference): Self.encode(.showCredential, reference.members)
    case .renameCredential(let reference, let names): Self.encode(.renameCredential, names.members(of: reference))
    case .removeCredential(let reference): Self.encode(.removeCredential, reference.members)
    case .recoverCredential(let recovery): Self.encode(.recoverCredential, recovery.members)
    case .acceptBeforeReset: Self.encode(.acceptBeforeReset)
    case .newStore(let passphrase): SecretMember.encode(command: Command.newStore.rawValue, secret: passphrase)
    case .acceptStore(let passphrase): SecretMember.encode(command: Command.acceptStore.rawValue, secret: passphrase)
    case .device(let action): Self.encode(.device, action.members)
    case .setPIN(let pin): SecretMember.encode(command: Command.setPIN.rawValue, secret: pin)
    case .removePIN: Self.encode(.removePIN)
    case .settings: Self.encode(.settings)
    case .changeSettings(let change): Self.encode(.changeSettings, change.members)
    case .setLargeBlobArray(let array, let digest):
      Self.encode(.setLargeBlobArray, Self.largeBlobMembers(array, digest))
    case .forgetReaders: Self.encode(.forgetReaders)
    case .account: Self.encode(.account)
    case .walletPasskey(let rpID, let host):
      Self.encode(.walletPasskey, Self.passkeyMembers(rpID, host))
    case .signTransactions(let transactions): Self.encode(.signTransactions, transactions.members)
    case .signMessage(let message): Self.encode(.signMessage, message.members)
    case .accounts(let range): Self.encode(.accounts, range.members)
    case .associationKey(let publicUserID): Self.encode(.associationKey, [1: .text(publicUserID)])
    case .signAssociation(let association): Self.encode(.signAssociation, association.members)
    }
  }

  private static func largeBlobMembers(_ array: [UInt8], _ digest: [UInt8]?) -> CBORMap {
    var members: CBORMap = [1: .bytes(array)]
    members[2] = digest.map(CBORValue.bytes)
    return members
  }

  private static func encode(_ command: Command, _ members: CBORMap = [:]) -> SecretBytes {
    ([command.rawValue] + members.encodedMembers).withUnsafeBytes { SecretBytes(copying: $0) }
  }
}

extension ControlRequest {
  /// Reads one packet.
  ///
  /// Whoever received it wipes it afterwards: a passphrase is copied into locked memory here.
  ///
  /// - Throws: the failure to answer with. Members that no request knows are ignored.
  public init(decoding message: UnsafeRawBufferPointer) throws(ControlFailure) {
    guard let code = message.first, message.count <= ControlMessage.maximumSize else {
      throw ControlFailure(.invalidLength, "the request is empty or too long")
    }
    guard ControlMessage.vendorCommands.contains(code) else {
      guard message.count <= ControlMessage.maximumCTAPSize else {
        throw ControlFailure(.invalidLength, "the CTAP2 message is longer than 7609 bytes")
      }
      self = .ctap(Array(message))
      return
    }
    guard let command = Command(rawValue: code) else {
      throw ControlFailure(.invalidCommand, "no such command: 0x\(String(code, radix: 16))")
    }
    let body = UnsafeRawBufferPointer(rebasing: message.dropFirst())
    let (secret, members) = try SecretMember.split(body)
    switch command {
    case .hello: self = .hello(version: try told(members.requiredUnsigned(1)))
    case .status: self = .status
    case .lock: self = .lock
    case .unlock: self = .unlock(passphrase: try Self.required(secret))
    case .listCredentials: self = .listCredentials(start: try told(members.optionalUnsigned(1)) ?? 0)
    case .showCredential: self = .showCredential(try CredentialReference(members))
    case .renameCredential:
      self = .renameCredential(try CredentialReference(members), names: try CredentialNames(members))
    case .removeCredential: self = .removeCredential(try CredentialReference(members))
    case .recoverCredential: self = .recoverCredential(try CredentialRecovery(members))
    case .acceptBeforeReset: self = .acceptBeforeReset
    case .newStore: self = .newStore(passphrase: try Self.required(secret))
    case .acceptStore: self = .acceptStore(passphrase: try Self.required(secret))
    case .device: self = .device(try DeviceAction(members))
    case .setPIN: self = .setPIN(try Self.required(secret))
    case .removePIN: self = .removePIN
    case .settings: self = .settings
    case .changeSettings: self = .changeSettings(try SettingsChange(members))
    case .setLargeBlobArray:
      self = .setLargeBlobArray(try told(members.requiredBytes(1)), changedFrom: try told(members.optionalBytes(2)))
    case .forgetReaders: self = .forgetReaders
    case .account: self = .account
    case .walletPasskey:
      self = .walletPasskey(
        rpID: try members.text(1, "the relying party's id", atMost: Self.maximumRPIDSize),
        host: members[2] == nil ? nil : try members.text(2, "the host", atMost: Self.maximumRPIDSize))
    case .signTransactions: self = .signTransactions(try TransactionsToSign(members))
    case .signMessage: self = .signMessage(try MessageToSign(members))
    case .accounts: self = .accounts(try AccountRange(members))
    case .associationKey: self = .associationKey(publicUserID: try members.publicUserID())
    case .signAssociation: self = .signAssociation(try AssociationToSign(members))
    }
  }

  private static func passkeyMembers(_ rpID: String, _ host: String?) -> CBORMap {
    var members: CBORMap = [1: .text(rpID)]
    members[2] = host.map { .text($0) }
    return members
  }

  /// The longest rp.id or host that a wallet asks for, bytes: a host name has at most 253.
  private static let maximumRPIDSize = 255

  private static func required(_ secret: SecretBytes?) throws(ControlFailure) -> SecretBytes {
    guard let secret else { throw ControlFailure(.missingParameter, "the passphrase or PIN is missing") }
    return secret
  }
}
