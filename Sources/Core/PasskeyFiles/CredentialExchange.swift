import CryptoPrimitives
import Recovery

/// FIDO's Credential Exchange Format 1.0, Proposed Standard of 2025-08-14: a header with accounts, their items, and the
/// credentials of each; those of type "passkey" are read (§3.3.12 there).
///
/// Some programs write one account without the header.
enum CredentialExchange {
  static func read(_ root: JSONValue, into file: PasskeyFile, now: UInt64) throws(PasskeyFault) {
    let version = try root.member("version")
    if let major = try version?.member("major")?.unsigned, major > 1 {
      throw PasskeyFault("it has version \(major) of CXF; only version 1 is supported")
    }
    var number = 0
    guard let accounts = try root.member("accounts") else {
      return try readItems(of: root, &number, into: file, now: now)
    }
    for account in accounts.elements { try readItems(of: account, &number, into: file, now: now) }
  }

  /// Whether an item is one of CXF: it has credentials, as no item of Bitwarden's own format has.
  static func isItem(_ value: JSONValue) -> Bool {
    do throws(PasskeyFault) { return try value.member("credentials") != nil } catch { return true }
  }

  /// Adds the passkeys of an account.
  ///
  /// - Parameter number: the number of the last item before those of the account; afterwards, that of the account's last item.
  private static func readItems(
    of account: JSONValue, _ number: inout Int, into file: PasskeyFile, now: UInt64
  ) throws(PasskeyFault) {
    for item in try account.elements(of: "items") {
      number += 1
      // Read once for each item, which can have many passkeys and many members.
      let title = item.label("title")
      do throws(PasskeyFault) { try read(item, number, title, into: file, now: now) } catch {
        file.add(skippedItem: number, title: title, error)
      }
    }
  }

  /// Adds the passkeys of an item.
  ///
  /// - Throws: a fault if it is not clear which passkeys the item has; then none is added.
  private static func read(
    _ item: JSONValue, _ number: Int, _ title: String, into file: PasskeyFile, now: UInt64
  ) throws(PasskeyFault) {
    let created = try item.member("creationAt")?.unsigned.flatMap { seconds -> UInt64? in
      let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
      return overflow ? nil : milliseconds
    }
    var isWithoutPasskey = true
    for credential in try item.elements(of: "credentials") {
      var fault: PasskeyFault?
      do throws(PasskeyFault) { guard try kind(of: credential) == "passkey" else { continue } } catch { fault = error }
      isWithoutPasskey = false
      let label = credential.passkeyName(
        site: "rpId", title: title, name: credential.label("username").isEmpty ? "userName" : "username")
      file.add(item: number, label: label) { () throws(PasskeyFault) in
        if let fault { throw fault }
        return try passkey(credential, created: min(created ?? now, now))
      }
    }
    if isWithoutPasskey { file.add(withoutPasskey: title) }
  }

  /// The type of a credential; `nil` if it has none.
  ///
  /// - Throws: a fault if the type is there twice, or is not a text, because the credential may be a passkey.
  private static func kind(of credential: JSONValue) throws(PasskeyFault) -> String? {
    guard let type = try credential.member("type") else { return nil }
    guard type.kind == .string else { throw PasskeyFault("its type is not a text") }
    return try type.string()
  }

  private static func passkey(_ value: JSONValue, created: UInt64) throws(PasskeyFault) -> FoundPasskey {
    let rpID = try value.required("rpId").string()
    let (id, userID) = (try value.requiredBytes("credentialId"), try value.requiredBytes("userHandle"))
    // userName is the spelling of the standard's drafts.
    let draftName = try value.member("userName")
    let name = try value.member("username") ?? draftName
    let names = (try name?.string(), try value.member("userDisplayName")?.string())
    var found = FoundPasskey(
      rpID: rpID, userID: userID, name: names.0, displayName: names.1, id: id, created: created,
      key: try Encoded.privateKey(base64URL: value.required("key").unescaped()))
    guard let extensions = try value.member("fido2Extensions") else { return found }
    // hmacSecret is the spelling of the standard's drafts, with one secret; a published sample of Bitwarden has it.
    let spellings = (try extensions.member("hmacCredentials"), try extensions.member("hmacSecret"))
    found.credRandoms = spellings.0.flatMap(credRandoms)
    if found.credRandoms == nil, spellings.0 != nil || spellings.1 != nil {
      found.losses.append("its PRF secret; data that a site encrypted with it cannot be decrypted here")
    }
    if try extensions.member("largeBlob") != nil { found.losses.append("its large blob") }
    found.isForThirdPartyPayment = try extensions.member("payments")?.bool == true
    if try extensions.member("credBlob") != nil {
      let blob = try extensions.requiredBytes("credBlob")
      if !blob.isEmpty { found.credBlob = blob }
    }
    return found
  }

