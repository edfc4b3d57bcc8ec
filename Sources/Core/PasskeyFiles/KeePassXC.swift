import CryptoPrimitives
import Recovery

/// A file of KeePassXC with one passkey (2.7.7 and later, extension .passkey).
enum KeePassXCPasskey {
  static func read(_ root: JSONValue, into file: PasskeyFile, now: UInt64) {
    let label = root.passkeyName(site: "relyingParty", title: "", name: "username")
    file.add(item: 1, label: label) { () throws(PasskeyFault) in
      var pem = try root.required("privateKey").unescaped()
      defer { wipe(&pem) }
      return FoundPasskey(
        rpID: try root.required("relyingParty").string(), userID: try root.requiredBytes("userHandle"),
        name: try root.member("username")?.string(), id: try root.requiredBytes("credentialId"), created: now,
        key: try Encoded.privateKey(pem: pem))
    }
  }
}

/// An export of a KeePass database in XML, as `keepassxc-cli export -f xml` writes it.
///
/// KeePassXC keeps a passkey in attributes of an entry (2.7.7 and later). The history of an entry is left out. A passkey in the
/// recycle bin is skipped.
enum KeePassXML {
  private enum Attribute {
    static let privateKey = "KPEX_PASSKEY_PRIVATE_KEY_PEM"
    static let credentialID = "KPEX_PASSKEY_CREDENTIAL_ID"
    /// The credential id, as KeePassXC 2.7.7 to 2.7.9 named it.
    static let generatedUserID = "KPEX_PASSKEY_GENERATED_USER_ID"
    static let userHandle = "KPEX_PASSKEY_USER_HANDLE"
    static let relyingParty = "KPEX_PASSKEY_RELYING_PARTY"
    static let userName = "KPEX_PASSKEY_USERNAME"
    static let formerUserName = "KPXC_PASSKEY_USERNAME"
    /// The flags BE and BS of its answers (WebAuthn §6.1.3), which 2.7.12 and later read; earlier versions answer 0.
    static let backupEligible = "KPEX_PASSKEY_FLAG_BE"
    static let backupState = "KPEX_PASSKEY_FLAG_BS"
    static let title = "Title"
    static let used = [
      privateKey, credentialID, generatedUserID, userHandle, relyingParty, userName, formerUserName, title,
    ]
  }

  /// The elements whose text is read.
  private static let leaves = ["RecycleBinUUID", "UUID", "Key", "Value", "CreationTime"]

  private struct Entry {
    var values: [String: [UInt8]] = [:]
    var fault: String?
    var created: UInt64?

    mutating func wipeValues() {
      for key in Array(values.keys) {
        if var value = values.removeValue(forKey: key) { wipe(&value) }
      }
    }
  }

  private struct State {
    var path: [String] = []
    var text: [UInt8] = []
    var recycleBin: [UInt8]?
    /// Whether each open group is the recycle bin.
    var groups: [Bool] = []
    var entry: Entry?
    var (key, value): ([UInt8], [UInt8]) = ([], [])
    var isProtected = false
    /// The depth of the History element that is open; `nil` if none is.
    var history: Int?
    var number = 0

    func isAt(_ names: String...) -> Bool { path.suffix(names.count).elementsEqual(names) }
  }

  static func read(_ xml: XMLText, into file: PasskeyFile, now: UInt64) throws(PasskeyFileError) {
    var state = State()
    // Also if the rest is not XML.
    defer {
      state.entry?.wipeValues()
      wipe(&state.value)
      wipe(&state.text)
    }
    while let event = try xml.next() {
      switch event {
      case .start(let name, let attributes):
        guard !state.path.isEmpty || name == "KeePassFile" else {
          throw PasskeyFileError("it is XML, but not an export of a KeePass database")
        }
        state.path.append(name)
        wipe(&state.text)
        startElement(name, attributes, &state, file)
      case .text(let range):
        if state.history == nil, let name = state.path.last, leaves.contains(name) {
          var piece = try xml.content(range)
          if state.text.isEmpty { swap(&state.text, &piece) } else { state.text.appendWiping(piece) }
          wipe(&piece)
        }
      case .end(let name):
        endElement(name, &state, file, now)
        state.path.removeLast()
      }
    }
  }

