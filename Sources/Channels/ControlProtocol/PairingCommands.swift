package import CBOR
package import CryptoPrimitives
import Recovery

// A wallet's requests about its pairings with dApps, Recovery §6. They carry a bearer token, unlike its other requests.

/// Asks whether to remember a dApp, and keeps its pairing, Recovery §6:
/// {0: credential, 1: origin, 2: rp.id, 3: pairing id, 4: path?}.
package struct KeepPairing: ControlCommand {
  package static let code: UInt8 = 0x90
  /// The longest origin and rp.id, bytes.
  static let maximumNameSize = Pairings.maximumNameSize

  /// The origin of the dApp's server, shown to the user.
  package var origin: String
  /// The path below which it is; empty for the root.
  package var path: String
  /// The relying party of the passkey that signed in.
  package var rpID: String
  /// The public id of the pairing.
  package var pairingID: String
  /// The server's bearer token.
  package var credential: SecretBytes

  package init(origin: String, path: String = "", rpID: String, pairingID: String, credential: SecretBytes) {
    (self.origin, self.path, self.rpID) = (origin, path, rpID)
    (self.pairingID, self.credential) = (pairingID, credential)
  }

  /// Always throws: only ``init(decoding:)`` reads a credential.
  package init(_ members: CBORMap) throws(ControlFailure) {
    throw ControlFailure(.missingParameter, "the credential is missing")
  }

  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (secret, members) = try SecretMember.split(body, atMost: Pairings.maximumCredentialSize)
    guard let secret else { throw ControlFailure(.missingParameter, "the credential is missing") }
    credential = secret
    origin = try members.text(1, "the origin", atMost: Self.maximumNameSize)
    rpID = try members.text(2, "the relying party's id", atMost: Self.maximumNameSize)
    pairingID = try members.text(3, "the id of the pairing", atMost: Pairings.maximumIDSize)
    path = try members[4] == nil ? "" : members.text(4, "the path", atMost: Pairings.maximumPathSize)
  }

  package var members: CBORMap {
    [1: .text(origin), 2: .text(rpID), 3: .text(pairingID), 4: path.isEmpty ? nil : .text(path)]
  }
  package var encoded: SecretBytes { SecretMember.encode(command: Self.code, secret: credential, members: members) }
}

/// Asks whether a wallet may connect to a remembered dApp again, and gets the pairing: {1: site}.
package struct GetPairing: ControlCommand {
  package static let code: UInt8 = 0x91

  /// An origin, the host of one, or an rp.id.
  package var site: String

  package init(site: String) { self.site = site }
  package init(_ members: CBORMap) throws(ControlFailure) {
    site = try members.text(1, "the site", atMost: KeepPairing.maximumNameSize)
  }
  package var members: CBORMap { [1: .text(site)] }

  /// {0: credential, 1: origin, 2: pairing id, 3: path?}.
  package struct Answer: ControlAnswer, Equatable {
    /// The origin of the dApp's server.
    package var origin: String
    /// The path below which it is; empty for the root.
    package var path: String
    /// The public id of the pairing.
    package var pairingID: String
    /// The server's bearer token.
    package var credential: SecretBytes

    package init(origin: String, path: String = "", pairingID: String, credential: SecretBytes) {
      (self.origin, self.path, self.pairingID, self.credential) = (origin, path, pairingID, credential)
    }

    /// Always throws: only ``init(decoding:)`` reads a credential.
    package init(_ members: CBORMap) throws(ControlFailure) {
      throw ControlFailure(.missingParameter, "the credential is missing")
    }

    package init(decoding message: [UInt8]) throws(ControlFailure) {
      try Self.checkStatus(of: message)
      let (secret, members) = try message.withUnsafeBytes { message in
        Result { () throws(ControlFailure) in
          try SecretMember.split(
            UnsafeRawBufferPointer(rebasing: message.dropFirst()), atMost: Pairings.maximumCredentialSize)
        }
      }.get()
      guard let secret else { throw ControlFailure(.missingParameter, "the credential is missing") }
      credential = secret
      origin = try decoded(members.requiredText(1))
      pairingID = try decoded(members.requiredText(2))
      path = try decoded(members.optionalText(3)) ?? ""
    }

    package var members: CBORMap {
      [1: .text(origin), 2: .text(pairingID), 3: path.isEmpty ? nil : .text(path)]
    }

    package var encoded: [UInt8] {
      SecretMember.encode(command: ControlStatus.ok.rawValue, secret: credential, members: members)
        .withUnsafeBytes { Array($0) }
    }
  }
}
