import Glibc
import ProcessIO

/// The kernel's switches of Bluetooth: rfkill.
package enum BluetoothSwitch {
  /// Whether a switch of Bluetooth, in hardware or in software, is off.
  ///
  /// - Parameter root: the directory in place of `/sys`, for tests.
  package static func isBlocked(below root: String = "/sys") -> Bool {
    let directory = root + "/class/rfkill"
    return names(in: directory).contains { name in
      let path = directory + "/" + name
      return word(path + "/type") == "bluetooth" && (word(path + "/soft") == "1" || word(path + "/hard") == "1")
    }
  }

  private static func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  /// The only word of a file; `nil` if it cannot be read.
  private static func word(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return Descriptor.read(file, atMost: 64).map { bytes in
      String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
  }
}
