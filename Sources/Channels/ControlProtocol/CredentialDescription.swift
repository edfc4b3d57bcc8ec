package import CBOR

/// A stored credential for the owner: the numbers are those of the record, Recovery §6; 12 (the credBlob) is only in an
/// export, 14 is its public key, 15 its largeBlobKey, 16 whether it has a credBlob, 17 the remembered dApps
/// of its site.
package struct CredentialDescription: ControlAnswer, Equatable {
  /// The relying party's id.
  package var rpID: String
  /// The account's user.id.
  package var userID: [UInt8]
  /// The account's `name`.
  package var name: String?
  /// The account's `displayName`.
  package var displayName: String?
  /// The credential id.
  package var credentialID: [UInt8]
  /// The COSE algorithm.
  package var algorithm: Int64
  /// Which of the account's registrations it is, Recovery §7.
  package var counter: UInt32
  /// Bits 0–1 credProtect level, bit 2 largeBlobKey, bit 3 thirdPartyPayment, Recovery §4.
  package var policy: UInt8
  /// When it was made, Unix milliseconds.
  package var created: UInt64
  /// When it was last changed, Unix milliseconds.
  package var changed: UInt64
  /// 0 registered, 1 recovered, 2 imported.
  package var source: UInt8
  /// X ‖ Y (64 bytes) or an Ed25519 key (32); lists leave it out.
  package var publicKey: [UInt8]?
  /// Decrypts its entry of the large-blob array, 32 bytes; lists leave it out.
  ///
  /// A platform that may list the passkeys gets it too (CTAP §6.8.4).
  package var largeBlobKey: [UInt8]?
  /// Whether the record has a credBlob.
  package var hasCredBlob: Bool
  /// The credBlob; only an export has it.
  package var credBlob: [UInt8]?
  /// The origins of the dApps whose pairings this machine keeps for the site.
  package var dApps: [String] = []

  package init(
    rpID: String, userID: [UInt8], name: String? = nil, displayName: String? = nil, credentialID: [UInt8],
    algorithm: Int64, counter: UInt32, policy: UInt8, created: UInt64, changed: UInt64, source: UInt8,
    publicKey: [UInt8]? = nil, largeBlobKey: [UInt8]? = nil, hasCredBlob: Bool = false,
    credBlob: [UInt8]? = nil
  ) {
    (self.rpID, self.userID, self.name, self.displayName) = (rpID, userID, name, displayName)
    (self.credentialID, self.algorithm, self.counter, self.policy) = (credentialID, algorithm, counter, policy)
    (self.created, self.changed, self.source, self.publicKey) = (created, changed, source, publicKey)
    (self.largeBlobKey, self.hasCredBlob, self.credBlob) = (largeBlobKey, hasCredBlob, credBlob)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    rpID = try decoded(members.requiredText(1))
    userID = try decoded(members.requiredBytes(2))
    name = try decoded(members.optionalText(3))
    displayName = try decoded(members.optionalText(4))
    credentialID = try decoded(members.requiredBytes(5))
    algorithm = try decoded(members.requiredInt(6))
    counter = try members.requiredInteger(7, as: UInt32.self)
    policy = try members.requiredInteger(8, as: UInt8.self)
    created = try decoded(members.requiredUnsigned(9))
    changed = try decoded(members.requiredUnsigned(10))
    source = try members.requiredInteger(11, as: UInt8.self)
    credBlob = try decoded(members.optionalBytes(12))
    publicKey = try decoded(members.optionalBytes(14))
    largeBlobKey = try decoded(members.optionalBytes(15))
    hasCredBlob = try decoded(members.optionalBool(16)) ?? false
    dApps = members[17] == nil ? [] : try members.texts(17, "an origin")
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: .text(rpID), 2: .bytes(userID), 3: name.map(CBORValue.text), 4: displayName.map(CBORValue.text),
      5: .bytes(credentialID), 6: CBORValue(algorithm), 7: .number(counter), 8: .number(policy), 9: .unsigned(created),
      10: .unsigned(changed), 11: .number(source), 12: credBlob.map(CBORValue.bytes),
      14: publicKey.map(CBORValue.bytes), 15: largeBlobKey.map(CBORValue.bytes), 16: hasCredBlob ? true : nil,
      17: dApps.isEmpty ? nil : .texts(dApps),
    ])
  }
}

extension CredentialDescription {
  /// Identifies this credential in a request.
  package var reference: CredentialReference {
    CredentialReference(rpID: rpID, credentialID: credentialID, isImported: isImported)
  }
  /// Whether its private key was imported.
  package var isImported: Bool { source == 2 }
  /// The credProtect level, 1 to 3.
  package var credProtect: UInt8 { policy & 0b11 }
  /// Whether it was registered with the largeBlobKey extension.
  package var hasLargeBlobKey: Bool { policy & 0b100 != 0 }
  /// Whether it was registered with the thirdPartyPayment extension.
  package var isForThirdPartyPayment: Bool { policy & 0b1000 != 0 }
}
