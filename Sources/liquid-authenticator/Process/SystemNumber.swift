import Glibc

/// An error number of the system, with the system's own words.
struct SystemNumber: Error, Equatable, CustomStringConvertible {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  var description: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
