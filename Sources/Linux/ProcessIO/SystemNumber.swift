import Glibc

/// An error number of the system, described by the system's message.
package struct SystemNumber: Error, Equatable, CustomStringConvertible {
  package let number: Int32

  /// Takes an error number, by default `errno`.
  package init(_ number: Int32 = errno) { self.number = number }

  package var description: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