  private static func startElement(
    _ name: String, _ attributes: [XMLText.Attribute], _ state: inout State, _ file: PasskeyFile
  ) {
    guard state.history == nil else { return }
    switch name {
    case "History" where state.isAt("Entry", "History"): state.history = state.path.count
    case "Group": state.groups.append(false)
    case "Entry":
      if var outer = state.entry {
        // Attributes of the outer entry may follow the inner one.
        state.entry = nil
        file.add(
          skippedItem: state.number, title: text(Attribute.title, of: outer) ?? "",
          PasskeyFault("it contains another entry"))
        outer.wipeValues()
      }
      state.entry = Entry()
      state.number += 1
    case "String":
      wipe(&state.value)
      (state.key, state.value, state.isProtected) = ([], [], false)
    case "Value":
      // The value is encrypted with a key of the database, which does not occur in an export.
      state.isProtected = attributes.contains { $0.name == "Protected" && $0.value.lowercased() == "true" }
    default: break
    }
  }

  private static func endElement(_ name: String, _ state: inout State, _ file: PasskeyFile, _ now: UInt64) {
    if let depth = state.history {
      if depth == state.path.count { state.history = nil }
      return
    }
    switch name {
    case "RecycleBinUUID" where state.isAt("Meta", "RecycleBinUUID"): state.recycleBin = state.text
    case "UUID" where state.isAt("Group", "UUID"):
      if state.text == state.recycleBin, !state.groups.isEmpty { state.groups[state.groups.count - 1] = true }
    case "CreationTime" where state.isAt("Entry", "Times", "CreationTime"):
      state.entry?.created = time(state.text)
    case "Key" where state.isAt("String", "Key"): state.key = state.text
    case "Value" where state.isAt("String", "Value"): swap(&state.value, &state.text)
    case "String" where state.isAt("Entry", "String"): set(&state)
    case "Entry":
      guard var entry = state.entry else { break }
      state.entry = nil
      finish(entry, state, file, now)
      entry.wipeValues()
    case "Group": _ = state.groups.popLast()
    default: break
    }
    wipe(&state.text)
  }

  private static func set(_ state: inout State) {
    let key = String(decoding: state.key, as: UTF8.self)
    guard Attribute.used.contains(key), var entry = state.entry else { return wipe(&state.value) }
    // Then `entry` has the only reference to each value.
    state.entry = nil
    if var earlier = entry.values.removeValue(forKey: key) {
      wipe(&earlier)
      entry.fault = "it has the attribute \(key) twice"
    }
    if state.isProtected { entry.fault = "its attributes are encrypted" }
    entry.values[key] = state.value
    state.value = []
    state.entry = entry
  }

  private static func text(_ name: String, of entry: Entry) -> String? {
    entry.values[name].flatMap { String(validating: $0, as: UTF8.self) }
  }

  private static func finish(_ entry: Entry, _ state: State, _ file: PasskeyFile, _ now: UInt64) {
    func text(_ name: String) -> String? { self.text(name, of: entry) }
    guard entry.values[Attribute.privateKey] != nil || entry.values[Attribute.relyingParty] != nil else {
      return file.add(withoutPasskey: text(Attribute.title) ?? "")
    }
    let name = text(Attribute.userName) ?? text(Attribute.formerUserName)
    let label = PasskeyName(rpID: text(Attribute.relyingParty) ?? text(Attribute.title) ?? "", name: name)
    let isDeleted = state.groups.contains(true)
    file.add(item: state.number, label: label) { () throws(PasskeyFault) in
      if let fault = entry.fault { throw PasskeyFault(fault) }
      if isDeleted { throw PasskeyFault("it is in the recycle bin") }
      func value(_ name: String) throws(PasskeyFault) -> [UInt8] {
        guard let value = entry.values[name] else { throw PasskeyFault("it has no attribute \(name)") }
        return value
      }
      guard let rpID = String(validating: try value(Attribute.relyingParty), as: UTF8.self) else {
        throw PasskeyFault("a text is not Unicode")
      }
      let id = entry.values[Attribute.credentialID] ?? entry.values[Attribute.generatedUserID]
      guard let id else { throw PasskeyFault("it has no attribute \(Attribute.credentialID)") }
      return FoundPasskey(
        rpID: rpID, userID: try Encoded.base64URL(value(Attribute.userHandle), "its user handle"), name: name,
        id: try Encoded.base64URL(id, "its credential id"),
        created: min(entry.created ?? now, now), key: try Encoded.privateKey(pem: value(Attribute.privateKey)))
    }
  }

