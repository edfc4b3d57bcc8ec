package import CBOR

// A wallet's requests. If the vault is locked, the authenticator prompts for its passphrase, in turn, as for a
// ceremony.

/// The address of the account in use, m/44'/283'/0'/0/0.
package struct GetAccount: PlainCommand {
  package static let code: UInt8 = 0x61
  package init() {}

  /// {1: 58 characters}.
  package struct Answer: ControlAnswer, Equatable {
    /// Base32 of public key and checksum.
    package var address: String

    package init(_ address: String) { self.address = address }
    package init(_ members: CBORMap) throws(ControlFailure) { address = try decoded(members.requiredText(1)) }
    package var members: CBORMap { [1: .text(address)] }
  }
}

/// Addresses of m/44'/283'/account'/0/index: {1: first index, 2: count, 3: account}.
package struct GetAddresses: ControlCommand, Hashable {
  package static let code: UInt8 = 0x65
  /// The most addresses in one answer.
  package static let maximumCount: UInt32 = 32

  /// The hardened level, without its highest bit: 0 to 2^31 - 1.
  package var account: UInt32
  /// The first index; the last is below 2^31.
  package var first: UInt32
  /// 1 to 32.
  package var count: UInt32

  package init(account: UInt32, first: UInt32, count: UInt32) {
    (self.account, self.first, self.count) = (account, first, count)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    first = try members.requiredInteger(1, as: UInt32.self)
    count = try members.requiredInteger(2, as: UInt32.self)
    account = try members.requiredInteger(3, as: UInt32.self)
    guard 1...Self.maximumCount ~= count, UInt64(first) + UInt64(count) <= 1 << 31 else {
      throw ControlFailure(.invalidParameter, "give a count of 1 to 32 and an index below 2147483648")
    }
    guard account < 1 << 31 else {
      throw ControlFailure(.invalidParameter, "the account \(account) does not exist; give a number below 2147483648")
    }
  }

  package var members: CBORMap { [1: .number(first), 2: .number(count), 3: .number(account)] }

  /// {1: [address …]}.
  package struct Answer: ControlAnswer, Equatable {
    /// In the order of their indexes, from the first of the request.
    package var addresses: [String]

    package init(_ addresses: [String]) { self.addresses = addresses }
    package init(_ members: CBORMap) throws(ControlFailure) { addresses = try members.texts(1, "an address") }
    package var members: CBORMap { [1: .texts(addresses)] }
  }
}

/// The account's passkey at a site, Recovery §3 and §8: {1: rp.id, 2: host?}.
package struct GetAccountPasskey: ControlCommand {
  package static let code: UInt8 = 0x62
  /// The longest rp.id or host, bytes: a host name has at most 253.
  private static let maximumNameSize = 255

  /// The relying party's id.
  package var rpID: String
  /// The requesting host, if it is not rp.id.
  package var host: String?

  package init(rpID: String, host: String? = nil) {
    (self.rpID, self.host) = (rpID, host)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try members.text(1, "the relying party's id", atMost: Self.maximumNameSize)
    host = try members[2] == nil ? nil : members.text(2, "the host", atMost: Self.maximumNameSize)
  }

  package var members: CBORMap { CBORMap(present: [1: .text(rpID), 2: host.map(CBORValue.text)]) }

  /// {1: credential id, 2: is stored}.
  package struct Answer: ControlAnswer, Equatable {
    /// The id of the live record whose user.id is the account's address; without one, the hash id of counter 0.
    package var credentialID: [UInt8]
    /// Whether this machine has the record.
    package var isStored: Bool

    package init(credentialID: [UInt8], isStored: Bool) {
      (self.credentialID, self.isStored) = (credentialID, isStored)
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      credentialID = try decoded(members.requiredBytes(1))
      isStored = try decoded(members.requiredBool(2))
    }

    package var members: CBORMap { [1: .bytes(credentialID), 2: .bool(isStored)] }
  }
}

