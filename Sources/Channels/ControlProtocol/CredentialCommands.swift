package import CBOR

// The owner's commands for stored credentials; they need the vault's passphrase on the connection.

/// Identifies a credential: {1: rp.id, 2: credential id, 5: imported?}.
///
/// Two relying parties can share a hash id, Recovery §12. A derived and an imported passkey of one relying party can have
/// the same id, Recovery §6.
package struct CredentialReference: Hashable, Sendable {
  /// The relying party's id.
  package var rpID: String
  /// The credential id, whole.
  package var credentialID: [UInt8]
  /// Whether this is the imported passkey with this id, and not the derived one.
  package var isImported: Bool

  package init(rpID: String, credentialID: [UInt8], isImported: Bool = false) {
    (self.rpID, self.credentialID, self.isImported) = (rpID, credentialID, isImported)
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try decoded(members.requiredText(1))
    credentialID = try decoded(members.requiredBytes(2))
    isImported = try decoded(members.optionalBool(5)) ?? false
  }

  var members: CBORMap {
    CBORMap(present: [1: .text(rpID), 2: .bytes(credentialID), 5: isImported ? true : nil])
  }
}

/// A page of the stored credentials, newest first: {1: before?, 2: digits?}.
///
/// A page begins at a place in the store, so that each page costs the same, and a credential that is saved or removed
/// meanwhile moves no other one to another page.
///
/// With `digits` it is a search, because no tag of the store finds an id without its relying party, Recovery §6. An
/// authenticator that does not know this member lists all credentials.
package struct ListCredentials: ControlCommand {
  package static let code: UInt8 = 0x54
  package static let goesByTicket = true
  /// The most credentials that are read for one page, listed or not: other requests wait meanwhile.
  package static let maximumRead = 4_096
  private static let hexadecimal = Array("0123456789abcdef".utf8)

  /// `next` of the previous page; `nil` for the first page.
  package var before: Int64?
  /// The first digits of the ids to list, in lower-case hexadecimal; `nil` lists all.
  package var digits: String?

  package init(before: Int64? = nil, digits: String? = nil) { (self.before, self.digits) = (before, digits) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    before = try decoded(members.optionalInt(1))
    digits = try decoded(members.optionalText(2))
  }

  package var members: CBORMap {
    CBORMap(present: [1: before.map { CBORValue($0) }, 2: digits.map(CBORValue.text)])
  }

  /// Whether the digits of an id begin with those of the request.
  func selects(_ id: [UInt8]) -> Bool {
    guard let digits else { return true }
    return id.lazy.flatMap { [Self.hexadecimal[Int($0 >> 4)], Self.hexadecimal[Int($0 & 0xF)]] }
      .starts(with: digits.utf8)
  }

  /// {1: [credential …], 2: next?}.
  package struct Answer: ControlAnswer, Equatable {
    /// Newest first; a page of a search can be empty.
    package var credentials: [CredentialDescription]
    /// The place of the last credential that was read, before which the next page begins; `nil` on the last page.
    package var next: Int64?

    package init(credentials: [CredentialDescription], next: Int64? = nil) {
      (self.credentials, self.next) = (credentials, next)
    }

    /// Takes as many credentials as fit into one message, at least one: a record is far smaller than a message.
    ///
    /// - Parameters:
    ///   - request: selects the credentials.
    ///   - read: calls its argument with each credential before the place in the request, and its place, the newest
    ///     first, until that returns `false`.
    package init<Failure>(
      to request: ListCredentials,
      reading read: (_ take: (CredentialDescription, _ place: Int64) -> Bool) throws(Failure) -> Void
    ) throws(Failure) {
      var credentials: [CredentialDescription] = []
      var (last, next): (Int64?, Int64?)
      var (size, count) = (32, 0)
      try read { credential, place in
        let isSelected = request.selects(credential.credentialID)
        if isSelected { size += CBOREncoder.encode(.map(credential.members)).count }
        guard size <= ControlMessage.maximumSize, count < ListCredentials.maximumRead else {
          next = last
          return false
        }
        if isSelected { credentials.append(credential) }
        (last, count) = (place, count + 1)
        return true
      }
      self.init(credentials: credentials, next: next)
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      credentials = []
      for element in try decoded(members.requiredArray(1)) {
        guard let map = element.map else { throw ControlFailure(.unexpectedType, "a credential is not a map") }
        credentials.append(try CredentialDescription(map))
      }
      next = try decoded(members.optionalInt(2))
    }

    package var members: CBORMap {
      CBORMap(present: [1: .array(credentials.map { .map($0.members) }), 2: next.map { CBORValue($0) }])
    }
  }
}

