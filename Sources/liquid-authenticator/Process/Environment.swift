import Glibc

/// The variables of the process.
enum Environment {
  static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
