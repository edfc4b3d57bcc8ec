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
    let modules = "/lib/modules/\(kernel)"
    guard tree.isDirectory(modules) else {
      // A container has none at all; there, the host loads modules.
      return tree.names("/lib/modules").isEmpty ? .absent : .updated(from: kernel)
    }
    let lists = ["builtin", "dep"].map { list in
      tree.lines("\(modules)/modules.\(list)", atMost: 1 << 24).contains { $0.contains("/uhid.ko") }
    }
    return lists[0] ? .builtIn : lists[1] ? .absent : .unavailable(in: kernel)
  }

  private static let ownRule = "71-liquid-auth.rules"

  var rule: DoctorFindings.Rule {
    // udev reads the first file of a name.
    let paths = Self.ruleDirectories.map { "\($0)/\(Self.ownRule)" }.filter(tree.exists)
    guard let first = paths.first else { return .missing }
    let ours = paths.first { path in
      let lines = rules(in: path)
      return Self.essentials.allSatisfy { word in lines.contains { $0.contains(word) } }
    }
    return ours == first ? .present(first) : .replaced(first, ours: ours)
  }

  private static let uhidKernel = "KERNEL==\"uhid\""
  /// Parts of the current rule; each earlier version lacks at least one of them.
  private static let essentials = [
    uhidKernel, #"DEVPATH!="/devices/virtual/misc/uhid/*""#, #"ENV{HID_PHYS}=="liquid-auth-broker""#,
    #"ENV{ID_SEAT}="none""#, "/usr/bin/chown $env{HID_UNIQ}",
  ]

  private func rules(in path: String) -> [String] { tree.lines(path).filter { !$0.hasPrefix("#") } }

  var otherRules: [String] {
    var seen: Set = [Self.ownRule]
    return Self.ruleDirectories.flatMap { directory in
      tree.names(directory).filter { $0.hasSuffix(".rules") && seen.insert($0).inserted }.map { "\(directory)/\($0)" }
    }.filter { path in rules(in: path).contains { $0.contains(Self.uhidKernel) } }
  }

  /// The group to which udev's rule gives `/dev/uhid`: the broker's, unless scripts/run installed the rule for another.
  var groupName: String {
    let path: String? = if case .present(let path) = rule { path } else { nil }
    let line = path.flatMap { rules(in: $0).first { $0.contains(Self.uhidKernel) } } ?? ""
    let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
    let value = parts.firstIndex { $0.hasSuffix("GROUP=") }.map { parts[($0 + 1)...].first } ?? nil
    return value.map(String.init) ?? "liquid-auth-broker"
  }

  /// The number and the members of that group.
  private var groupRecord: (number: UInt32, members: [String])? {
    let name = groupName
    for line in tree.lines("/etc/group") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      guard fields.count >= 3, fields[0] == name else { continue }
      return UInt32(fields[2]).map { number in
        (number, fields.count > 3 ? fields[3].split(separator: ",").map(String.init) : [])
      }
    }
    return nil
  }

  var group: UInt32? { groupRecord?.number }

  var member: String? { groupRecord?.members.first { $0 == userName } }

  func access(to path: String) -> DoctorFindings.Access? {
    tree.attributes(path).map { found in
      DoctorFindings.Access(
        mode: found.st_mode & 0o7777, owner: found.st_uid, group: found.st_gid, hasACL: tree.hasACL(path))
    }
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
        // Q is a tag that the device has, G one that it has or had. Before version 247 of systemd there is only G, and
        // no V.
        let kind = record.contains { $0.hasPrefix("V:") || $0.hasPrefix("Q:") } ? "Q:" : "G:"
        node.tags = Set(record.filter { $0.hasPrefix(kind) }.map { String($0.dropFirst(2)) })
      }
      return node
    }
  }
}
