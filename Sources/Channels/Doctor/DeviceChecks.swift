import ControlProtocol
import UHID

// The lines about the way from /dev/uhid to the node.
extension DoctorFindings {
  private func unneeded(_ name: Check.Name) -> Check? {
    otherTransport.map { .note(name, "not needed: the authenticator uses \($0), which browsers do not see") }
  }

  /// A file of ours is missing; `commands` come before the installation.
  private func incomplete(_ name: Check.Name, _ text: String, after commands: [[String]] = []) -> Check {
    guard isPackaged else {
      return .problem(name, "\(text); run the repair in the clone", remedy: Remedy(commands + [["scripts/run"]]))
    }
    // Package managers have no copy of a package that was installed from a file.
    let file = packages == nil ? "" : ", for example with: sudo apt install --reinstall ./liquid-auth_*.deb"
    return .problem(
      name, "\(text); install the package liquid-auth again from its file\(file)",
      remedy: commands.isEmpty ? nil : Remedy(commands))
  }

  /// A problem that a package solves.
  ///
  /// - Parameter names: its name for each package manager; where none is known, the text gives Debian's.
  func packageProblem(_ name: Check.Name, _ text: String, again: Bool = false, _ names: [PackageManager: String])
    -> Check
  {
    let package = packageManager.flatMap { names[$0] } ?? names[.apt] ?? ""
    let words =
      switch packageManager {
      case .apt: ["apt-get", "install"] + (again ? ["--reinstall"] : [])
      case .dnf: ["dnf", again ? "reinstall" : "install"]
      case .pacman: ["pacman", "-S"]
      case nil: [String]()
      }
    guard !words.isEmpty else {
      return .problem(name, "\(text); \(again ? "reinstall" : "install") the package that Debian calls \(package)")
    }
    return .problem(name, text, remedy: Remedy(["sudo"] + words + [package]))
  }

