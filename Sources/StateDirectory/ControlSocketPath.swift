extension StateDirectory {
  /// Where the authenticator of a state directory listens, when no `--control` says it.
  ///
  /// `$XDG_RUNTIME_DIR/liquid-auth/control.sock`; for a state directory that was given, or without a runtime directory,
  /// `control.sock` in the state directory, so that two authenticators do not meet.
  ///
  /// - Parameters:
  ///   - stateDirectory: what `--state-dir` gave.
  ///   - environment: looks up a variable; a relative `XDG_RUNTIME_DIR` is as if unset, as its standard says.
  public static func controlSocketPath(
    stateDirectory: String?, environment: (String) -> String?
  ) throws(StateDirectoryError) -> String {
    if let stateDirectory { return stateDirectory + "/control.sock" }
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.utf8.first == UInt8(ascii: "/") {
      return runtime + "/liquid-auth/control.sock"
    }
    return try defaultPath(environment: environment) + "/control.sock"
  }
}
