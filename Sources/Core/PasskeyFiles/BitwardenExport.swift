import Recovery

/// An export of Bitwarden in JSON: `login.fido2Credentials` of each item (clients 2023.10 and later).
enum BitwardenExport {
  static func read(_ root: JSONValue, into file: PasskeyFile, now: UInt64) throws(PasskeyFault) {
    guard let items = try root.member("items") else { return }
    for (index, item) in items.elements.enumerated() {
      // Read once for each item, which can have many passkeys and many members.
      let title = item.label("name")
      var hasPasskey = false
      do throws(PasskeyFault) {
        if let credentials = try credentials(of: item) {
          for credential in credentials {
            hasPasskey = true
            let label = credential.passkeyName(site: "rpId", title: title, name: "userName")
            file.add(item: index + 1, label: label) { () throws(PasskeyFault) in try passkey(credential, now: now) }
          }
        }
        if !hasPasskey { file.add(withoutPasskey: title) }
      } catch {
        file.add(skippedItem: index + 1, title: title, error)
      }
    }
  }

  /// The passkeys of an item; `nil` if it has none.
  private static func credentials(of item: JSONValue) throws(PasskeyFault) -> JSONElements? {
    guard let list = try item.member("login")?.member("fido2Credentials") else { return nil }
    guard list.kind == .array else { throw PasskeyFault("its fido2Credentials is not a list") }
    return list.elements
  }

  private static func passkey(_ value: JSONValue, now: UInt64) throws(PasskeyFault) -> FoundPasskey {
    let (type, algorithm, curve) = (value.label("keyType"), value.label("keyAlgorithm"), value.label("keyCurve"))
    guard type == "public-key", algorithm == "ECDSA", curve == "P-256" else {
      throw PasskeyFault("its key type (\(type), \(algorithm), \(curve)) is not supported")
    }
    try refuseCounter(value)
    let created = try value.member("creationDate")?.string()
    return FoundPasskey(
      rpID: try value.required("rpId").string(), userID: try value.requiredBytes("userHandle"),
      name: try value.member("userName")?.string(), displayName: try value.member("userDisplayName")?.string(),
      id: try id(value.required("credentialId").unescaped()), created: min(created.flatMap(Encoded.time) ?? now, now),
      key: try Encoded.privateKey(base64URL: value.required("keyValue").unescaped()))
  }

  /// Throws if the signature counter is not 0: this authenticator always sends 0, and a site refuses a counter that goes
  /// back (CXF 1.0, §3.3.12).
  private static func refuseCounter(_ value: JSONValue) throws(PasskeyFault) {
    guard let counter = try value.member("counter") else { return }
    let digits = try counter.kind == .string ? counter.string() : counter.unsigned.map { String($0) }
    guard digits == "0" else {
      throw PasskeyFault("its signature counter is not 0, and the site would refuse one that starts again at 0")
    }
  }

  /// Reads a credential id: a UUID for its 16 bytes, or "b64." and base64url.
  private static func id(_ text: [UInt8]) throws(PasskeyFault) -> [UInt8] {
    if text.starts(with: "b64.".utf8) { return try Encoded.base64URL(Array(text.dropFirst(4)), "its credentialId") }
    let fault = PasskeyFault("its credentialId is neither a UUID nor base64url after b64.")
    guard text.count == 36 else { throw fault }
    var digits: [UInt8] = []
    for (index, byte) in text.enumerated() {
      if [8, 13, 18, 23].contains(index) {
        guard byte == UInt8(ascii: "-") else { throw fault }
      } else {
        guard let value = hexadecimalValue(byte) else { throw fault }
        digits.append(value)
      }
    }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
