import Bluetooth
import Glibc
import Testing

/// The switches as the kernel shows them, in a folder in place of /sys.
@Suite struct BluetoothSwitchTests {
  private let folder: String

  init() {
    var template = Array("/tmp/liquid-auth-rfkill-XXXXXX".utf8CString)
    folder = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
    for name in ["/class", "/class/rfkill"] { mkdir(folder + name, 0o700) }
  }

  private func add(_ name: String, of adapter: String, type: String, soft: String = "0", hard: String = "0") {
    mkdir("\(folder)/class/rfkill/\(name)", 0o700)
    for (file, content) in [("name", adapter), ("type", type), ("soft", soft), ("hard", hard)] {
      let descriptor = open("\(folder)/class/rfkill/\(name)/\(file)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      _ = Array((content + "\n").utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      close(descriptor)
    }
  }

  private func remove() {
    for name in ["rfkill0", "rfkill1"] {
      for file in ["name", "type", "soft", "hard"] { unlink("\(folder)/class/rfkill/\(name)/\(file)") }
      rmdir("\(folder)/class/rfkill/\(name)")
    }
    for name in ["/class/rfkill", "/class", ""] { rmdir(folder + name) }
  }

  // Holds: HYBRID-6
  @Test(arguments: [("0", "0", false), ("1", "0", true), ("0", "1", true)])
  func `a switch of either kind blocks`(_ soft: String, _ hard: String, _ isBlocked: Bool) {
    defer { remove() }
    add("rfkill0", of: "phy0", type: "wlan", soft: "1", hard: "1")
    add("rfkill1", of: "hci0", type: "bluetooth", soft: soft, hard: hard)
    #expect(BluetoothSwitch.isBlocked(["hci0"], below: folder) == isBlocked)
    #expect(BluetoothSwitch.isBlocked([], below: folder) == isBlocked)
  }

  // Holds: HYBRID-6
  @Test func `one of several adapters that is not blocked is enough`() {
    defer { remove() }
    add("rfkill0", of: "hci0", type: "bluetooth", soft: "1")
    add("rfkill1", of: "hci1", type: "bluetooth")
    #expect(BluetoothSwitch.isBlocked(["hci0"], below: folder))
    #expect(!BluetoothSwitch.isBlocked(["hci1"], below: folder))
    #expect(!BluetoothSwitch.isBlocked(["hci0", "hci1"], below: folder))
  }

  @Test func `without switches nothing is blocked`() {
    defer { remove() }
    for adapters in [[], ["hci0"]] {
      #expect(!BluetoothSwitch.isBlocked(adapters, below: folder))
      #expect(!BluetoothSwitch.isBlocked(adapters, below: folder + "/nonexistent"))
    }
  }
}

@Suite struct BluetoothFailureTests {
  @Test func `the name of an error cannot act on a terminal`() {
    let text = BluetoothFailure.refused(name: "org.x.Failed\u{1B}[2J\nsecond \u{202E}").description
    #expect(text == "bluetoothd refused the advert (org.x.Failed2Jsecond); see its log")
    #expect(BluetoothFailure.refused(name: String(repeating: "a", count: 999)).description.utf8.count < 130)
  }
}
