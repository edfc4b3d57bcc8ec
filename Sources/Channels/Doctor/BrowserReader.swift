import Glibc
import LiquidAuth

// Installations of browsers.
extension FindingsReader {
  private static let snapBrowsers = ["brave", "chromium", "firefox", "opera", "ungoogled-chromium", "vivaldi"]

  var snaps: [DoctorFindings.SnapBrowser] {
    Self.snapBrowsers.filter(isSnap).map { DoctorFindings.SnapBrowser(name: $0, isConnected: isConnected($0)) }
  }

  private func isSnap(_ name: String) -> Bool {
    ["/snap", "/var/lib/snapd/snap"].contains { tree.isDirectory("\($0)/\(name)") }
  }

  private static let snapPasswordManagers = [
    "1password", "bitwarden", "enpass", "keepassxc", "nordpass", "proton-pass",
  ]

  var snapApplications: [String] { Self.snapPasswordManagers.filter { isSnap($0) && !isConnected($0) } }

  /// snapd names the interface above each rule that it writes for it.
  private func isConnected(_ name: String) -> Bool {
    tree.lines("/etc/udev/rules.d/70-snap.\(name).rules").contains { $0.contains("u2f-devices") }
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

  /// The directories of the profiles of Firefox and LibreWolf, also those of a snap and of Flatpaks.
  var profiles: [String] {
    let settings = environment("XDG_CONFIG_HOME") ?? "\(home)/.config"
    let librewolf = "\(home)/.var/app/io.gitlab.librewolf-community"
    let places = [
      "\(home)/.mozilla/firefox", "\(settings)/mozilla/firefox", "\(home)/snap/firefox/common/.mozilla/firefox",
      "\(home)/.var/app/org.mozilla.firefox/.mozilla/firefox",
      "\(home)/.var/app/org.mozilla.firefox/config/mozilla/firefox", "\(home)/.librewolf",
      "\(settings)/librewolf/librewolf", "\(librewolf)/.librewolf", "\(librewolf)/config/librewolf/librewolf",
    ]
    var seen: Set<String> = []
    return places.flatMap { place in
      // A profile can be anywhere.
      let listed = tree.lines("\(place)/profiles.ini").filter { $0.hasPrefix("Path=") }.map { $0.dropFirst(5) }
        .map { $0.hasPrefix("/") ? String($0) : "\(place)/\($0)" }
      return tree.names(place).map { "\(place)/\($0)" } + listed
    }.filter { profile in
      ["prefs.js", "user.js"].contains { tree.exists("\(profile)/\($0)") } && seen.insert(profile).inserted
    }
  }

  var firefoxOff: [DoctorFindings.FirefoxPreference] {
    let own = profiles.map { profile in
      // At its start, Firefox reads user.js after prefs.js.
      let files = ["\(profile)/prefs.js", "\(profile)/user.js"]
      return files.map { (file: $0, values: Self.preferences(tree.lines($0, atMost: 1 << 24))) }
    }
    let set = own.flatMap { files in
      Self.firefoxPreferences.compactMap { name -> DoctorFindings.FirefoxPreference? in
        guard files.compactMap({ $0.values[name] }).last == "false" else { return nil }
        return DoctorFindings.FirefoxPreference(
          files: files.filter { $0.values[name] == "false" }.map(\.file), name: name)
      }
    }
    // A profile overrides what the installation does not lock.
    let system = systemFiles.flatMap { file in
      Self.firefoxPreferences.filter { name in
        guard file.values[name] == "false" else { return false }
        return file.locked.contains(name)
          || own.contains { files in files.compactMap { $0.values[name] }.last != "true" }
      }.map { DoctorFindings.FirefoxPreference(files: [file.path], name: $0, isSystem: true) }
    }
    return set + system
  }

  /// The files of preferences and policies of the installations.
  private var systemFiles: [(path: String, values: [String: String], locked: Set<String>)] {
    let installed = ["firefox", "firefox-esr", "librewolf"].flatMap { name in
      ["/usr/lib", "/usr/lib64", "/usr/share", "/opt"].map { "\($0)/\(name)" }
    }
    let settings = ["firefox", "firefox-esr", "librewolf"].map { "/etc/\($0)" }
    let directories =
      settings.flatMap { [$0, "\($0)/pref", "\($0)/defaults/pref"] }
      + installed.flatMap { [$0, "\($0)/defaults/pref", "\($0)/browser/defaults/preferences"] }
    let files = directories.flatMap { directory in
      // A .cfg file belongs to AutoConfig, and is in JavaScript.
      tree.names(directory).filter { $0.hasSuffix(".js") || $0.hasSuffix(".cfg") }.map { "\(directory)/\($0)" }
    }.map { path in
      let lines = tree.lines(path)
      let locked = lines.filter { $0.hasPrefix("lockPref(") || $0.contains(", locked)") }
      return (path: path, values: Self.preferences(lines), locked: Set(Self.preferences(locked).keys))
    }
    let policies = settings.map { "\($0)/policies" } + installed.map { "\($0)/distribution" }
    return files
      + policies.map { "\($0)/policies.json" }.map { path in
        let off = Self.switchedOff(tree.bytes(path) ?? [])
        return (path: path, values: off.mapValues { _ in "false" }, locked: Set(off.keys))
      }
  }

  /// Lines of the form `user_pref("NAME", VALUE);`, or with another function for preferences; the last of a name counts.
  static func preferences(_ lines: [String]) -> [String: String] {
    var found: [String: String] = [:]
    for line in lines {
      let parts = line.drop { $0 == " " }.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, ["user_pref(", "pref(", "defaultPref(", "lockPref("].contains(parts[0]),
        let comma = parts[2].firstIndex(of: ","), let end = parts[2].lastIndex(of: ")"), comma < end
      else { continue }
      let value = parts[2][parts[2].index(after: comma)..<end]
      found[String(parts[1])] = String(value.drop { $0 == " " }.prefix { $0 != " " && $0 != "," })
    }
    return found
  }

  /// The preferences that a file policies.json sets to false; none if it cannot be read.
  private static func switchedOff(_ json: [UInt8]) -> [String: FirefoxPolicies.Setting] {
    let file = try? JSONCoding.decode(FirefoxPolicies.self, from: json)
    return (file?.policies?.Preferences ?? [:]).filter { !$0.value.isOn }
  }
}

/// The part of policies.json that sets preferences.
private struct FirefoxPolicies: Decodable {
  struct Policies: Decodable {
    let Preferences: [String: Setting]?
  }

  /// A value, or an object with it.
  struct Setting: Decodable {
    let isOn: Bool

    private struct Object: Decodable {
      let Value: Bool?
    }

    init(from decoder: any Decoder) {
      let value = try? decoder.singleValueContainer().decode(Bool.self)
      isOn = value ?? (try? Object(from: decoder))?.Value ?? true
    }
  }

  let policies: Policies?
}
