import CryptoPrimitives
public import Recovery

/// The passkeys in a file of another program, with their private keys.
///
/// A passkey that cannot be imported is in ``skipped``, with the reason; the others can be imported.
public final class PasskeyFile {
  /// The most bytes of a file, 64 MiB.
  public static let maximumSize = 67_108_864

  /// The format of a file.
  public enum Format: String, Sendable {
    /// FIDO's Credential Exchange Format 1.0 (Proposed Standard of 2025-08-14), not encrypted.
    case credentialExchange = "CXF"
    /// An export of Bitwarden in JSON, not encrypted.
    case bitwarden = "Bitwarden"
    /// An export of KeePassXC in XML: `keepassxc-cli export -f xml`.
    case keePassXC = "KeePassXC"
    /// A file of KeePassXC with one passkey in JSON.
    case keePassXCPasskey = "KeePassXC passkey"
  }

  /// A passkey that can be imported.
  public struct Passkey: Sendable, Equatable {
    /// The number of its item in the file, from 1.
    public let item: Int
    public let name: PasskeyName
    /// What is left out of the passkey, in words for people.
    public let losses: [String]
  }

  /// A passkey that cannot be imported.
  public struct Skipped: Sendable, Equatable {
    /// The number of its item in the file, from 1.
    public let item: Int
    /// The site, or the title of the item if the passkey has no site.
    public let name: PasskeyName
    /// Why it cannot be imported: lower case, no full stop.
    public let reason: String
  }

  public let format: Format
  /// The passkeys that can be imported, in the order of ``list``.
  public private(set) var passkeys: [Passkey] = []
  /// The passkeys that cannot be imported, in the order of the file.
  public private(set) var skipped: [Skipped] = []
  /// The titles of the items without a passkey, in the order of the file.
  public private(set) var withoutPasskey: [String] = []
  /// The passkeys with their private keys.
  public let list = PasskeyList()

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - file: the only reference to the bytes, because they are wiped.
  ///   - now: Unix milliseconds. It becomes the creation time of passkeys that have none.
  /// - Throws: an error for a file that has another format, is encrypted, or exceeds a limit.
  public init(_ file: consuming [UInt8], now: UInt64) throws(PasskeyFileError) {
    var file = consume file
    guard file.count <= Self.maximumSize else {
      wipe(&file)
      throw PasskeyFileError("it has more than 64 MiB")
    }
    if file.starts(with: [0x50, 0x4B, 3, 4]) {
      wipe(&file)
      throw PasskeyFileError("it is a zip archive; unpack it, and import the JSON file that is in it")
    }
    let first = file.prefix(64).first { ![0x20, 0x0A, 0x0D, 0x09, 0xEF, 0xBB, 0xBF].contains($0) }
    switch first {
    case UInt8(ascii: "<"):
      format = .keePassXC
      try KeePassXML.read(XMLText(consume file), into: self, now: now)
    case UInt8(ascii: "{"):
      let root = try JSONText(consume file).root
      format = try Self.format(of: root)
      do throws(PasskeyFault) {
        switch format {
        case .credentialExchange: try CredentialExchange.read(root, into: self, now: now)
        case .bitwarden: try BitwardenExport.read(root, into: self, now: now)
        case .keePassXC, .keePassXCPasskey: KeePassXCPasskey.read(root, into: self, now: now)
        }
      } catch {
        throw PasskeyFileError(error.reason)
      }
    default:
      wipe(&file)
      throw Self.unknown
    }
    guard passkeys.count <= PasskeyList.maximumCount else {
      throw PasskeyFileError("it has more than \(PasskeyList.maximumCount) passkeys; split it, and import the parts")
    }
  }

  private static let unknown = PasskeyFileError(
    "it has none of the supported formats: CXF, a JSON export of Bitwarden, an XML export or a passkey file of "
      + "KeePassXC")

