import Glibc

// The driver, the rule and the nodes.
extension FindingsReader {
  static let ruleDirectories = [
    "/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
  ]

  var driver: DoctorFindings.Driver {
    if tree.lines("/proc/modules").contains(where: { $0.hasPrefix("uhid ") }) { return .loaded }
    // A driver in the kernel has the device, and may have a directory of parameters.
    if tree.exists("/sys/class/misc/uhid") { return .builtIn }
    for directory in [
      "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d",
    ] {
      for name in tree.names(directory) where name.hasSuffix(".conf") {
        let isBlocked = tree.lines("\(directory)/\(name)").contains { line in
          let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
          return words.count > 1 && ["install", "blacklist"].contains(words[0]) && words[1] == "uhid"
        }
        if isBlocked { return .blocked(by: "\(directory)/\(name)") }
      }
    }
    return .absent
  }

  var rule: DoctorFindings.Rule {
    // udev reads the first file of a name.
    for directory in Self.ruleDirectories {
      let path = "\(directory)/71-liquid-auth.rules"
      guard tree.exists(path) else { continue }
      let lines = tree.lines(path).filter { !$0.hasPrefix("#") }
      let isOurs = ["KERNEL==\"uhid\"", "liquid-auth-broker"].allSatisfy { word in lines.contains { $0.contains(word) }
      }
      return isOurs ? .present(path) : .replaced(path)
    }
    return .missing
  }

  var group: UInt32? {
    for line in tree.lines("/etc/group") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      if fields.count >= 3, fields[0] == SystemFindings.group { return UInt32(fields[2]) }
    }
    return nil
  }

  func access(to path: String) -> DoctorFindings.Access? {
    tree.attributes(path).map { DoctorFindings.Access(mode: $0.st_mode & 0o7777, group: $0.st_gid) }
  }

  var nodes: [DoctorFindings.Node] {
    let directory = "/sys/class/hidraw"
    return tree.names(directory).compactMap { name in
      guard name.hasPrefix("hidraw") else { return nil }
      let parent = "\(tree.resolved("\(directory)/\(name)"))/device"
      let uevent = Self.assignments(tree.lines("\(parent)/uevent").joined(separator: "\n"))
      var node = DoctorFindings.Node(
        name: name, product: uevent["HID_NAME"] ?? "", place: uevent["HID_PHYS"] ?? "",
        serial: uevent["HID_UNIQ"] ?? "", descriptor: tree.bytes("\(parent)/report_descriptor", atMost: 4096) ?? [])
      node.isOpenable = tree.allows(node.path, R_OK | W_OK)
      node.access = access(to: node.path)
      let number = tree.lines("\(directory)/\(name)/dev").first ?? ""
      if number.contains(":"), !number.contains("/"), tree.exists("/run/udev/data/c\(number)") {
        let record = tree.lines("/run/udev/data/c\(number)")
        node.properties = Self.assignments(
          record.filter { $0.hasPrefix("E:") }.map { $0.dropFirst(2) }.joined(separator: "\n"))
        // Q is a present tag, G one that the device has or had.
        node.tags = Set(record.filter { $0.hasPrefix("G:") || $0.hasPrefix("Q:") }.map { String($0.dropFirst(2)) })
      }
      return node
    }
  }
}