  /// Reads a time: in KDBX 3 a text; in KDBX 4 the seconds since the year 1 as eight bytes, little-endian, in base64.
  private static func time(_ text: [UInt8]) -> UInt64? {
    if let time = Encoded.time(String(decoding: text, as: UTF8.self)) { return time }
    let digits = text.map {
      $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
    }
    guard digits.count == 12, digits.last == UInt8(ascii: "="), let bytes = Base64URL.decode(digits.dropLast()),
      bytes.count == 8
    else { return nil }
    let seconds = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // 0001-01-01 to 1970-01-01.
    let (unix, overflow) = seconds.subtractingReportingOverflow(62_135_596_800)
    return overflow || unix > UInt64.max / 1000 ? nil : unix * 1000
  }
}

// MARK: - Writing

extension KeePassXML {
  /// Writes the beginning of a database with one group.
  static func writeStart(to output: ByteWriter, id: [UInt8]) {
    output.add(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <KeePassFile>
      <Meta><Generator>Liquid Auth</Generator></Meta>
      <Root>
      <Group><UUID>
      """)
    output.add(base64: id, isURL: false)
    output.add("</UUID><Name>Liquid Auth</Name>\n")
  }

  /// Writes an entry in the form that KeePassXC uses.
  ///
  /// KeePassXC finds a passkey by the URL of its entry. BE and BS are 1, as in the answers of this authenticator: a site
  /// refuses a sign-in with another BE (WebAuthn §7.2).
  /// - Returns: what is left out of the passkey, in words for people.
  static func write(
    _ passkey: PasskeyExportFile.Passkey, key: SecretBytes, id: [UInt8], to output: ByteWriter
  ) -> [String] {
    let record = passkey.record
    var losses: [String] = []
    let name = record.name ?? record.displayName ?? ""
    if let displayName = record.displayName, !displayName.utf8.elementsEqual(name.utf8) {
      losses.append("its display name")
    }
    if text(name).isShorter { losses.append("control characters of its name") }
    if record.credBlob != nil { losses.append("its credBlob") }
    if record.policy.thirdPartyPayment { losses.append("whether it is for payments") }

    output.add("<Entry><UUID>")
    output.add(base64: Array(id.prefix(16)), isURL: false)
    output.add("</UUID><Tags>Passkey</Tags><Times><LastModificationTime>")
    output.add(base64: time(record.lastChange), isURL: false)
    output.add("</LastModificationTime><CreationTime>")
    output.add(base64: time(record.created), isURL: false)
    output.add("</CreationTime></Times>\n")
    add(Attribute.title, "\(record.rpID) (Passkey)", to: output)
    add("UserName", name, to: output)
    add("URL", "https://\(record.rpID)", to: output)
    add(Attribute.userName, name, to: output)
    add(Attribute.relyingParty, record.rpID, to: output)
    add(Attribute.credentialID, Base64URL.encode(record.id), isProtected: true, to: output)
    add(Attribute.userHandle, Base64URL.encode(record.userID), isProtected: true, to: output)
    add(Attribute.backupEligible, "1", to: output)
    add(Attribute.backupState, "1", to: output)
    output.add(head(Attribute.privateKey, isProtected: true) + "-----BEGIN PRIVATE KEY-----\n")
    output.add(base64: key, isURL: false, lineLength: 64)
    output.add("\n-----END PRIVATE KEY-----\n</Value></String>\n</Entry>\n")
    return losses
  }

  static func writeEnd(to output: ByteWriter) { output.add("</Group>\n</Root>\n</KeePassFile>\n") }

  private static func add(
    _ name: String, _ value: String, isProtected: Bool = false, to output: ByteWriter
  ) {
    output.add("\(head(name, isProtected: isProtected))\(text(value).escaped)</Value></String>\n")
  }

  private static func head(_ name: String, isProtected: Bool) -> String {
    "<String><Key>\(name)</Key><Value\(isProtected ? " ProtectInMemory=\"True\"" : "")>"
  }

  /// Returns a text in XML, without the characters that XML 1.0 (§2.2) cannot have, and whether there were any.
  private static func text(_ text: String) -> (escaped: String, isShorter: Bool) {
    var (escaped, isShorter) = ("", false)
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x26: escaped += "&amp;"
      case 0x3C: escaped += "&lt;"
      case 0x3E: escaped += "&gt;"
      case 0x09, 0x0A, 0x0D: escaped += "&#\(scalar.value);"
      case 0..<0x20, 0xFFFE, 0xFFFF: isShorter = true
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return (escaped, isShorter)
  }

  /// Returns a time of KDBX 4: the seconds since the year 1 as eight bytes, little-endian.
  private static func time(_ milliseconds: UInt64) -> [UInt8] {
    let seconds = milliseconds / 1000 + 62_135_596_800
    return (0..<8).map { UInt8(truncatingIfNeeded: seconds >> (8 * UInt64($0))) }
  }
}
