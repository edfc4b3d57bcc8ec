public import CryptoPrimitives

/// The record of one discoverable credential in the store (Recovery §6).
///
/// The private key is derived from `parameters` and rp.id. Only the record of an imported passkey holds one, and can hold
/// the secrets of hmac-secret.
public struct CredentialSource: Sendable {
  /// The origin of the record.
  public enum Origin: UInt8, Sendable {
    /// Registered on this machine.
    case registered = 0
    /// Recovered from an id that a relying party sent, or from the owner's input.
    case recovered = 1
    /// Imported from another authenticator with its private key.
    case imported = 2
  }

  /// rp.id as received.
  public let rpID: String
  /// user.id, algorithm, counter and policy: with rp.id, the input of the private key's derivation.
  public private(set) var parameters: CredentialParameters
  /// user.name; data, not derivable.
  public var name: String?
  /// user.displayName; data, not derivable.
  public var displayName: String?
  /// The credential id as the relying party has it.
  public let id: [UInt8]
  /// epoch · 65 536 + n: Recovery §7; 0 for an imported passkey.
  public let counter: UInt32
  /// When the credential was made, Unix milliseconds.
  public let created: UInt64
  /// When the owner or a registration changed the record last, Unix milliseconds; decides a merge at equal counters.
  ///
  /// 0 for a record that was recovered and not changed since: ``lastChange`` is the time to show.
  public var changed: UInt64
  /// The origin of the record.
  public let origin: Origin
  /// The credBlob extension's data; not derivable.
  public var credBlob: [UInt8]?
  /// The private key (a P-256 scalar or an Ed25519 seed, 32 bytes) of an imported passkey, and of no other.
  public let importedKey: SecretBytes?
  /// CredRandomWithoutUV ‖ CredRandomWithUV (64 bytes) of an imported passkey: those of its file, or those from before
  /// the move to the present phrase (Recovery §6); `nil` if the present phrase derives them.
  public private(set) var credRandoms: SecretBytes?

  /// Makes a record; `nil` unless user.id has 1–64 bytes, a private key comes with an imported passkey only, and
  /// CredRandoms, 64 bytes, come with a private key only.
  public init?(
    rpID: String, userID: [UInt8], name: String? = nil, displayName: String? = nil, id: [UInt8],
    algorithm: COSEAlgorithm, counter: UInt32, policy: CredentialPolicy = CredentialPolicy(), created: UInt64,
    changed: UInt64, origin: Origin, credBlob: [UInt8]? = nil, importedKey: SecretBytes? = nil,
    credRandoms: SecretBytes? = nil
  ) {
    let parameters = CredentialParameters.discoverable(
      userID: userID, counter: counter, algorithm: algorithm, policy: policy)
    guard let parameters, (origin == .imported) == (importedKey != nil) else { return nil }
    guard credRandoms.map({ origin == .imported && $0.count == Self.credRandomsSize }) ?? true else { return nil }
    self.rpID = rpID
    self.parameters = parameters
    self.name = name
    self.displayName = displayName
    self.id = id
    self.counter = counter
    self.created = created
    self.changed = changed
    self.origin = origin
    self.credBlob = credBlob
    self.importedKey = importedKey
    self.credRandoms = credRandoms
  }

  /// The size of both CredRandoms, bytes.
  package static let credRandomsSize = 64

  /// user.id, 1–64 bytes as received.
  public var userID: [UInt8] { parameters.userID }

  /// The algorithm of the key.
  public var algorithm: COSEAlgorithm { parameters.algorithm }

  /// The policy, agreed at registration or set by the owner since.
  public var policy: CredentialPolicy {
    get { parameters.policy }
    set { parameters.policy = newValue }
  }

  /// When the record was changed last, or else recovered, Unix milliseconds.
  public var lastChange: UInt64 { changed == 0 ? created : changed }

  /// The hash by which the relying party is found.
  public var rpIDHash: RPIDHash { RPIDHash(rpID: rpID) }

  /// Whether the private key is derived from the phrase.
  public var isDerivable: Bool { importedKey == nil }

  /// The same imported passkey with counter 0.
  ///
  /// In a store before version 8 and in a backup of version 1, it has a counter of its account.
  package var withoutCounter: CredentialSource? {
    CredentialSource(
      rpID: rpID, userID: userID, name: name, displayName: displayName, id: id, algorithm: algorithm, counter: 0,
      policy: policy, created: created, changed: changed, origin: origin, credBlob: credBlob, importedKey: importedKey,
      credRandoms: credRandoms)
  }

  /// The same imported passkey for the store of another phrase: with the CredRandoms that it has with this one.
  ///
  /// - Parameter keys: those of this phrase.
  package func keepingCredRandoms(of keys: CredentialKeys) -> CredentialSource {
    guard !isDerivable, credRandoms == nil else { return self }
    var source = self
    source.credRandoms = keys.credRandoms(rpIDHash, id: id)
    return source
  }

  /// The same imported passkey, without its CredRandoms if a phrase derives the same.
  ///
  /// - Parameter keys: those of the phrase.
  func droppingCredRandoms(of keys: CredentialKeys) -> CredentialSource {
    guard let credRandoms, credRandoms == keys.credRandoms(rpIDHash, id: id) else { return self }
    var source = self
    source.credRandoms = nil
    return source
  }

  /// The number of secrets in the record.
  var secretCount: Int { (importedKey == nil ? 0 : 1) + (credRandoms == nil ? 0 : 1) }

  /// Whether both are imported passkeys with the same private key and the same CredRandoms.
  package func hasSameSecrets(as other: CredentialSource) -> Bool {
    !isDerivable && importedKey == other.importedKey && credRandoms == other.credRandoms
  }
}

extension CredentialSource: Equatable {
  /// Equal in every byte; two texts that only look alike are not equal.
  public static func == (a: Self, b: Self) -> Bool {
    a.rpID.utf8.elementsEqual(b.rpID.utf8) && a.parameters == b.parameters && a.name.hasSameBytes(as: b.name)
      && a.displayName.hasSameBytes(as: b.displayName) && a.id == b.id
      && a.created == b.created && a.changed == b.changed
      && a.origin == b.origin && a.credBlob == b.credBlob && a.importedKey == b.importedKey
      && a.credRandoms == b.credRandoms
  }
}

extension String {
  /// The longest prefix that has at most `limit` bytes of UTF-8 and ends between two code points.
  package func truncated(toUTF8Count limit: Int) -> String {
    var size = 0
    return String(
      UnicodeScalarView(
        unicodeScalars.prefix { scalar in
          size += UTF8.width(scalar)
          return size <= limit
        }))
  }
}

extension String {
  /// The longest suffix that has at most `limit` bytes of UTF-8 and begins between two code points.
  func suffix(ofUTF8Count limit: Int) -> String {
    var size = 0
    return String(
      UnicodeScalarView(
        unicodeScalars.reversed().prefix { scalar in
          size += UTF8.width(scalar)
          return size <= limit
        }.reversed()))
  }
}

extension String? {
  /// Compares UTF-8: Swift's `==` would call canonically equivalent texts equal.
  package func hasSameBytes(as other: String?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let a?, let b?): a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }
}