/// One credential with its public key.
package struct ShowCredential: ControlCommand {
  package typealias Answer = CredentialDescription
  package static let code: UInt8 = 0x55
  package var reference: CredentialReference

  package init(_ reference: CredentialReference) { self.reference = reference }
  package init(_ members: CBORMap) throws(ControlFailure) { reference = try CredentialReference(members) }
  package var members: CBORMap { reference.members }
}

/// Changes the names of a credential: {1: rp.id, 2: credential id, 3: name?, 4: displayName?, 5: imported?}.
package struct RenameCredential: ControlCommand {
  package static let code: UInt8 = 0x56
  /// The longest name, bytes.
  package static let maximumNameSize = 255

  package var reference: CredentialReference
  /// The account's `name`; `nil` keeps it, an empty one removes it.
  package var name: String?
  /// The account's `displayName`; `nil` keeps it, an empty one removes it.
  package var displayName: String?

  package init(_ reference: CredentialReference, name: String? = nil, displayName: String? = nil) {
    (self.reference, self.name, self.displayName) = (reference, name, displayName)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    reference = try CredentialReference(members)
    name = try decoded(members.optionalText(3))
    displayName = try decoded(members.optionalText(4))
    guard name != nil || displayName != nil else { throw ControlFailure(.missingParameter, "give a new name") }
    guard max(name?.utf8.count ?? 0, displayName?.utf8.count ?? 0) <= Self.maximumNameSize else {
      throw ControlFailure(.invalidLength, "a name is longer than 255 bytes")
    }
  }

  package var members: CBORMap {
    var members = reference.members
    members[3] = name.map(CBORValue.text)
    members[4] = displayName.map(CBORValue.text)
    return members
  }
}

/// Removes a credential and leaves a tombstone: {1: rp.id, 2: credential id, 5: imported?}.
package struct RemoveCredential: ControlCommand {
  package static let code: UInt8 = 0x57
  package var reference: CredentialReference

  package init(_ reference: CredentialReference) { self.reference = reference }
  package init(_ members: CBORMap) throws(ControlFailure) { reference = try CredentialReference(members) }
  package var members: CBORMap { reference.members }
}

/// Writes the record of a credential that is derived from the phrase again, Recovery §9:
/// {1: rp.id, 2: user.id, 3: counter, 4: COSE algorithm, 5: credProtect}.
package struct RecoverCredential: ControlCommand, Hashable {
  package typealias Answer = CredentialDescription
  package static let code: UInt8 = 0x58

  /// The longest relying party's id, bytes: no registration can have a longer one.
  package static let maximumRPIDSize = 1_800

  /// The relying party's id.
  package var rpID: String
  /// The account's user.id, 1 to 64 bytes.
  package var userHandle: [UInt8]
  /// Which of the account's registrations it was, Recovery §7.
  package var counter: UInt32
  /// The COSE algorithm: −7 ES256, −8 EdDSA.
  package var algorithm: Int64
  /// The credProtect level, 1 to 3.
  package var credProtect: UInt8

  package init(
    rpID: String, userHandle: [UInt8], counter: UInt32 = 0, algorithm: Int64 = -7, credProtect: UInt8 = 1
  ) {
    (self.rpID, self.userHandle, self.counter, self.algorithm) = (rpID, userHandle, counter, algorithm)
    self.credProtect = credProtect
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try decoded(members.requiredText(1))
    userHandle = try decoded(members.requiredBytes(2))
    counter = try members.requiredInteger(3, as: UInt32.self)
    algorithm = try decoded(members.requiredInt(4))
    credProtect = try members.requiredInteger(5, as: UInt8.self)
    guard !rpID.isEmpty else { throw ControlFailure(.invalidParameter, "the relying party's id is empty") }
    guard rpID.utf8.count <= Self.maximumRPIDSize else {
      throw ControlFailure(.invalidLength, "the relying party's id is longer than 1,800 bytes")
    }
    guard 1...64 ~= userHandle.count else {
      throw ControlFailure(.invalidLength, "the user handle has \(userHandle.count) bytes; it must have 1 to 64")
    }
    guard [-7, -8].contains(algorithm), 1...3 ~= credProtect else {
      throw ControlFailure(.invalidParameter, "unsupported algorithm or credProtect level")
    }
  }

  package var members: CBORMap {
    [
      1: .text(rpID), 2: .bytes(userHandle), 3: .number(counter), 4: CBORValue(algorithm), 5: .number(credProtect),
    ]
  }
}

/// Accepts the credentials from before a reset that the phrase can open: floor = 0, Recovery §7.
package struct AcceptBeforeReset: PlainCommand {
  package static let code: UInt8 = 0x59
  package init() {}
}