  /// Reads hmacCredentials, §3.3.12.3, whose two secrets are used as they are.
  ///
  /// - Returns: CredRandomWithoutUV ‖ CredRandomWithUV, 64 bytes; `nil` for another algorithm, or if one of them is
  ///   missing, there twice, not base64url, or not 32 bytes.
  private static func credRandoms(_ value: JSONValue) -> SecretBytes? {
    guard (try? value.required("algorithm").string()) == "hmac-sha256",
      var withoutUV = try? value.requiredBytes("credWithoutUV")
    else { return nil }
    defer { wipe(&withoutUV) }
    guard var withUV = try? value.requiredBytes("credWithUV") else { return nil }
    defer { wipe(&withUV) }
    let half = CredentialSource.credRandomsSize / 2
    guard withoutUV.count == half, withUV.count == half else { return nil }
    return SecretBytes(count: 2 * half) { output in
      output.copyBytes(from: withoutUV)
      UnsafeMutableRawBufferPointer(rebasing: output[half...]).copyBytes(from: withUV)
    }
  }
}

// MARK: - Writing

extension CredentialExchange {
  /// Writes a header with the beginning of one account, §3.1 and §3.2.1 of the standard.
  ///
  /// exporterRpId is the domain of the program that exports. This program has no domain, so the name is one that nobody
  /// can own (RFC 2606).
  static func writeStart(to output: ByteWriter, id: [UInt8], now: UInt64) {
    output.add(
      #"{"version":{"major":1,"minor":0},"exporterRpId":"liquid-auth.invalid","exporterDisplayName":"Liquid Auth","#
        + #""timestamp":\#(now / 1000),"accounts":[{"id":""#)
    output.add(base64: id)
    output.add(#"","username":"","email":"","collections":[],"items":["#)
  }

  /// Writes an item with one passkey, and returns no losses.
  static func write(
    _ passkey: PasskeyExportFile.Passkey, key: SecretBytes, id: [UInt8], isFirst: Bool, to output: ByteWriter
  ) -> [String] {
    let record = passkey.record
    let (site, url) = (string(record.rpID), string("https://\(record.rpID)"))
    output.add(isFirst ? "\n" : ",\n")
    output.add(#"{"id":""#)
    output.add(base64: id)
    output.add(
      #"","creationAt":\#(record.created / 1000),"modifiedAt":\#(record.lastChange / 1000),"title":\#(site),"#
        + #""scope":{"urls":[\#(url)],"androidApps":[]},"credentials":[{"type":"passkey","credentialId":""#)
    output.add(base64: record.id)
    output.add(
      #"","rpId":\#(site),"username":\#(string(record.name ?? "")),"#
        + #""userDisplayName":\#(string(record.displayName ?? "")),"userHandle":""#)
    output.add(base64: record.userID)
    output.add(#"","key":""#)
    output.add(base64: key)
    output.add(#"","fido2Extensions":{"hmacCredentials":{"algorithm":"hmac-sha256","credWithUV":""#)
    output.add(base64: passkey.credRandoms.withUV)
    output.add(#"","credWithoutUV":""#)
    output.add(base64: passkey.credRandoms.withoutUV)
    output.add(#""}"#)
    if let credBlob = record.credBlob {
      output.add(#","credBlob":""#)
      output.add(base64: credBlob)
      output.add("\"")
    }
    if record.policy.thirdPartyPayment { output.add(#","payments":true"#) }
    output.add("}}]}")
    return []
  }

  static func writeEnd(to output: ByteWriter) { output.add("\n]}]}\n") }

  /// Returns a JSON string with its quotation marks, RFC 8259 §7.
  private static func string(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