/// Shows a dApp's transactions, and signs them if the person agrees to all:
/// {1: [[transaction, is to be signed, signer?] …], 2: origin, 3: shows all?}.
///
/// The request has all transactions of a group, also those that others sign: the user sees the whole group, and the
/// group id is computed from all of them.
package struct SignTransactions: ControlCommand, Hashable {
  package static let code: UInt8 = 0x63
  package static let maximumRequestSize = ControlMessage.maximumSize
  /// The most transactions, the limit of an Algorand group.
  package static let maximumCount = 16
  /// The longest origin, bytes.
  package static let maximumOriginSize = 300

  /// One transaction: [bytes, bool, text?].
  package struct Item: Hashable, Sendable {
    /// Canonical msgpack, without the prefix "TX".
    package var transaction: [UInt8]
    /// Whether the account in use is to sign it.
    package var isToBeSigned: Bool
    /// The address that must sign, if the sender was rekeyed to another account.
    package var signer: String?

    package init(_ transaction: [UInt8], isToBeSigned: Bool, signer: String? = nil) {
      (self.transaction, self.isToBeSigned, self.signer) = (transaction, isToBeSigned, signer)
    }

    fileprivate init(_ value: CBORValue) throws(ControlFailure) {
      guard let elements = value.array, let transaction = elements.first?.bytes,
        let isToBeSigned = elements.dropFirst().first?.bool
      else { throw ControlFailure(.unexpectedType, "a transaction is not [bytes, bool, text?]") }
      self.init(transaction, isToBeSigned: isToBeSigned)
      guard elements.count > 2 else { return }
      guard elements.count == 3, let signer = elements[2].text else {
        throw ControlFailure(.unexpectedType, "a transaction's signer is not a text")
      }
      self.signer = signer
    }

    fileprivate var value: CBORValue {
      .array([.bytes(transaction), .bool(isToBeSigned)] + (signer.map { [.text($0)] } ?? []))
    }
  }

  /// In the order of the group, 1 to 16.
  package var items: [Item]
  /// The dApp's origin, shown to the user.
  package var origin: String
  /// Whether long fields are shown whole, instead of their length, beginning and hash.
  package var showsAll: Bool

  package init(_ items: [Item], origin: String, showsAll: Bool = false) {
    (self.items, self.origin, self.showsAll) = (items, origin, showsAll)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    items = []
    for value in try decoded(members.requiredArray(1)) { items.append(try Item(value)) }
    origin = try members.text(2, "the origin", atMost: Self.maximumOriginSize)
    showsAll = try decoded(members.optionalBool(3)) ?? false
    guard 1...Self.maximumCount ~= items.count else {
      throw ControlFailure(.invalidLength, "there are \(items.count) transactions; there must be 1 to 16")
    }
    guard items.contains(where: \.isToBeSigned) else {
      throw ControlFailure(.invalidParameter, "there is no transaction to sign")
    }
  }

  package var members: CBORMap {
    CBORMap(present: [1: .array(items.map(\.value)), 2: .text(origin), 3: showsAll ? true : nil])
  }

  /// In the order of the request: {1: [64 bytes, or 0 bytes for a transaction that was not to be signed …]}.
  package struct Answer: ControlAnswer, Equatable {
    /// One for each transaction; `nil` where it was not to be signed.
    package var signatures: [[UInt8]?]

    package init(_ signatures: [[UInt8]?]) { self.signatures = signatures }
    package init(_ members: CBORMap) throws(ControlFailure) {
      signatures = []
      for value in try decoded(members.requiredArray(1)) {
        guard let signature = value.bytes, [0, 64].contains(signature.count) else {
          throw ControlFailure(.unexpectedType, "a signature is not 64 bytes")
        }
        signatures.append(signature.isEmpty ? nil : signature)
      }
    }

    package var members: CBORMap { [1: .array(signatures.map { .bytes($0 ?? []) })] }
  }
}

