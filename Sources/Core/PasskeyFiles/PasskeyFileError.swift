/// Why a whole file cannot be read, so that nothing of it is imported.
public struct PasskeyFileError: Error, Equatable, CustomStringConvertible {
  /// What is wrong with the file: lower case, no full stop, and no content of the file that could be secret.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Why one passkey of a file cannot be imported.
struct PasskeyFault: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
