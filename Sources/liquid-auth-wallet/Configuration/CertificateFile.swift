/// A file of certificates, and who named it.
struct CertificateFile: Equatable {
  /// The file.
  let path: String
  /// What stands before an error about it: the option, or the line of the configuration.
  let place: String
}