  var kernelModule: Check {
    if let check = unneeded(.kernelModule) { return check }
    let load = ["sudo", "modprobe", "uhid"]
    return switch driver {
    case .loaded: .ok(.kernelModule, "uhid is loaded")
    case .builtIn: .ok(.kernelModule, "uhid is part of the kernel")
    case .absent:
      .problem(
        .kernelModule,
        hasSystemd ? "uhid is not loaded" : "uhid is not loaded; in a container, load it on the host",
        remedy: Remedy(load))
    case .blocked(let path):
      .problem(
        .kernelModule, "uhid is not loaded, because \(path) forbids it",
        remedy: Remedy(["sudo", "sed", "-i", "-E", #"/^\s*(install|blacklist)\s+uhid\b/d"#, path], load))
    case .updated(let kernel):
      .problem(
        .kernelModule,
        "the modules of the running kernel \(kernel) are gone, as happens after an update; restart the machine",
        remedy: Remedy(["sudo", "reboot"]))
    case .unavailable(let kernel): unavailableModule(of: kernel)
    }
  }

  private func unavailableModule(of kernel: String) -> Check {
    let text = "the kernel \(kernel) has no module uhid"
    // Debian's kernel for virtual machines leaves it out: 6.12.43+deb13-cloud-amd64.
    guard let start = kernel.ranges(of: "-cloud-").last?.upperBound, packageManager == .apt else {
      return .problem(
        .kernelModule, "\(text); install a kernel, or a package of its modules, that has it (CONFIG_UHID)")
    }
    return .problem(
      .kernelModule,
      "\(text), because it is the one for cloud machines; install another, and restart the machine with it",
      remedy: Remedy(["sudo", "apt-get", "install", "linux-image-\(kernel[start...])"]))
  }

  var broker: Check {
    if let check = unneeded(.broker) { return check }
    guard hasSystemd else {
      // Without the module there is no /dev/uhid, which the line before says.
      guard kernelModule.state == .ok, let problem = system.uhidProblem else {
        return .note(.broker, "not used without systemd")
      }
      return .problem(.broker, problem.text(with: options), remedy: problem.remedy)
    }
    if status?.device.transport == "uhid" {
      return .note(.broker, "not used: the authenticator opens /dev/uhid itself (--transport uhid)")
    }
    let unit = "liquid-auth-broker.socket"
    let start = Remedy(["sudo", "systemctl", "enable", "--now", unit])
    switch brokerUnit {
    case .unknown(let reason):
      return hasBrokerSocket
        ? .ok(.broker, "its socket \(BrokerMessage.path) exists")
        : .problem(.broker, "there is no socket \(BrokerMessage.path); \(reason)", remedy: start)
    case .known(let found) where found.load == "masked":
      return .problem(
        .broker, "\(unit) is masked", remedy: Remedy(["sudo", "systemctl", "unmask", unit], start.commands[0]))
    case .known(let found) where found.load != "loaded":
      return incomplete(.broker, "\(unit) is not installed")
    case .known(let found) where found.active != "active":
      return .problem(.broker, "\(unit) is \(found.active)", remedy: start)
    case .known where !hasBrokerSocket:
      return .problem(
        .broker, "the socket \(BrokerMessage.path) was removed", remedy: Remedy(["sudo", "systemctl", "restart", unit]))
    case .known(let found) where found.file == "disabled":
      return .problem(.broker, "\(unit) does not start with the machine", remedy: start)
    case .known: return .ok(.broker, "\(unit) is active")
    }
  }

  var rules: Check {
    if let check = unneeded(.rule) { return check }
    switch rule {
    case .missing:
      let text = "71-liquid-auth.rules is not installed"
      guard uhid == nil, !isPackaged else { return incomplete(.rule, text) }
      return .note(.rule, "\(text); when /dev/uhid exists, install it in the clone with: scripts/run")
    case .replaced(let path, let ours):
      let text = "\(path) replaces the rule of liquid-auth, or is an earlier version of it"
      guard ours != nil else { return incomplete(.rule, text, after: [["sudo", "rm", path]]) }
      return .problem(.rule, text, remedy: Remedy([["sudo", "rm", path]] + apply))
    case .present(let path): return rules(from: path)
    }
  }

  /// Makes udev read its rules again and apply them to `/dev/uhid`.
  private var apply: [[String]] {
    [
      ["sudo", "udevadm", "control", "--reload"],
      ["sudo", "udevadm", "trigger", "--action=change", "--settle", "/dev/uhid"],
    ]
  }

  private func rules(from path: String) -> Check {
    guard let uhid else { return .ok(.rule, path) }
    guard let group else {
      let make =
        hasSystemd ? ["systemd-sysusers", "liquid-auth.conf"] : ["groupadd", "--system", groupName]
      return .problem(.rule, "there is no group \(groupName)", remedy: Remedy([["sudo"] + make] + apply))
    }
    // Files of a package stay, and are only named.
    let own = otherRules.filter { $0.hasPrefix("/etc/") }
    let others =
      otherRules.isEmpty
      ? "" : "; \(otherRules.joined(separator: " and ")) \(otherRules.count == 1 ? "has" : "have") a rule for it, too"
    let again = (own.isEmpty ? [] : [["sudo", "rm"] + own]) + apply
    guard uhid.mode & 0o007 == 0 else {
      return .problem(.rule, "every user can open /dev/uhid, and so emulate a keyboard\(others)", remedy: Remedy(again))
    }
    guard !uhid.hasACL || uhid.mode & 0o070 == 0 else {
      return .problem(
        .rule, "an ACL lets others open /dev/uhid, and so emulate a keyboard\(others)",
        remedy: Remedy(again + [["sudo", "setfacl", "--remove-all", "/dev/uhid"]]))
    }
    guard uhid.mode & 0o777 == 0o660, uhid.group == group else {
      return .problem(.rule, "udev has not applied \(path) to /dev/uhid\(others)", remedy: Remedy(again))
    }
    return membership ?? .ok(.rule, path)
  }

  /// With the broker, the group needs no members: their programs could make any HID device.
  private var membership: Check? {
    guard hasSystemd, status?.device.transport != "uhid" else { return nil }
    if let member {
      return .problem(
        .rule,
        "you are in the group \(groupName), so every program of yours can emulate a keyboard; the broker does "
          + "not need that: leave the group, and log in again",
        remedy: Remedy(["sudo", "gpasswd", "-d", member, groupName]))
    }
    guard groupName == SystemFindings.group, system.sessionHasGroup else { return nil }
    return .problem(
      .rule,
      "your session still has the group \(SystemFindings.group), so its programs can emulate a keyboard; log out "
        + "and in again"
    )
  }

  var node: Check {
    if let check = unneeded(.node) { return check }
    guard let status else {
      // Other lines have the repairs of the vault and of /dev/uhid.
      let isStartable = vault.isThere == false || vault.problem == nil && system.uhidProblem == nil
      let other =
        system.uhidProblem == nil
        ? "" : "; while /dev/uhid cannot be used, --transport pty makes one for programs other than browsers"
      return .problem(
        .node, "there is no device, because the authenticator is not running\(other)",
        remedy: isStartable ? starting : nil)
    }
    let attach = Remedy(["liquid-auth", "device", "attach"])
    if let other = status.device.steppedAsideFor {
      return .note(.node, "the device is detached while \(other) is plugged in", remedy: attach)
    }
    guard status.device.attached else { return .problem(.node, "the device is detached", remedy: attach) }
    let replug = Remedy(["liquid-auth", "device", "replug"])
    guard let path = status.device.node else {
      return .problem(.node, "the device has no node that udev has handled", remedy: replug)
    }
    guard let node = ownNode, let access = node.access else {
      return .problem(.node, "\(path) is gone", remedy: replug)
    }
    let trigger = Remedy(["sudo", "udevadm", "trigger", "--action=add", "--settle", "/sys/class/hidraw/\(node.name)"])
    guard node.isOpenable else { return .problem(.node, "you cannot open \(path)", remedy: trigger) }
    // A node of the broker is only for its user; with another transport, whoever sits at the machine has an ACL.
    let isOfBroker = node.place == UHIDIdentity.Maker.broker.rawValue
    guard !isOfBroker || access.owner == user else {
      return .problem(.node, "\(path) belongs to user \(access.owner), not to you (user \(user))", remedy: trigger)
    }
    // With an ACL, the group's bits are its mask: the most that a user named there can have.
    guard access.mode & (isOfBroker ? 0o077 : 0o006) == 0 else {
      return .problem(.node, "other users can open \(path)", remedy: trigger)
    }
    guard !isOfBroker || !node.tags.contains("uaccess") else {
      return .problem(
        .node, "udev gives \(path) to the user at the machine (tag uaccess)",
        remedy: Remedy([["sudo", "udevadm", "control", "--reload"]] + trigger.commands))
    }
    return .ok(.node, "\(path), which you can open")
  }

  var reportDescriptor: Check {
    if let check = unneeded(.reportDescriptor) { return check }
    guard let node = ownNode else { return .note(.reportDescriptor, "cannot be checked: there is no node") }
    guard node.descriptor == UHIDIdentity.reportDescriptor else {
      return .problem(
        .reportDescriptor, "that of \(node.path) is not that of a security key",
        remedy: Remedy(["liquid-auth", "device", "replug"]))
    }
    return .ok(.reportDescriptor, "usage page F1D0, reports of 64 bytes")
  }

  var fidoProperties: Check {
    if let check = unneeded(.fidoProperties) { return check }
    guard let node = ownNode else { return .note(.fidoProperties, "cannot be checked: there is no node") }
    guard node.isMarked else {
      guard hasFIDORule else {
        return packageProblem(
          .fidoProperties, "60-fido-id.rules of systemd is not installed", again: true,
          [.apt: "udev", .dnf: "systemd-udev", .pacman: "systemd"])
      }
      return .problem(
        .fidoProperties, "udev has not marked \(node.path) as a security key (ID_FIDO_TOKEN)",
        remedy: Remedy(["sudo", "udevadm", "trigger", "--action=change", "--settle", "/sys/class/hidraw/\(node.name)"]))
    }
    return .ok(.fidoProperties, "udev has marked \(node.path) as a security key")
  }

  var secondKeys: [Check] {
    let others = nodes.filter { $0.isSecurityKey && !$0.isOurs }
    guard !others.isEmpty else { return [.ok(.secondKey, "no other security key is plugged in")] }
    return others.map { other in
      let name = other.product.isEmpty ? other.path : "\(other.path) \(other.product)"
      guard status?.device.steppedAsideFor == nil else {
        return .note(
          .secondKey, "only this key answers while it is plugged in (--beside-hardware-key step-aside)", about: name,
          remedy: Remedy(["liquid-auth", "device", "attach"]))
      }
      return .note(
        .secondKey,
        "browsers ask both keys; detach that of Liquid Auth, or start the authenticator with "
          + "--beside-hardware-key step-aside",
        about: name, remedy: status?.device.attached == true ? Remedy(["liquid-auth", "device", "detach"]) : nil)
    }
  }
}