/// Shows a dApp's message, and signs "MX" ‖ message if the person agrees: {1: message, 2: origin}.
package struct SignMessage: ControlCommand, Hashable {
  package typealias Answer = WalletSignature
  package static let code: UInt8 = 0x64
  /// The longest message, bytes: a person reads all of it.
  package static let maximumSize = 1024

  /// UTF-8, 1 to 1024 bytes.
  package var message: [UInt8]
  /// The dApp's origin, shown to the user.
  package var origin: String

  package init(_ message: [UInt8], origin: String) {
    (self.message, self.origin) = (message, origin)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    message = try decoded(members.requiredBytes(1))
    origin = try members.text(2, "the origin", atMost: SignTransactions.maximumOriginSize)
    guard 1...Self.maximumSize ~= message.count else {
      throw ControlFailure(
        .invalidLength, "the message has \(message.count) bytes; only 1 to \(Self.maximumSize) can be shown and signed")
    }
  }

  package var members: CBORMap { [1: .bytes(message), 2: .text(origin)] }
}

/// A signature by an account's key or an association key: {1: bytes}.
package struct WalletSignature: ControlAnswer, Equatable {
  /// Ed25519, 64 bytes, by an account; ECDSA in DER by an association key.
  package var bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }
  package init(_ members: CBORMap) throws(ControlFailure) { bytes = try decoded(members.requiredBytes(1)) }
  package var members: CBORMap { [1: .bytes(bytes)] }
}

/// The public half of an association key, Recovery §3: {1: public user id}.
package struct GetAssociationKey: ControlCommand {
  package static let code: UInt8 = 0x66
  /// The user whose key it is: Keyri's publicUserId.
  package var publicUserID: String

  package init(publicUserID: String) { self.publicUserID = publicUserID }
  package init(_ members: CBORMap) throws(ControlFailure) { publicUserID = try members.publicUserID() }
  package var members: CBORMap { [1: .text(publicUserID)] }

  /// {1: X ‖ Y, 64 bytes}.
  package struct Answer: ControlAnswer, Equatable {
    /// X ‖ Y.
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ members: CBORMap) throws(ControlFailure) {
      bytes = try decoded(members.requiredBytes(1))
      guard bytes.count == 64 else { throw ControlFailure(.invalidLength, "the public key does not have 64 bytes") }
    }

    package var members: CBORMap { [1: .bytes(bytes)] }
  }
}

/// Shows a service's data, and signs them with an association key if the person agrees, Recovery §3:
/// {1: public user id, 2: data, 3: service}.
package struct SignAssociation: ControlCommand, Hashable {
  package typealias Answer = WalletSignature
  package static let code: UInt8 = 0x67
  /// The longest public user id, bytes.
  package static let maximumUserIDSize = 256
  /// The longest data, bytes.
  package static let maximumDataSize = 256
  /// The longest name of a service, bytes.
  package static let maximumServiceSize = 300

  /// The user whose key it is: Keyri's publicUserId.
  package var publicUserID: String
  /// Printable ASCII, 1 to 256 bytes: a person sees all of it.
  package var data: [UInt8]
  /// The requesting service, shown to the user.
  package var service: String

  package init(publicUserID: String, data: [UInt8], service: String) {
    (self.publicUserID, self.data, self.service) = (publicUserID, data, service)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    publicUserID = try members.publicUserID()
    data = try decoded(members.requiredBytes(2))
    service = try members.text(3, "the service", atMost: Self.maximumServiceSize)
    guard 1...Self.maximumDataSize ~= data.count else {
      throw ControlFailure(
        .invalidLength, "the data have \(data.count) bytes; only 1 to \(Self.maximumDataSize) can be shown and signed")
    }
    guard data.allSatisfy({ 0x20...0x7E ~= $0 }) else {
      throw ControlFailure(.invalidParameter, "the data are not printable ASCII, and cannot be shown")
    }
  }

  package var members: CBORMap { [1: .text(publicUserID), 2: .bytes(data), 3: .text(service)] }
}

extension CBORMap {
  /// Reads the public user id.
  fileprivate func publicUserID() throws(ControlFailure) -> String {
    try text(1, "the public user id", atMost: SignAssociation.maximumUserIDSize)
  }
}
