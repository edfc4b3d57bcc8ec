import ControlProtocol
import UHID

// The lines about the way from /dev/uhid to the node.
extension DoctorFindings {
  private func unneeded(_ name: Check.Name) -> Check? {
    otherTransport.map { .note(name, "not needed: the authenticator uses \($0), which browsers do not see") }
  }

  /// What installs our own files again.
  private var installation: Mend {
    Mend(packages?.hasOurs == true ? ["sudo", "apt-get", "install", "--reinstall", "liquid-auth"] : ["scripts/run"])
  }

  var kernelModule: Check {
    if let check = unneeded(.kernelModule) { return check }
    let load = ["sudo", "modprobe", "uhid"]
    return switch driver {
    case .loaded: .ok(.kernelModule, "uhid is loaded")
    case .builtIn: .ok(.kernelModule, "uhid is part of the kernel")
    case .absent: .problem(.kernelModule, "uhid is not loaded", mend: Mend(load))
    case .blocked(let path):
      .problem(
        .kernelModule, "uhid is not loaded, because \(path) forbids it",
        mend: Mend(["sudo", "sed", "-i", "-E", #"/^\s*(install|blacklist)\s+uhid\b/d"#, path], load))
    }
  }

  var broker: Check {
    if let check = unneeded(.broker) { return check }
    guard hasSystemd else {
      guard let problem = system.uhidProblem else { return .note(.broker, "not used without systemd") }
      return .problem(.broker, problem)
    }
    if status?.transport == "uhid" {
      return .note(.broker, "not used: the authenticator opens /dev/uhid itself (--transport uhid)")
    }
    let unit = "liquid-auth-broker.socket"
    let start = Mend(["sudo", "systemctl", "enable", "--now", unit])
    switch brokerUnit {
    case .unknown(let reason):
      return hasBrokerSocket
        ? .ok(.broker, "its socket \(BrokerMessage.path) exists")
        : .problem(.broker, "there is no socket \(BrokerMessage.path); \(reason)", mend: start)
    case .known(let found) where found.load == "masked":
      return .problem(
        .broker, "\(unit) is masked", mend: Mend(["sudo", "systemctl", "unmask", unit], start.commands[0]))
    case .known(let found) where found.load != "loaded":
      return .problem(.broker, "\(unit) is not installed", mend: installation)
    case .known(let found) where found.active != "active":
      return .problem(.broker, "\(unit) is \(found.active)", mend: start)
    case .known where !hasBrokerSocket:
      return .problem(
        .broker, "the socket \(BrokerMessage.path) was removed", mend: Mend(["sudo", "systemctl", "restart", unit]))
    case .known(let found) where found.file == "disabled":
      return .problem(.broker, "\(unit) does not start with the machine", mend: start)
    case .known: return .ok(.broker, "\(unit) is active")
    }
  }

  var rules: Check {
    if let check = unneeded(.rule) { return check }
    switch rule {
    case .missing: return .problem(.rule, "71-liquid-auth.rules is not installed", mend: installation)
    case .replaced(let path):
      return .problem(
        .rule, "\(path) takes the place of our rule", mend: Mend(["sudo", "rm", path], installation.commands[0]))
    case .present(let path):
      let apply = Mend(
        ["sudo", "udevadm", "control", "--reload"],
        ["sudo", "udevadm", "trigger", "--action=change", "--settle", "/dev/uhid"])
      guard let uhid else { return .ok(.rule, path) }
      guard let group else { return .problem(.rule, "there is no group \(SystemFindings.group)", mend: installation) }
      guard uhid.mode & 0o007 == 0 else {
        return .problem(.rule, "every user can open /dev/uhid, and so emulate a keyboard", mend: apply)
      }
      guard uhid.mode & 0o777 == 0o660, uhid.group == group else {
        return .problem(.rule, "udev has not applied \(path) to /dev/uhid", mend: apply)
      }
      return .ok(.rule, path)
    }
  }

  var node: Check {
    if let check = unneeded(.node) { return check }
    guard let status else {
      return .problem(.node, "there is no device, because the authenticator is not running", mend: starting)
    }
    let attach = Mend(["liquid-auth", "device", "attach"])
    if let other = status.steppedAsideFor {
      return .note(.node, "the device is detached while \(other) is plugged in", mend: attach)
    }
    guard status.attached else { return .problem(.node, "the device is detached", mend: attach) }
    let replug = Mend(["liquid-auth", "device", "replug"])
    guard let path = status.node else {
      return .problem(.node, "the device has no node that udev has handled", mend: replug)
    }
    guard let node = ownNode, let access = node.access else {
      return .problem(.node, "\(path) is gone", mend: replug)
    }
    let trigger = Mend(["sudo", "udevadm", "trigger", "--action=add", "--settle", "/sys/class/hidraw/\(node.name)"])
    guard node.isOpenable else { return .problem(.node, "you cannot open \(path)", mend: trigger) }
    guard access.mode & 0o006 == 0 else {
      return .problem(.node, "other users can open \(path)", mend: trigger)
    }
    return .ok(.node, "\(path), which you can open")
  }

  var reportDescriptor: Check {
    if let check = unneeded(.reportDescriptor) { return check }
    guard let node = ownNode else { return .note(.reportDescriptor, "cannot be checked: there is no node") }
    guard node.descriptor == UHIDIdentity.reportDescriptor else {
      return .problem(
        .reportDescriptor, "that of \(node.path) is not that of a security key",
        mend: Mend(["liquid-auth", "device", "replug"]))
    }
    return .ok(.reportDescriptor, "usage page F1D0, reports of 64 bytes")
  }

  var fidoProperties: Check {
    if let check = unneeded(.fidoProperties) { return check }
    guard let node = ownNode else { return .note(.fidoProperties, "cannot be checked: there is no node") }
    guard node.isMarked else {
      guard hasFIDORule else {
        return .problem(
          .fidoProperties, "60-fido-id.rules of systemd is not installed",
          mend: Mend(["sudo", "apt-get", "install", "--reinstall", "udev"]))
      }
      return .problem(
        .fidoProperties, "udev has not marked \(node.path) as a security key (ID_FIDO_TOKEN)",
        mend: Mend(["sudo", "udevadm", "trigger", "--action=change", "--settle", "/sys/class/hidraw/\(node.name)"]))
    }
    return .ok(.fidoProperties, "udev has marked \(node.path) as a security key")
  }

  var secondKeys: [Check] {
    let others = nodes.filter { $0.isSecurityKey && !$0.isOurs }
    guard !others.isEmpty else { return [.ok(.secondKey, "no other security key is plugged in")] }
    return others.map { other in
      let name = other.product.isEmpty ? other.path : "\(other.path) \(other.product)"
      guard status?.steppedAsideFor == nil else {
        return .note(
          .secondKey, "only this key answers while it is plugged in (--beside-hardware-key step-aside)", about: name,
          mend: Mend(["liquid-auth", "device", "attach"]))
      }
      return .note(
        .secondKey,
        "browsers ask both keys; detach ours, or start the authenticator with --beside-hardware-key step-aside",
        about: name, mend: status?.attached == true ? Mend(["liquid-auth", "device", "detach"]) : nil)
    }
  }
}
