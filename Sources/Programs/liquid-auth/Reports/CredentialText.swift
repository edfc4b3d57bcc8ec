import ControlProtocol
import DisplayText
import Recovery

/// How credentials are shown to people.
enum CredentialText {
  /// How many digits of an id a list shows.
  ///
  /// Sealed ids all begin with 01, followed by 24 bytes that look random.
  static let digitsShown = 12

  static func list(_ credentials: [CredentialDescription]) -> String {
    guard !credentials.isEmpty else { return "no passkeys are stored on this machine" }
    return table(
      [["ID", "SITE", "ACCOUNT", "MADE"]]
        + credentials.map { credential in
          [
            String(credential.credentialID.hexadecimal.prefix(digitsShown)), credential.rpID.printable,
            account(credential),
            UTCTime(milliseconds: credential.created).date + (credential.form == nil ? ", imported" : "")
              + (credential.dApps.isEmpty ? "" : ", dApp remembered"),
          ]
        })
  }

  static func whole(_ credential: CredentialDescription) -> String {
    var rows = [
      ["site", credential.rpID.printable],
      ["account", account(credential)],
      ["user handle", credential.userID.hexadecimal],
      ["credential id", credential.credentialID.hexadecimal],
      ["algorithm", algorithm(credential.algorithm)],
      ["counter", String(credential.counter)],
      ["protection", protection(credential.credProtect)],
      ["kind", kind(credential)],
      ["extensions", extensions(credential)],
      ["made", UTCTime(milliseconds: credential.created).text],
      ["changed", UTCTime(milliseconds: credential.changed).text],
      ["source", source(credential.source)],
    ]
    for dApp in credential.dApps { rows.append(["remembered dApp", dApp.printable]) }
    if let publicKey = credential.publicKey { rows.append(["public key", publicKey.hexadecimal]) }
    return table(rows)
  }

  /// The account's name and, if it differs, its display name; its user handle if it has neither.
  static func account(_ credential: CredentialDescription) -> String {
    switch (credential.name, credential.displayName) {
    case (let name?, let displayName?) where !name.utf8.elementsEqual(displayName.utf8):
      "\(name.printable) (\(displayName.printable))"
    case (let name?, _): name.printable
    case (nil, let displayName?): displayName.printable
    case (nil, nil): "user handle \(credential.userID.hexadecimal)"
    }
  }

  /// All stored passkeys are discoverable; the form of the id says what a new machine needs.
  private static func kind(_ credential: CredentialDescription) -> String {
    switch credential.form {
    case .sealed: "discoverable, sealed id: the phrase and the site bring it back"
    case .hash: "discoverable, hash id: the phrase and `liquid-auth recover` bring it back"
    case nil: "discoverable, imported: only a backup brings it back"
    }
  }

  /// The extensions with which the passkey was registered, or for which it has data.
  private static func extensions(_ credential: CredentialDescription) -> String {
    let names = credential.extensions
    return names.isEmpty ? "none" : names.joined(separator: ", ")
  }

  private static func protection(_ level: UInt8) -> String {
    switch level {
    case 2: "2: found without its id only after verification"
    case 3: "3: used only after verification"
    default: "1: presence is enough"
    }
  }

  private static func algorithm(_ identifier: Int64) -> String {
    switch identifier {
    case -7: "ES256"
    case -8: "EdDSA"
    default: String(identifier)
    }
  }

  /// How the record was made.
  fileprivate static func source(_ number: UInt8) -> String {
    switch number {
    case 0: "registered"
    case 1: "recovered"
    default: "imported"
    }
  }
}

extension CredentialDescription {
  /// The form of the id, Recovery §4; `nil` for an imported passkey, whose id another authenticator made.
  var form: CredentialIDForm? {
    guard source != CredentialSource.Origin.imported.rawValue else { return nil }
    return credentialID.count == CredentialID.sealedLength ? .sealed : .hash
  }

  /// The extensions that left something in the record, by their names in WebAuthn and CTAP.
  var extensions: [String] {
    [("largeBlobKey", hasLargeBlobKey), ("credBlob", hasCredBlob), ("thirdPartyPayment", isForThirdPartyPayment)]
      .filter(\.1).map(\.0)
  }

  /// The credential for programs; bytes as hexadecimal digits, times as Unix milliseconds.
  var json: JSON {
    var members: [JSON.Member] = [
      .init(name: "rpId", value: .string(rpID)),
      .init(name: "userHandle", value: .hex(userID)),
      .init(name: "name", value: JSON(name)),
      .init(name: "displayName", value: JSON(displayName)),
      .init(name: "credentialId", value: .hex(credentialID)),
      .init(name: "algorithm", value: .number(algorithm)),
      .init(name: "counter", value: .number(Int64(counter))),
      .init(name: "credProtect", value: .number(Int64(credProtect))),
      .init(name: "idForm", value: JSON(form.map { $0 == .sealed ? "sealed" : "hash" })),
      .init(name: "extensions", value: .array(extensions.map(JSON.string))),
      .init(name: "rememberedDApps", value: .array(dApps.map(JSON.string))),
      .init(name: "created", value: .number(Int64(clamping: created))),
      .init(name: "changed", value: .number(Int64(clamping: changed))),
      .init(name: "source", value: .string(CredentialText.source(source))),
    ]
    if let publicKey { members.append(.init(name: "publicKey", value: .hex(publicKey))) }
    return .object(members)
  }
}