  private static func format(of root: JSONValue) throws(PasskeyFileError) -> Format {
    func member(_ name: String) throws(PasskeyFileError) -> JSONValue? {
      do throws(PasskeyFault) { return try root.member(name) } catch { throw PasskeyFileError(error.reason) }
    }
    if try member("encrypted")?.bool == true {
      throw PasskeyFileError(
        "this export of Bitwarden is encrypted; export again in the file format .json, not .json (Encrypted)")
    }
    if try member("accounts") != nil { return .credentialExchange }
    if let items = try member("items") {
      return items.elements.contains(where: CredentialExchange.isItem) ? .credentialExchange : .bitwarden
    }
    if try member("privateKey") != nil, try member("relyingParty") != nil { return .keePassXCPasskey }
    throw unknown
  }

  // MARK: - For the readers of the formats

  /// Adds an item without a passkey.
  func add(withoutPasskey title: String) { withoutPasskey.append(title) }

  /// Adds a passkey that cannot be imported, or an item that may have one.
  ///
  /// - Parameter title: the title of the item.
  func add(skippedItem item: Int, title: String, _ fault: PasskeyFault) {
    skipped.append(Skipped(item: item, name: PasskeyName(rpID: title, name: nil), reason: fault.reason))
  }

  /// Adds the passkey that `make` reads, or the reason why it cannot be imported.
  ///
  /// - Parameter label: the name for a passkey that cannot be imported.
  func add(item: Int, label: PasskeyName, _ make: () throws(PasskeyFault) -> FoundPasskey) {
    do throws(PasskeyFault) {
      let found = try make()
      let source: CredentialSource
      do throws(RecoveryError) { source = try found.source } catch { throw PasskeyFault(error.reason) }
      let name = PasskeyName(rpID: source.rpID, name: source.name ?? source.displayName)
      // Passkeys beyond the limit are counted, but not kept.
      if passkeys.count < PasskeyList.maximumCount { list.append(source) }
      passkeys.append(Passkey(item: item, name: name, losses: found.losses))
    } catch {
      skipped.append(Skipped(item: item, name: label, reason: error.reason))
    }
  }
}

/// A passkey that was read from a file.
struct FoundPasskey {
  var rpID: String
  var userID: [UInt8]
  var name: String?
  var displayName: String?
  var id: [UInt8]
  var isForThirdPartyPayment = false
  var created: UInt64
  var credBlob: [UInt8]?
  var key: PrivateKeyInfo.Key
  /// CredRandomWithoutUV ‖ CredRandomWithUV of hmac-secret, 64 bytes; `nil` if the file does not have them.
  var credRandoms: SecretBytes?
  var losses: [String] = []

  /// The record of the passkey; throws if a limit is exceeded.
  var source: CredentialSource {
    get throws(RecoveryError) {
      try .imported(
        rpID: rpID, userID: userID, name: name, displayName: displayName, id: id, algorithm: key.algorithm,
        isForThirdPartyPayment: isForThirdPartyPayment, created: created, credBlob: credBlob, key: key.secret,
        credRandoms: credRandoms)
    }
  }
}

extension JSONValue {
  /// A text member that must be present.
  func required(_ name: String) throws(PasskeyFault) -> JSONValue {
    guard let value = try member(name) else { throw PasskeyFault("it has no \(name)") }
    guard value.kind == .string else { throw PasskeyFault("its \(name) is not a text") }
    return value
  }

  /// The bytes of a member in base64url that must be present; the caller wipes them if they are secret.
  func requiredBytes(_ name: String) throws(PasskeyFault) -> [UInt8] {
    var text = try required(name).unescaped()
    defer { wipe(&text) }
    return try Encoded.base64URL(text, "its \(name)")
  }

  /// The text of a member, for a name in a report; empty if there is none.
  func label(_ name: String) -> String { (try? member(name)?.string()) ?? "" }

  /// The name of a passkey in a report: its site, or the title of its item if it has none.
  func passkeyName(site: String, title: String, name: String) -> PasskeyName {
    let (site, name) = (label(site), label(name))
    return PasskeyName(rpID: site.isEmpty ? title : site, name: name.isEmpty ? nil : name)
  }
}
