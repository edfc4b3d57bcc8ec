/// Why a vault cannot be read or opened.
///
/// The shell puts the file's name in front.
public enum VaultError: Error, Equatable, Sendable {
  /// The bytes are something else, or not even the beginning of a vault is left.
  case notAVault
  /// The file says that it has a version that this program does not know.
  case unsupportedVersion(UInt64)
  /// The bytes began as a vault, or the passphrase was right, and yet something does not fit; the text says what.
  case damaged(String)
  /// A slot asks for more time or memory than is reasonable (Recovery §1); nothing was computed.
  case limitExceeded(String)
  /// No slot opens: another passphrase, or a slot that was changed. The two cannot be told apart.
  case wrongPassphrase
  /// The memory that the slot's key derivation needs is not there.
  case outOfMemory
}

extension VaultError: CustomStringConvertible {
  /// What happened, then what to do.
  public var description: String {
    switch self {
    case .notAVault: "not a vault; \(Self.remedy)"
    case .unsupportedVersion(let version): "vault version \(version) is unknown; use a newer liquid-auth"
    case .damaged(let what): "damaged vault: \(what); \(Self.remedy)"
    case .limitExceeded(let what): "vault refused: \(what); \(Self.remedy)"
    case .wrongPassphrase:
      "the passphrase is wrong; try again. If it is surely right, the vault is damaged: \(Self.remedy)"
    case .outOfMemory: "not enough memory to try the passphrase; close other programs and try again"
    }
  }

  private static let remedy =
    "put a good copy in its place, or move it away and make it anew from the phrase with liquid-auth init --import"
}
