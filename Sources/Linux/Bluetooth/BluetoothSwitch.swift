import Glibc
import ProcessIO

/// The kernel's switches of Bluetooth: rfkill.
package enum BluetoothSwitch {
  /// Whether the switch of each adapter, in hardware or in software, is off.
  ///
  /// Without an adapter, one switch that is off is enough: a laptop's own takes the adapter away.
  ///
  /// - Parameters:
  ///   - adapters: the names of the adapters, such as `hci0`, which their switches have, too.
  ///   - root: the directory in place of `/sys`, for tests.
  package static func isBlocked(_ adapters: [String], below root: String = "/sys") -> Bool {
    let directory = root + "/class/rfkill"
    let off = names(in: directory).map { directory + "/" + $0 }.filter { path in
      word(path + "/type") == "bluetooth" && (word(path + "/soft") == "1" || word(path + "/hard") == "1")
    }
    guard !adapters.isEmpty else { return !off.isEmpty }
    let blocked = off.compactMap { word($0 + "/name") }
    return adapters.allSatisfy { blocked.contains($0) }
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
