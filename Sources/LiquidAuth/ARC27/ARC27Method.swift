/// What a dApp can ask of a provider: ARC-27, Supported Methods.
public enum ARC27Method: String, CaseIterable, Sendable {
  /// Who answers here, which networks it knows, and what it can do on each.
  case discover
  /// Which accounts the dApp may know of.
  case enable
  /// That the dApp is done.
  case disable
  /// Signatures over transactions.
  case signTransactions = "sign_transactions"
  /// A signature over a text.
  case signMessage = "sign_message"
  /// Signed transactions to a network.
  case postTransactions = "post_transactions"
  /// Transactions, signed and to a network.
  case signAndPostTransactions = "sign_and_post_transactions"
}

/// What a message says of itself, `arc0027:method:type`: ARC-27, Message Reference Naming.
struct ARC27Reference: Equatable, CustomStringConvertible {
  /// Whether a message asks or answers.
  enum Kind: String {
    case request
    case response
  }

  private static let namespace = "arc0027"
  /// The longest name of a method that is read; the longest of the standard has 26 bytes.
  private static let maximumNameSize = 64

  /// The method's name in snake case, known to us or not.
  let method: String
  /// Whether it asks or answers.
  let kind: Kind

  init(_ method: String, _ kind: Kind) { (self.method, self.kind) = (method, kind) }

  /// Reads a reference; `nil` for anything else, also for another namespace.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard
      parts.count == 3, parts[0].elementsEqual(Self.namespace.utf8),
      let kind = Kind(rawValue: String(decoding: parts[2], as: UTF8.self)),
      (1...Self.maximumNameSize).contains(parts[1].count), parts[1].allSatisfy(Self.isOfName)
    else { return nil }
    self.init(String(decoding: parts[1], as: UTF8.self), kind)
  }

  /// The text of a message.
  var description: String { "\(Self.namespace):\(method):\(kind.rawValue)" }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
