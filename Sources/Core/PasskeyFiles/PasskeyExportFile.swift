public import CryptoPrimitives
public import Recovery

/// A file with passkeys and their unencrypted private keys, for other programs.
///
/// A passkey that the format cannot hold is refused, and the others can be added. The private keys go byte by byte from
/// locked memory into the file. The file is wiped at the end.
public final class PasskeyExportFile {
  /// The format of a file.
  public enum Format: Sendable, CaseIterable {
    /// FIDO's Credential Exchange Format 1.0 (Proposed Standard of 2025-08-14), not encrypted.
    case credentialExchange
    /// XML that KeePassXC imports, with the attributes that KeePassXC uses for passkeys.
    case keePassXC

    /// The same format for an import.
    public var imported: PasskeyFile.Format {
      switch self {
      case .credentialExchange: .credentialExchange
      case .keePassXC: .keePassXC
      }
    }

    /// What is left out of every passkey, in words for people; `nil` if there is nothing.
    public var generalLoss: String? {
      switch self {
      case .credentialExchange: nil
      case .keePassXC:
        "PRF secrets; data that a site encrypted with them cannot be decrypted with the exported passkeys"
      }
    }
  }

  /// A passkey to write, with its secrets.
  public struct Passkey: Sendable {
    /// Its record, with the private key: its source is 2.
    public let record: CredentialSource
    /// CredRandomWithUV and CredRandomWithoutUV of hmac-secret (CTAP §12.7), 32 bytes each.
    public let credRandoms: (withUV: SecretBytes, withoutUV: SecretBytes)

    /// Takes the record and the secrets.
    public init(record: CredentialSource, credRandoms: (withUV: SecretBytes, withoutUV: SecretBytes)) {
      (self.record, self.credRandoms) = (record, credRandoms)
    }
  }

  public let format: Format
  /// The number of passkeys in the file.
  public private(set) var count = 0
  private let output = ByteWriter()

  /// Begins a file.
  ///
  /// - Parameters:
  ///   - id: 16 random bytes, the id of the account (CXF) or group (KeePassXC).
  ///   - now: Unix milliseconds.
  public init(_ format: Format, id: [UInt8], now: UInt64) {
    self.format = format
    switch format {
    case .credentialExchange: CredentialExchange.writeStart(to: output, id: id, now: now)
    case .keePassXC: KeePassXML.writeStart(to: output, id: id)
    }
  }

  /// Adds a passkey.
  ///
  /// - Returns: what is left out of the passkey, in words for people.
  /// - Throws: an error if the format cannot hold the passkey; the file stays as it was.
  public func append(_ passkey: Passkey) throws(PasskeyFileError) -> [String] {
    do throws(PasskeyFault) {
      let record = passkey.record
      guard let secret = record.importedKey else { throw PasskeyFault("its private key is missing") }
      if record.rpID.utf8.starts(with: "ssh:".utf8) {
        throw PasskeyFault("it is a key of SSH, and password managers use passkeys of web sites only")
      }
      guard CredentialSource.isDomainName(record.rpID) else {
        throw PasskeyFault("its site is not a domain name in lower case")
      }
      let (key, publicKey) = try PrivateKeyInfo.write((record.algorithm, secret))
      // Two passkeys of a store differ in one of these.
      let id = SHA256.hash(record.rpIDHash.bytes, record.id, publicKey)
      let losses =
        switch format {
        case .credentialExchange:
          CredentialExchange.write(passkey, key: key, id: id, isFirst: count == 0, to: output)
        case .keePassXC: KeePassXML.write(passkey, key: key, id: id, to: output)
        }
      count += 1
      return losses + Self.lossesOfEveryFormat(record)
    } catch {
      throw PasskeyFileError(error.reason)
    }
  }

  private static func lossesOfEveryFormat(_ record: CredentialSource) -> [String] {
    var losses: [String] = []
    if record.policy.largeBlobKey {
      losses.append("its large blob, if it has one; to write it to a file, run: liquid-auth blobs get")
    }
    if record.policy.credProtect > .userVerificationOptional {
      losses.append("the site's request that it is used only after verification (credProtect)")
    }
    return losses
  }

  /// Ends the file, and lends its bytes; nothing can be added afterwards.
  public func finish<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    switch format {
    case .credentialExchange: CredentialExchange.writeEnd(to: output)
    case .keePassXC: KeePassXML.writeEnd(to: output)
    }
    return try output.withUnsafeBytes(body)
  }
}

/// A text with secrets that is written piece by piece; it is wiped at the end, and if it moves, also at its old place.
final class ByteWriter {
  private var bytes: [UInt8] = []

  deinit { wipe(&bytes) }

  func add(_ text: String) { bytes.appendWiping(Array(text.utf8)) }

  /// Base64 of bytes (RFC 4648 §4, with padding), or base64url of them (§5, without).
  func add(base64 source: UnsafeRawBufferPointer, isURL: Bool = true, lineLength: Int? = nil) {
    let alphabet = isURL ? Self.urlAlphabet : Self.alphabet
    var (line, column) = ([UInt8](), 0)
    line.reserveCapacity((source.count + 2) / 3 * 4 + (lineLength.map { source.count * 4 / 3 / $0 + 2 } ?? 0))
    func put(_ byte: UInt8) {
      if let lineLength, column == lineLength {
        line.append(UInt8(ascii: "\n"))
        column = 0
      }
      line.append(byte)
      column += 1
    }
    for start in stride(from: 0, to: source.count, by: 3) {
      let group = source[start..<min(start + 3, source.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...group.count { put(alphabet[bits >> (18 - 6 * digit) & 63]) }
      if !isURL { for _ in group.count..<3 { put(UInt8(ascii: "=")) } }
    }
    bytes.appendWiping(line)
    wipe(&line)
  }

  func add(base64 secret: SecretBytes, isURL: Bool = true, lineLength: Int? = nil) {
    secret.withUnsafeBytes { add(base64: $0, isURL: isURL, lineLength: lineLength) }
  }

  func add(base64 bytes: [UInt8], isURL: Bool = true) {
    bytes.withUnsafeBytes { add(base64: $0, isURL: isURL) }
  }

  /// Lends the text.
  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }

  private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
  private static let alphabet = Array((letters + "+/").utf8)
  private static let urlAlphabet = Array((letters + "-_").utf8)
}
