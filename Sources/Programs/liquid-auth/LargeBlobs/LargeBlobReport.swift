import ControlProtocol
import CryptoPrimitives

/// The result of `liquid-auth blobs list`, before it is text or JSON.
struct LargeBlobReport {
  /// An entry and its passkey.
  struct Row {
    /// The size of its content in bytes, as the entry claims; `nil` if the entry is not readable.
    let size: Int?
    /// The passkey of this machine that opens it.
    let credential: CredentialDescription?
  }

  /// Bytes of the serialized array.
  let used: Int
  /// The most bytes that it may have.
  let capacity: Int
  /// The entries in their order.
  let rows: [Row]

  init(_ array: LargeBlobArray, used: Int, capacity: Int, holders: [LargeBlobHolder]) {
    self.used = used
    self.capacity = capacity
    rows = array.entries.map { entry in
      let blob = LargeBlob(entry)
      return Row(
        size: blob?.originalSize, credential: holders.first { blob?.opens(with: $0.key) == true }?.credential)
    }
  }

  /// For people.
  var text: String {
    let summary = "\(used) of \(capacity) bytes are used"
    guard !rows.isEmpty else { return "\(summary); there are no large blobs" }
    let lines = rows.map { row -> [String] in
      let size = row.size.map(String.init) ?? "?"
      guard let credential = row.credential else { return [size, "no passkey of this machine opens it"] }
      let digits = credential.credentialID.hexadecimal.prefix(CredentialText.digitsShown)
      return [size, "\(digits)  \(credential.rpID.printable)  \(CredentialText.account(credential))"]
    }
    return table([["BYTES", "PASSKEY"]] + lines) + "\n\n\(summary)"
  }

  /// For programs; `null` for what is not known.
  var json: JSON {
    [
      "used": .number(Int64(used)),
      "capacity": .number(Int64(capacity)),
      "blobs": .array(
        rows.map { row in
          [
            "size": row.size.map { .number(Int64($0)) } ?? .null,
            "credentialId": row.credential.map { .hex($0.credentialID) } ?? .null,
            "rpId": JSON(row.credential?.rpID),
          ]
        }),
    ]
  }
}

/// A passkey that can have a large blob, and the key that opens it.
struct LargeBlobHolder {
  let credential: CredentialDescription
  let key: SecretBytes

  /// `nil` for a passkey that was registered without the extension.
  init?(_ credential: CredentialDescription) {
    guard let key = credential.largeBlobKey else { return nil }
    self.credential = credential
    self.key = key.withUnsafeBytes(SecretBytes.init(copying:))
  }
}
