import ControlProtocol

// The lines about browsers and other applications.
extension DoctorFindings {
  var snapBrowsers: [Check] {
    guard !snaps.isEmpty else { return [.ok(.snapBrowser, "no browser is installed as a snap")] }
    return snaps.map { snap in
      guard snap.isConnected else {
        return .problem(
          .snapBrowser, "it cannot open security keys", about: snap.name,
          remedy: Remedy(["sudo", "snap", "connect", "\(snap.name):u2f-devices"]))
      }
      guard let node = ownNode else {
        return .note(.snapBrowser, "cannot be checked: there is no node", about: snap.name)
      }
      if node.tags.contains(where: { $0.hasPrefix("snap_\(snap.name)_") }) {
        return .ok(.snapBrowser, "it can open \(node.path)", about: snap.name)
      }
      // Our rule names these two; others depend on a snapd that follows fido_id.
      let isNamed = ["chromium", "firefox"].contains(snap.name)
      return .problem(
        .snapBrowser,
        isNamed ? "udev has not given it access to \(node.path)" : "this snapd gives it no access to \(node.path)",
        about: snap.name,
        remedy: isNamed
          ? Remedy(["sudo", "udevadm", "trigger", "--action=add", "--settle", "/sys/class/hidraw/\(node.name)"])
          : Remedy(["sudo", "snap", "refresh", "snapd"]))
    }
  }

  var flatpakBrowsers: [Check] {
    let browsers = flatpaks.filter(\.isBrowser)
    guard !browsers.isEmpty else { return [.ok(.flatpakBrowser, "no browser is installed as a Flatpak")] }
    return browsers.map { browser in
      browser.hasAllDevices
        ? .ok(.flatpakBrowser, "it can open devices", about: browser.id)
        : .problem(
          .flatpakBrowser, "it cannot open hidraw devices; the repair allows it all devices, from its next start",
          about: browser.id, remedy: Remedy(["flatpak", "override", "--user", "--device=all", browser.id]))
    }
  }

  var firefox: [Check] {
    guard firefoxProfiles > 0 else { return [.ok(.firefox, "you have no profile of Firefox or LibreWolf")] }
    guard !firefoxOff.isEmpty else { return [.ok(.firefox, "its preferences and policies allow security keys")] }
    return firefoxOff.map { off in
      let text = "it is false in \(off.files.joined(separator: " and "))"
      // sed works on lines, and policies are JSON.
      if off.files.contains(where: { $0.hasSuffix(".json") }) {
        return .problem(.firefox, "\(text), a policy of the administrator; remove it there", about: off.name)
      }
      let pattern = #"/"\#(off.name.split(separator: ".").joined(separator: "\\."))"/d"#
      return .problem(
        .firefox, "\(text); close Firefox before you remove it", about: off.name,
        remedy: Remedy((off.isSystem ? ["sudo"] : []) + ["sed", "-i", pattern] + off.files))
    }
  }

  var applications: Check {
    if let other = otherTransport {
      return .note(
        .applications,
        "browsers cannot use this device: the authenticator uses \(other); only programs that are given its path can"
      )
    }
    let closed = flatpaks.filter { !$0.isBrowser && !$0.hasAllDevices }
    let texts = [
      closed.first.map {
        closed.count == 1
          ? "the Flatpak application \($0.id) cannot open the key"
          : "\(closed.count) other Flatpak applications cannot open the key, for example \($0.id)"
      },
      snapApplications.isEmpty
        ? nil
        : "without a connection to u2f-devices, these snaps cannot open the key: "
          + snapApplications.joined(separator: ", "),
    ].compactMap { $0 }
    guard texts.isEmpty else { return .note(.applications, texts.joined(separator: "; ")) }
    guard ownNode != nil else {
      return .note(.applications, "cannot be checked: there is no node")
    }
    return .ok(.applications, "programs that open hidraw devices, such as browsers and ssh, can use the key")
  }
}
