extension String {
  /// A sentence of the argument parser, as our own errors begin: in lower case, unless its first word is a name, such as
  /// SITE.
  package var withoutCapital: String {
    guard !prefix(2).allSatisfy(\.isUppercase) else { return self }
    return prefix(1).lowercased() + dropFirst()
  }
}
