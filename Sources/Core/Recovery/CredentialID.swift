public import CryptoPrimitives
import DeterministicKeys

/// The two forms of credential ids: Recovery §4.
public enum CredentialID {
  /// The length of a hash id.
  public static let hashLength = 32
  /// The length of every sealed id: 01 ‖ nonce (24) ‖ sealed fields (86) ‖ tag (16).
  public static let sealedLength = 1 + XChaCha20Poly1305.nonceSize + plaintextLength + XChaCha20Poly1305.tagSize
  /// The length of the fields inside a sealed id.
  static let plaintextLength = 22 + CredentialParameters.maximumUserIDLength
  /// The first byte of a sealed id, and of the additional data that it is sealed with.
  static let format: UInt8 = 1

  /// The form of a new kind 1 id: the machine's setting, but a hash if user.id is an Algorand address.
  ///
  /// Phone wallets compute the hash. It is used for *any* address, so that the length of an id does not show a site
  /// whose address it is.
  public static func form(forUserID userID: [UInt8], setting: CredentialIDForm) -> CredentialIDForm {
    AlgorandAddress(text: userID) != nil ? .hash : setting
  }
}

extension CredentialKeys {
  /// The sealed id (127 bytes) of a credential; the same on every machine that has the phrase.
  public func sealedID(_ parameters: CredentialParameters, rpIDHash: RPIDHash) throws(CryptoError) -> [UInt8] {
    let ad = [CredentialID.format] + rpIDHash.bytes
    let plaintext = parameters.plaintext
    let nonce = Array(
      HMACSHA512.authenticate(ad + plaintext, key: self[.credentialIDNonce]).prefix(XChaCha20Poly1305.nonceSize))
    let sealed = try XChaCha20Poly1305.seal(plaintext, key: self[.credentialIDSeal], nonce: nonce, ad: ad)
    return [CredentialID.format] + nonce + sealed
  }

  /// The parameters in a sealed id; `nil`, without a reason, for any other id.
  ///
  /// The tag is checked before anything is read.
  public func open(sealedID id: [UInt8], rpIDHash: RPIDHash) -> CredentialParameters? {
    guard id.count == CredentialID.sealedLength, id[0] == CredentialID.format else { return nil }
    let box = 1 + XChaCha20Poly1305.nonceSize
    let plaintext = try? XChaCha20Poly1305.open(
      Array(id[box...]), key: self[.credentialIDSeal], nonce: Array(id[1..<box]),
      ad: [CredentialID.format] + rpIDHash.bytes)
    return plaintext.flatMap(CredentialParameters.init(plaintext:))
  }

  /// The id of a kind 1 credential in the given form.
  func id(
    _ form: CredentialIDForm, _ parameters: CredentialParameters, rpIDHash: RPIDHash, publicKey: CredentialPublicKey
  ) throws(CryptoError) -> [UInt8] {
    switch form {
    case .sealed: try sealedID(parameters, rpIDHash: rpIDHash)
    case .hash: publicKey.hashID
    }
  }
}

extension CredentialParameters {
  /// kind ‖ algorithm ‖ policy ‖ epoch ‖ instance ‖ length of user.id ‖ user.id, zero-padded: 86 bytes.
  var plaintext: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(CredentialID.plaintextLength)
    bytes += [kind.rawValue, algorithm.number, policy.byte]
    bytes += epoch.bigEndianBytes
    bytes += instanceBytes
    bytes.append(UInt8(userID.count))
    bytes += userID
    bytes += repeatElement(0, count: CredentialID.plaintextLength - bytes.count)
    return bytes
  }

  /// Reads the fields; `nil` if one is out of range or they contradict each other.
  init?(plaintext: [UInt8]) {
    guard plaintext.count == CredentialID.plaintextLength,
      let kind = CredentialKind(rawValue: plaintext[0]), let algorithm = COSEAlgorithm(number: plaintext[1]),
      let policy = CredentialPolicy(byte: plaintext[2]), plaintext[21] <= Self.maximumUserIDLength
    else { return nil }
    let epoch = UInt16(bigEndianBytes: plaintext[3..<5])
    let salt = Array(plaintext[5..<21])
    let userID = Array(plaintext[22...].prefix(Int(plaintext[21])))

    let parameters: Self? =
      switch kind {
      case .discoverable:
        .discoverable(
          userID: userID, counter: UInt32(bigEndianBytes: salt[12...]), algorithm: algorithm, policy: policy)
      case .nonDiscoverable:
        .nonDiscoverable(userID: userID, salt: salt, epoch: epoch, algorithm: algorithm, policy: policy)
      case .u2f:
        .u2f(salt: salt, epoch: epoch)
      }
    // All other bytes (padding, zero bytes, an epoch beside a counter) must be as `plaintext` writes them.
    guard let parameters, parameters.plaintext == plaintext else { return nil }
    self = parameters
  }
}
