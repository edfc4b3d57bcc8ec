/// The port to the list of public suffixes (publicsuffix.org), as the distribution keeps it.
public protocol PublicSuffixes: Sendable {
  /// Whether names directly below this one belong to different owners, as below `com`, `co.uk` and `github.io`.
  ///
  /// - Parameter domain: lower case, ASCII, without a dot at its end. What no rule is about falls under the list's rule
  ///   `*`: a name without a dot is a public suffix.
  func isPublicSuffix(_ domain: String) -> Bool
}
