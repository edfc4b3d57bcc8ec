import Glibc

// Installations of browsers.
extension FindingsReader {
  private static let snapBrowsers = ["brave", "chromium", "firefox", "opera", "ungoogled-chromium", "vivaldi"]

  var snaps: [DoctorFindings.SnapBrowser] {
    Self.snapBrowsers.filter { name in
      ["/snap", "/var/lib/snapd/snap"].contains { tree.isDirectory("\($0)/\(name)") }
    }.map { name in
      // snapd names the interface above each rule that it writes for it.
      let rules = tree.lines("/etc/udev/rules.d/70-snap.\(name).rules")
      return DoctorFindings.SnapBrowser(name: name, isConnected: rules.contains { $0.contains("u2f-devices") })
    }
  }

  private static let flatpakBrowsers: Set = [
    "app.zen_browser.zen", "com.brave.Browser", "com.google.Chrome", "com.google.ChromeDev", "com.microsoft.Edge",
    "com.opera.Opera", "com.vivaldi.Vivaldi", "io.github.ungoogled_software.ungoogled_chromium",
    "io.gitlab.librewolf-community", "net.mullvad.MullvadBrowser", "net.waterfox.waterfox", "one.ablaze.floorp",
    "org.chromium.Chromium", "org.gnome.Epiphany", "org.mozilla.firefox",
  ]

  var flatpaks: [DoctorFindings.FlatpakApplication] {
    let places = ["/var/lib/flatpak", "\(dataHome)/flatpak"]
    var found: [String: DoctorFindings.FlatpakApplication] = [:]
    for place in places {
      for id in tree.names("\(place)/app") {
        let metadata = metadataPath("\(place)/app/\(id)")
        guard let metadata else { continue }
        // In this order, the later ones count.
        let files = [metadata] + places.flatMap { ["\($0)/overrides/global", "\($0)/overrides/\(id)"] }
        let hasAll = files.reduce(false) { has, file in Self.allDevices(tree.lines(file)) ?? has }
        found[id] = DoctorFindings.FlatpakApplication(
          id: id, isBrowser: Self.flatpakBrowsers.contains(id), hasAllDevices: hasAll)
      }
    }
    return found.values.sorted { $0.id < $1.id }
  }

  private var dataHome: String { environment("XDG_DATA_HOME") ?? "\(home)/.local/share" }

  /// `current` is a link to architecture and branch, and `active` one to the commit.
  private func metadataPath(_ directory: String) -> String? {
    let branch = tree.resolved("\(directory)/current")
    let path = "\(tree.resolved("\(branch)/active"))/metadata"
    return tree.exists(path) ? path : nil
  }

  /// Whether a file of permissions grants all devices; `nil` if it says nothing about that.
  static func allDevices(_ lines: [String]) -> Bool? {
    var isContext = false
    var granted: Bool?
    for line in lines {
      if line.hasPrefix("[") { isContext = line == "[Context]" }
      guard isContext, line.hasPrefix("devices=") else { continue }
      for device in line.dropFirst("devices=".count).split(separator: ";") {
        if device == "all" { granted = true }
        if device == "!all" { granted = false }
      }
    }
    return granted
  }

  // MARK: Firefox

  static let firefoxPreferences = [
    "security.webauth.webauthn", "security.webauth.webauthn_enable_usbtoken", "security.webauthn.ctap2",
  ]

  /// The directories of the profiles, also those of a snap and a Flatpak.
  var profiles: [String] {
    let places = [
      "\(home)/.mozilla/firefox", "\(environment("XDG_CONFIG_HOME") ?? "\(home)/.config")/mozilla/firefox",
      "\(home)/snap/firefox/common/.mozilla/firefox", "\(home)/.var/app/org.mozilla.firefox/.mozilla/firefox",
      "\(home)/.var/app/org.mozilla.firefox/config/mozilla/firefox",
    ]
    return places.flatMap { place in tree.names(place).map { "\(place)/\($0)" } }
      .filter { profile in ["prefs.js", "user.js"].contains { tree.exists("\(profile)/\($0)") } }
  }

  var firefoxOff: [DoctorFindings.FirefoxPreference] {
    profiles.flatMap { profile in
      // At its start, Firefox reads user.js after prefs.js.
      let files = ["\(profile)/prefs.js", "\(profile)/user.js"]
      let values = files.map { Self.preferences(tree.lines($0, atMost: 1 << 24)) }
      return Self.firefoxPreferences.compactMap { name -> DoctorFindings.FirefoxPreference? in
        guard values.compactMap({ $0[name] }).last == "false" else { return nil }
        return DoctorFindings.FirefoxPreference(
          files: files.indices.filter { values[$0][name] == "false" }.map { files[$0] }, name: name)
      }
    }
  }

  /// Lines of the form `user_pref("NAME", VALUE);`; the last of a name counts.
  static func preferences(_ lines: [String]) -> [String: String] {
    var found: [String: String] = [:]
    for line in lines where line.hasPrefix("user_pref(\"") {
      let parts = line.dropFirst("user_pref(\"".count).split(
        separator: "\"", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let comma = parts[1].firstIndex(of: ","), let end = parts[1].lastIndex(of: ")"),
        comma < end
      else { continue }
      let value = parts[1][parts[1].index(after: comma)..<end]
      found[String(parts[0])] = String(value.drop { $0 == " " }.prefix { $0 != " " })
    }
    return found
  }
}
