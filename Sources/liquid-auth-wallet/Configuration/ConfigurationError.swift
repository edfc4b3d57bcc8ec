/// What is wrong in the wallet's configuration.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  /// The file.
  let path: String
  /// The line, from 1.
  let line: Int
  /// Lower case, no full stop.
  let fault: String

  var description: String { "\(Self.place(path, line: line)): \(fault)" }

  /// A line as errors name it.
  static func place(_ path: String, line: Int) -> String { "\(path), line \(line)" }
}
