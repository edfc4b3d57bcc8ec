/// An email address: by it a service with Keyri knows its user, and by it the authenticator derives the user's key.
///
/// Its bytes go into the key as they were typed (Recovery §3), capitals and all: another spelling is another key.
public struct KeyriEmail: Equatable, Sendable {
  /// Bytes of UTF-8, at most: RFC 5321 §4.5.3.1.3, less the angle brackets.
  public static let maximumSize = 254

  /// The address.
  public let text: String

  /// Takes what could be an address: something, `@`, something, and nothing invisible.
  public init(_ text: String) throws(KeyriError) {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.maximumSize, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy(\.isVisible)
    else { throw .email }
    self.text = text
  }
}

extension Unicode.Scalar {
  /// Neither white space, nor a control, nor a character that changes only how others look.
  fileprivate var isVisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .unassigned, .privateUse: false
    default: true
    }
  }
}
