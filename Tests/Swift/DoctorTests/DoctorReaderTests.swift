import ControlProtocol
import Foundation
import Glibc
import ProcessIO
import TestVectors
import Testing
import UHID

@testable import Doctor

/// The findings of a system that the test makes as a tree of files.
// Holds: DOCTOR-3
@Suite struct DoctorReaderTests {
  /// A directory that is removed at the end.
  final class Scratch {
    let root: String

    init() {
      var template = Array("/tmp/doctor.XXXXXX".utf8CString)
      root = mkdtemp(&template).map { String(cString: $0) } ?? ""
    }

    deinit { _ = Tool.run(["rm", "-r", root], within: .patience) }

    func put(_ path: String, _ text: String, mode: UInt32 = 0o644) { put(path, Array(text.utf8), mode: mode) }

    func put(_ path: String, _ bytes: [UInt8], mode: UInt32 = 0o644) {
      makeParents(path)
      let descriptor = open(root + path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
      #expect(write(descriptor, bytes, bytes.count) == bytes.count)
      close(descriptor)
      chmod(root + path, mode)
    }

    func link(_ path: String, to target: String) {
      makeParents(path)
      #expect(symlink(target, root + path) == 0)
    }

    func directory(_ path: String) { makeParents(path + "/x") }

    private func makeParents(_ path: String) {
      var parent = root
      for name in path.split(separator: "/").dropLast() {
        parent += "/\(name)"
        mkdir(parent, 0o755)
      }
    }

    /// The findings; programs that are asked answer from `answers`, by their words.
    func findings(
      _ authenticator: DoctorFindings.Authenticator = .notRunning(Problem("x")), environment: [String: String] = [:],
      synchronized: Bool = false, user: UInt32 = 1000, isUserService: Bool = true, answers: [String: Tool.Result] = [:]
    ) -> DoctorFindings {
      FindingsReader(
        tree: SystemTree(root: root + "/"), home: "/home/anna", user: user, userName: "anna",
        isUserService: isUserService, kernel: "6.1.0", environment: { environment[$0] },
        ask: { words in answers[words.joined(separator: " ")] ?? .missing }, now: 1_800_000_000,
        isClockSynchronized: synchronized, program: "/usr/bin/liquid-auth"
      ).findings({ authenticator }, vault: VaultFinding(isThere: true), system: DoctorChecksTests.healthy.system)
    }
  }

  let scratch = Scratch()

  @Test func `an empty tree has nothing, and every missing program is named`() {
    let found = scratch.findings()
    #expect(found.driver == .absent && found.rule == .missing && found.uhid == nil && found.group == nil)
    #expect(!found.hasSystemd && !found.hasBrokerSocket && !found.hasFIDORule && found.nodes.isEmpty)
    #expect(found.snaps.isEmpty && found.flatpaks.isEmpty && found.firefoxProfiles == 0 && found.firefoxOff.isEmpty)
    #expect(found.pinentry == .init(program: "pinentry") && found.memory == nil && found.packages == nil)
    #expect(found.packageManager == nil && found.isPackaged && found.member == nil && found.otherRules.isEmpty)
    #expect(found.snapApplications.isEmpty && !found.hasX && !found.hasWayland && !found.isSudo)
    #expect(found.clock == .init(now: 1_800_000_000, program: nil, isSynchronized: false))
    #expect(found.socketUnit == .unknown("systemctl is not installed"))
    #expect(found.session == .unknown("loginctl is not installed"))
    #expect(found.notifications == .unknown("busctl is not installed"))
  }

  @Test func `the driver, and what forbids it`() {
    scratch.put("/etc/modprobe.d/a.conf", "# install uhid /bin/false\noptions uhid x=1\nblacklist uhidx\n")
    scratch.put("/etc/modprobe.d/b.txt", "blacklist uhid\n")
    #expect(scratch.findings().driver == .absent)
    scratch.put("/usr/lib/modprobe.d/c.conf", "  install\tuhid /bin/false\n")
    #expect(scratch.findings().driver == .blocked(by: "/usr/lib/modprobe.d/c.conf"))
    scratch.directory("/sys/class/misc/uhid")
    #expect(scratch.findings().driver == .builtIn)
    scratch.put("/proc/modules", "snd 1 2 - Live 0x0\nuhid 20480 1 - Live 0x0\n")
    #expect(scratch.findings().driver == .loaded)
  }

  @Test func `the modules of the running kernel`() {
    // Without any, this is a container.
    #expect(scratch.findings().driver == .absent)
    scratch.directory("/lib/modules/6.1.1")
    #expect(scratch.findings().driver == .updated(from: "6.1.0"))
    scratch.put("/lib/modules/6.1.0/modules.dep", "kernel/drivers/hid/hid.ko.xz: kernel/lib/x.ko.xz\n")
    #expect(scratch.findings().driver == .unavailable(in: "6.1.0"))
    scratch.put("/lib/modules/6.1.0/modules.dep", "kernel/drivers/hid/uhid.ko.xz: kernel/drivers/hid/hid.ko.xz\n")
    #expect(scratch.findings().driver == .absent)
    scratch.put("/lib/modules/6.1.0/modules.builtin", "kernel/drivers/hid/uhid.ko\n")
    #expect(scratch.findings().driver == .builtIn)
  }

  @Test func `the first rule of the name counts`() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../udev-rules/71-liquid-auth.rules")
    let present = try String(contentsOf: path, encoding: .utf8)
    let rule = present.replacing("GROUP=\"liquid-auth-broker\"", with: "GROUP=\"liquid-auth\"")
    scratch.put("/usr/lib/udev/rules.d/71-liquid-auth.rules", rule)
    scratch.put("/usr/lib/udev/rules.d/60-fido-id.rules", "")
    scratch.put("/etc/group", "root:x:0:\nliquid-auth:x:998:\n")
    scratch.put("/dev/uhid", "", mode: 0o660)
    let found = scratch.findings()
    #expect(found.rule == .present("/usr/lib/udev/rules.d/71-liquid-auth.rules") && found.hasFIDORule)
    #expect(found.groupName == "liquid-auth" && found.group == 998 && found.uhid?.mode == 0o660)
    scratch.put("/etc/udev/rules.d/71-liquid-auth.rules", "# KERNEL==\"uhid\" liquid-auth-broker\n")
    let etc = "/etc/udev/rules.d/71-liquid-auth.rules"
    #expect(scratch.findings().rule == .replaced(etc, ours: "/usr/lib/udev/rules.d/71-liquid-auth.rules"))
    // A rule of an earlier version, which scripts/run has left, lacks one of these lines.
    for line in ["DEVPATH!=", "/usr/bin/chown", "ID_SEAT"] {
      let kept = rule.split(separator: "\n").filter { !$0.contains(line) }
      scratch.put(etc, kept.joined(separator: "\n"))
      #expect(scratch.findings().rule == .replaced(etc, ours: "/usr/lib/udev/rules.d/71-liquid-auth.rules"))
    }
    scratch.put("/usr/lib/udev/rules.d/71-liquid-auth.rules", "")
    #expect(scratch.findings().rule == .replaced(etc, ours: nil))
    scratch.put("/etc/group", "liquid-auth-broker\nliquid-auth-broker:x:many:\nliquid-auth:x:998:\n\u{0}\n")
    #expect(scratch.findings().groupName == "liquid-auth-broker" && scratch.findings().group == nil)
  }

  @Test func `who else can open uhid`() {
    scratch.put("/etc/group", "liquid-auth-broker:x:998:bob,anna\n")
    #expect(scratch.findings().member == "anna")
    scratch.put("/etc/group", "liquid-auth-broker:x:998:joanna\nliquid-auth:x:1:anna\n")
    #expect(scratch.findings().member == nil)
    scratch.put("/etc/udev/rules.d/99-linux-id.rules", "KERNEL==\"uhid\", TAG+=\"uaccess\"\n")
    scratch.put("/etc/udev/rules.d/98-off.rules", "# KERNEL==\"uhid\"\n")
    scratch.put("/usr/lib/udev/rules.d/60-other.rules", "KERNEL==\"uhid\", MODE=\"0666\"\n")
    // The file of the same name in /etc takes its place.
    scratch.put("/usr/lib/udev/rules.d/98-off.rules", "KERNEL==\"uhid\"\n")
    scratch.put("/usr/lib/udev/rules.d/71-liquid-auth.rules", "KERNEL==\"uhid\"\n")
    #expect(
      scratch.findings().otherRules
        == ["/etc/udev/rules.d/99-linux-id.rules", "/usr/lib/udev/rules.d/60-other.rules"])
    scratch.put("/dev/uhid", "", mode: 0o660)
    #expect(scratch.findings().uhid == .init(mode: 0o660, owner: geteuid(), group: getegid()))
    // Only where setfacl is installed and the file system has ACLs.
    let set = ["setfacl", "--modify", "user:12345:rw", scratch.root + "/dev/uhid"]
    guard case .ended(0, _) = Tool.run(set, within: .patience) else { return }
    #expect(scratch.findings().uhid?.hasACL == true)
  }

  @Test func `sudo, package managers and the file of this program`() {
    let sudo = { (user: UInt32, number: String?) in
      scratch.findings(environment: number.map { ["SUDO_UID": $0] } ?? [:], user: user).isSudo
    }
    // Without sudo, root has no SUDO_UID.
    #expect(sudo(0, "1000") && !sudo(0, nil) && !sudo(0, "0") && !sudo(0, "") && !sudo(1000, "1000"))
    for manager in [DoctorFindings.PackageManager.pacman, .dnf, .apt] {
      scratch.put("/usr/bin/\(manager.rawValue)", "", mode: 0o755)
      #expect(scratch.findings().packageManager == manager)
    }
    // Without dpkg, the path of this program decides; in these tests, it is that of a package.
    #expect(scratch.findings().isPackaged)
  }

  @Test func `nodes, their descriptors and udev's records`() {
    // As in sysfs: the class has links to the devices.
    scratch.link("/sys/class/hidraw/hidraw3", to: "../../devices/uhid/hidraw3")
    scratch.put("/sys/devices/uhid/hidraw3/dev", "240:3\n")
    scratch.put(
      "/sys/devices/uhid/hidraw3/device/uevent",
      "HID_ID=0003:00001209:00000001\nHID_NAME=A=B\nHID_PHYS=liquid-auth-broker\nHID_UNIQ=1000\n")
    scratch.put("/sys/devices/uhid/hidraw3/device/report_descriptor", UHIDIdentity.reportDescriptor)
    scratch.put("/dev/hidraw3", "", mode: 0o600)
    scratch.put(
      "/run/udev/data/c240:3",
      "I:1\nE:ID_FIDO_TOKEN=1\nG:uaccess\nG:security-device\nQ:security-device\nQ:snap_firefox_firefox\nV:1\nE:\nE:x\n")
    scratch.directory("/sys/class/hidraw/hidraw4/device")
    scratch.put("/sys/class/hidraw/hidraw4/dev", "../../../etc:1")
    let nodes = scratch.findings().nodes
    #expect(
      nodes == [
        .init(
          name: "hidraw3", product: "A=B", place: "liquid-auth-broker", serial: "1000",
          descriptor: UHIDIdentity.reportDescriptor, isOpenable: true,
          access: .init(mode: 0o600, owner: geteuid(), group: getegid()), properties: ["ID_FIDO_TOKEN": "1"],
          tags: ["security-device", "snap_firefox_firefox"]),
        .init(name: "hidraw4"),
      ])
    #expect(nodes[0].isOurs && nodes[0].isMarked && nodes[0].isSecurityKey)
    #expect(!nodes[1].isOurs && !nodes[1].isMarked && !nodes[1].isSecurityKey)
    #expect(scratch.findings().ownNode == nodes[0])
    for (text, tags) in [("G:uaccess\nG:x\n", ["uaccess", "x"]), ("G:uaccess\nV:1\n", [])] as [(String, Set<String>)] {
      scratch.put("/run/udev/data/c240:3", text)
      #expect(scratch.findings().nodes[0].tags == tags)
    }
  }

  @Test func `browsers in snaps and Flatpaks`() {
    scratch.directory("/snap/firefox")
    scratch.directory("/var/lib/snapd/snap/brave")
    scratch.directory("/snap/other")
    scratch.directory("/snap/bitwarden")
    scratch.directory("/snap/keepassxc")
    scratch.put("/etc/udev/rules.d/70-snap.keepassxc.rules", "# u2f-devices\n")
    scratch.put("/etc/udev/rules.d/70-snap.firefox.rules", "# u2f-devices\nSUBSYSTEM==\"hidraw\"\n")
    scratch.put("/etc/udev/rules.d/70-snap.brave.rules", "# joystick\n")
    let flatpak = "/var/lib/flatpak/app"
    for (id, text) in [
      ("org.mozilla.firefox", "[Application]\nname=x\n[Context]\ndevices=dri;all;\n"),
      ("org.chromium.Chromium", "[Other]\ndevices=all;\n[Context]\ndevices=dri\n"), ("b.B", "\u{0}[Context"),
    ] {
      scratch.link("\(flatpak)/\(id)/current", to: "x86_64/stable")
      scratch.link("\(flatpak)/\(id)/x86_64/stable/active", to: "0123")
      scratch.put("\(flatpak)/\(id)/x86_64/stable/0123/metadata", text)
    }
    scratch.directory("\(flatpak)/c.NotInstalled")
    let found = scratch.findings()
    #expect(found.snaps == [.init(name: "brave", isConnected: false), .init(name: "firefox", isConnected: true)])
    #expect(
      found.flatpaks == [
        .init(id: "b.B", isBrowser: false, hasAllDevices: false),
        .init(id: "org.chromium.Chromium", isBrowser: true, hasAllDevices: false),
        .init(id: "org.mozilla.firefox", isBrowser: true, hasAllDevices: true),
      ])
    #expect(found.snapApplications == ["bitwarden"])
    let overrides = "/home/anna/.local/share/flatpak/overrides"
    scratch.put("/var/lib/flatpak/overrides/global", "[Context]\ndevices=!all;\n")
    scratch.put("\(overrides)/org.chromium.Chromium", "[Context]\ndevices=all;\n")
    #expect(scratch.findings().flatpaks.filter(\.hasAllDevices).map(\.id) == ["org.chromium.Chromium"])
    #expect(
      scratch.findings(environment: ["XDG_DATA_HOME": "/data"]).flatpaks.filter(\.hasAllDevices).isEmpty)
  }

  @Test func `preferences of Firefox`() {
    let (own, snap) = ("/home/anna/.mozilla/firefox/a b", "/home/anna/snap/firefox/common/.mozilla/firefox/c")
    scratch.put(
      "\(own)/prefs.js",
      """
      // security.webauthn.ctap2
      user_pref("security.webauthn.ctap2", false);
      user_pref("security.webauth.webauthn", false);
      user_pref("security.webauth.webauthn_enable_usbtoken", true);
      user_pref("security.webauth.webauthn_enable_usbtoken
      user_pref("x",
      user_pref("y");
      """)
    scratch.put("\(own)/user.js", #"user_pref("security.webauth.webauthn", true);"# + "\n")
    scratch.put("\(snap)/user.js", #"user_pref("security.webauth.webauthn_enable_usbtoken",   false);"#)
    scratch.directory("/home/anna/.mozilla/firefox/Crash Reports")
    let found = scratch.findings()
    #expect(found.firefoxProfiles == 2)
    #expect(
      found.firefoxOff == [
        .init(files: ["\(own)/prefs.js"], name: "security.webauthn.ctap2"),
        .init(files: ["\(snap)/user.js"], name: "security.webauth.webauthn_enable_usbtoken"),
      ])
  }

  @Test func `profiles that profiles.ini names, and LibreWolf's`() {
    let ini = "[Profile0]\nPath=/data/work\n[Profile1]\nPath=Profiles/a\n[Profile2]\nPath=b\n"
    scratch.put("/home/anna/.mozilla/firefox/profiles.ini", ini)
    let off = #"user_pref("security.webauthn.ctap2", false);"#
    let profiles = [
      "/home/anna/.mozilla/firefox/b", "/data/work", "/home/anna/.mozilla/firefox/Profiles/a",
      "/home/anna/.librewolf/c",
      "/home/anna/.config/librewolf/librewolf/d",
    ]
    for profile in profiles { scratch.put("\(profile)/prefs.js", off) }
    let found = scratch.findings()
    #expect(found.firefoxProfiles == 5 && found.firefoxOff.map(\.files) == profiles.map { ["\($0)/prefs.js"] })
  }

  @Test func `preferences and policies of the installation`() {
    let name = "security.webauthn.ctap2"
    let off = { (files: [String]) in
      files.map { DoctorFindings.FirefoxPreference(files: [$0], name: name, isSystem: true) }
    }
    let profile = "/home/anna/.mozilla/firefox/a/prefs.js"
    scratch.put(profile, "")
    scratch.put("/etc/firefox/pref/a.js", "  pref(\"\(name)\", false);\n// lockPref(\"x\", false);\n")
    scratch.put("/usr/lib/firefox/mozilla.cfg", "//\nlockPref(\"\(name)\", false);\n")
    scratch.put("/etc/firefox/a.txt", "lockPref(\"\(name)\", false);\n")
    scratch.put("/opt/firefox/defaults/pref/b.js", "pref(\"\(name)\", false, locked);\ndefaultPref(\"x\", false);\n")
    let policy = { (value: String) in #"{"policies": {"Preferences": {"\#(name)": \#(value), "x.y": "z"}}}"# }
    scratch.put("/etc/firefox/policies/policies.json", policy(#"{"Value": false, "Status": "locked"}"#))
    scratch.put("/usr/lib/firefox/distribution/policies.json", policy("false"))
    scratch.put("/usr/lib64/firefox/distribution/policies.json", policy("true"))
    scratch.put("/opt/firefox/distribution/policies.json", "{")
    let locked = [
      "/usr/lib/firefox/mozilla.cfg", "/opt/firefox/defaults/pref/b.js", "/etc/firefox/policies/policies.json",
      "/usr/lib/firefox/distribution/policies.json",
    ]
    #expect(scratch.findings().firefoxOff == off(["/etc/firefox/pref/a.js"] + locked))
    // The profile overrides what is not locked.
    scratch.put(profile, "user_pref(\"\(name)\", true);\n")
    #expect(scratch.findings().firefoxOff == off(locked))
  }

  @Test func `pinentry is looked up as the authenticator does, through its links`() {
    scratch.put("/usr/bin/pinentry-curses", "", mode: 0o755)
    scratch.link("/etc/alternatives/pinentry", to: "/usr/bin/pinentry-curses")
    scratch.link("/usr/bin/pinentry", to: "/etc/alternatives/pinentry")
    scratch.put("/opt/pinentry", "", mode: 0o644)
    let path = ["PATH": "/opt:/usr/bin", "DISPLAY": ":0"]
    let found = scratch.findings(environment: path)
    #expect(
      found.pinentry == .init(program: "pinentry", path: "/usr/bin/pinentry", target: "pinentry-curses")
        && found.hasX && !found.hasWayland)
    #expect(scratch.findings(environment: ["PATH": "/opt"]).pinentry.path == nil)
    var status = DoctorChecksTests.status()
    status.prompts = PromptReport(
      choice: "auto", [.init(.notifications), .init(.pinentry, program: "/usr/bin/pinentry-curses", fault: "why")])
    let running = DoctorFindings.Authenticator.running(status, nil, nil)
    #expect(
      scratch.findings(running).pinentry
        == .init(program: "/usr/bin/pinentry-curses", path: "/usr/bin/pinentry-curses", target: "pinentry-curses"))
    status.prompts = PromptReport(.askpass, program: "/usr/bin/pinentry-curses")
    #expect(scratch.findings(.running(status, nil, nil)).pinentry.program == "pinentry")
    scratch.put("/usr/bin/pinentry-qt", "", mode: 0o755)
    scratch.put("/usr/bin/update-alternatives", "", mode: 0o755)
    let others = scratch.findings(environment: path).pinentry
    #expect(others.others == ["/usr/bin/pinentry-qt"] && others.hasAlternatives)
    scratch.link("/loop", to: "/loop")
    status.prompts = PromptReport(.pinentry, program: "/loop")
    #expect(scratch.findings(.running(status, nil, nil)).pinentry.path == nil)
  }

  @Test func `GNOME's prompter is asked only for its pinentry and beside a display`() {
    scratch.put("/usr/bin/pinentry-gnome3", "", mode: 0o755)
    scratch.put("/usr/bin/pinentry-qt", "", mode: 0o755)
    scratch.link("/opt/pinentry", to: "/usr/bin/pinentry-qt")
    scratch.link("/usr/bin/pinentry", to: "/usr/bin/pinentry-gnome3")
    let ping =
      "busctl --user --timeout=2 call org.gnome.keyring.SystemPrompter /org/gnome/keyring/Prompter "
      + "org.freedesktop.DBus.Peer Ping"
    let with = { (environment: [String: String], answer: Tool.Result) in
      scratch.findings(
        environment: ["PATH": "/usr/bin"].merging(environment) { $1 }, answers: [ping: answer]
      ).prompter
    }
    let desktop = ["WAYLAND_DISPLAY": "wayland-0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus"]
    #expect(with(desktop, .ended(0, "")) == .known(nil))
    let failed = "Call failed: Process org.gnome.keyring.SystemPrompter exited with status 1"
    #expect(with(desktop, .ended(1, "\(failed)\n")) == .known(failed))
    #expect(with(["DISPLAY": ":0"], .ended(0, "")) == .known("DBUS_SESSION_BUS_ADDRESS is not set"))
    #expect(
      with(desktop, .ended(1, "Failed to connect to bus: No medium found\n"))
        == .unknown("busctl finds no D-Bus of this session"))
    #expect(with(desktop, .missing) == .unknown("busctl is not installed"))
    #expect(with([:], .missing) == .known(nil) && with(["PATH": "/opt", "DISPLAY": ":0"], .missing) == .known(nil))
  }

  @Test func `prompts are in the environment of the user service`() {
    let show = "systemctl --user show --property=LoadState,ActiveState,UnitFileState liquid-authenticator"
    let unit = { (active: String) in
      Tool.Result.ended(0, "LoadState=loaded\nActiveState=\(active)\nUnitFileState=enabled\n")
    }
    let answers = { (active: String) in
      [
        "\(show).socket": unit(active), "\(show).service": unit("inactive"),
        "systemctl --user show-environment":
          .ended(0, "WAYLAND_DISPLAY=wayland-0\nDISPLAY=\nXDG_CURRENT_DESKTOP=KDE\nPATH=/opt\n"),
      ]
    }
    scratch.put("/opt/pinentry", "", mode: 0o755)
    // As over ssh.
    let own = ["DISPLAY": "localhost:10.0", "PATH": "/usr/bin"]
    let found = scratch.findings(environment: own, answers: answers("active"))
    #expect(!found.hasX && found.hasWayland && found.desktop == "KDE" && found.pinentry.path == "/opt/pinentry")
    // If the authenticator is not the user service, or systemd does not answer, the environment is that of this command.
    let running = DoctorFindings.Authenticator.running(DoctorChecksTests.status(), nil, nil)
    for found in [
      scratch.findings(running, environment: own, answers: answers("inactive")),
      scratch.findings(environment: own, isUserService: false, answers: answers("active")),
      scratch.findings(environment: own, answers: ["\(show).service": unit("active")]),
    ] {
      #expect(found.hasX && !found.hasWayland && found.desktop == "" && found.pinentry.path == nil)
    }
  }

  @Test func `the units are read before the question starts the service`() {
    var order: [String] = []
    let reader = FindingsReader(
      tree: SystemTree(root: scratch.root), home: "/", user: 1000, userName: "anna", isUserService: true, kernel: "",
      environment: { _ in nil },
      ask: { words in
        order.append(words.last ?? "")
        return .missing
      }, now: 0, isClockSynchronized: true, program: "/x")
    _ = reader.findings(
      {
        order.append("question")
        return .notRunning(Problem("x"))
      }, vault: VaultFinding(isThere: true), system: DoctorChecksTests.healthy.system)
    #expect(
      order.prefix(4)
        == ["liquid-authenticator.socket", "liquid-authenticator.service", "graphical-session.target", "question"])
  }

  @Test func `the limit of locked memory is that of the authenticator`() {
    let limits = { (soft: String, hard: String) in
      "Limit                     Soft Limit           Hard Limit           Units\n"
        + "Max locked memory         \(soft)                \(hard)              bytes\n"
    }
    scratch.put("/proc/self/limits", limits("unlimited", "unlimited"))
    #expect(scratch.findings().memory == .init(soft: nil, hard: nil, process: nil))
    let running = DoctorFindings.Authenticator.running(DoctorChecksTests.status(), nil, nil)
    #expect(scratch.findings(running).memory == nil)
    scratch.put("/proc/42/limits", limits("65536", "8388608"))
    scratch.put("/proc/42/comm", "another\n")
    #expect(scratch.findings(running).memory == nil, "the number of another program")
    scratch.put("/proc/42/comm", "liquid-authenti\n")
    #expect(scratch.findings(running).memory == .init(soft: 65_536, hard: 8_388_608, process: 42))
    for (soft, hard) in [("-1", "5"), ("many", "5"), ("5", "")] {
      scratch.put("/proc/42/limits", "Max locked memory \(soft) \(hard)\n")
      #expect(scratch.findings(running).memory == nil)
    }
  }

  @Test func `states of dpkg`() {
    let package = { (name: String, status: String) in "Package: \(name)\nStatus: \(status)\nVersion: 1\n\n" }
    scratch.put(
      "/var/lib/dpkg/status",
      package("a", "install ok installed") + package("b", "deinstall ok config-files")
        + package("c", "install reinstreq half-installed") + package("d", "install ok unpacked")
        + package("e", "cut") + "Status: install ok triggers-pending\n\u{0}")
    scratch.put("/var/lib/dpkg/updates/tmp.i", "")
    #expect(
      scratch.findings().packages
        == .init(
          broken: [
            .init(name: "c", state: "half-installed"), .init(name: "d", state: "unpacked"),
            .init(name: "e", state: "triggers-pending"),
          ], isInterrupted: false))
    scratch.put("/var/lib/dpkg/status", package("liquid-auth", "deinstall ok config-files"))
    #expect(!scratch.findings().isPackaged)
    for state in ["installed", "half-installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending"]
    {
      scratch.put("/var/lib/dpkg/status", package("liquid-auth", "install ok \(state)"))
      #expect(scratch.findings().isPackaged)
    }
    scratch.put("/var/lib/dpkg/updates/0001", "")
    #expect(scratch.findings().packages?.isInterrupted == true)
  }

  @Test func `the clock, and the file of this program`() {
    scratch.put("/usr/bin/liquid-auth", "")
    #expect(scratch.findings().clock.program != nil && !scratch.findings().clock.isSynchronized)
    #expect(scratch.findings(synchronized: true).clock.isSynchronized)
    scratch.put("/run/systemd/timesync/synchronized", "")
    #expect(scratch.findings().clock.isSynchronized)
  }

  @Test func `answers of systemctl, loginctl and busctl`() {
    let show = "show --property=LoadState,ActiveState,UnitFileState"
    let display = "loginctl show-user 1000 --property=Display --property=Sessions"
    let session =
      "loginctl show-session 7 --property=Active --property=Remote --property=Seat --property=LockedHint"
    let name = "org.freedesktop.Notifications"
    let capabilities =
      "busctl --user --auto-start=no --timeout=2 call \(name) /org/freedesktop/Notifications \(name) GetCapabilities"
    let found = scratch.findings(answers: [
      "systemctl \(show) liquid-auth-broker.socket":
        .ended(0, "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"),
      "systemctl --user \(show) liquid-authenticator.socket": .ended(0, "LoadState=loaded\n"),
      "systemctl --user \(show) liquid-authenticator.service": .ended(1, "Failed to connect\nx"),
      display: .ended(0, "Display=7\nSessions=9 7\n"),
      session: .ended(0, "Active=yes\nRemote=no\nSeat=seat0\nLockedHint=yes\n"),
      capabilities: .ended(0, "as 2 \"body\" \"actions\"\n"),
    ])
    #expect(found.brokerUnit == .known(DoctorChecksTests.unit))
    #expect(found.socketUnit == .unknown("systemctl did not give the state of liquid-authenticator.socket"))
    #expect(found.serviceUnit == .unknown("systemctl ended with status 1: Failed to connect"))
    #expect(found.session == .known(.init(id: "7", isActive: true, isRemote: false, isAtSeat: true, isLocked: true)))
    #expect(found.notifications == .known(["body", "actions"]))

    let other = scratch.findings(answers: [
      "systemctl \(show) liquid-auth-broker.socket": .tooSlow, display: .ended(0, "Display=\nSessions=\n"),
      capabilities: .ended(1, "Call failed: The name \(name) was not provided by any .service files\n"),
    ])
    #expect(other.brokerUnit == .unknown("systemctl did not answer in time"))
    #expect(other.session == .known(nil) && other.notifications == .known(nil))
    let absent = Tool.Result.ended(1, "Failed to get user: User ID 1000 is not logged in or lingering\n")
    #expect(scratch.findings(answers: [display: absent]).session == .known(nil))
    #expect(
      scratch.findings(answers: [display: .ended(0, "Display=\nSessions=7 9\n"), session: .failed("no memory")]).session
        == .unknown("loginctl did not start: no memory"))
    #expect(
      scratch.findings(answers: [display: .ended(0, "Display=7\n"), session: .ended(0, "")]).session
        == .unknown("loginctl did not give the state of the session"))
  }

  @Test func `the Bluetooth adapter, its switch, and BlueZ`() {
    #expect(scratch.findings().bluetooth == .init() && scratch.findings().bluetooth.condition == .absent)
    scratch.directory("/sys/class/bluetooth/hci0")
    scratch.directory("/sys/class/bluetooth/hci0:64")
    scratch.put("/sys/class/rfkill/rfkill0/name", "phy0\n")
    scratch.put("/sys/class/rfkill/rfkill0/soft", "1\n")
    scratch.put("/sys/class/rfkill/rfkill1/name", "hci0\n")
    scratch.put("/sys/class/rfkill/rfkill1/soft", "0\n")
    scratch.put("/sys/class/rfkill/rfkill1/hard", "0\n")
    let powered =
      "busctl --system --auto-start=no --timeout=2 get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered"
    let found = scratch.findings(answers: [
      powered: .ended(0, "b true\n"), "bluetoothctl --version": .ended(0, "bluetoothctl: 5.66\n"),
    ]).bluetooth
    #expect(found == .init(adapters: ["hci0"], isOn: .known(true), version: .known("5.66")))
    #expect(found.condition == .present)
    scratch.put("/sys/class/rfkill/rfkill1/hard", "1\n")
    let blocked = scratch.findings(answers: [powered: .ended(0, "b false\n")]).bluetooth
    #expect(blocked.isBlocked && blocked.condition == .blocked && blocked.isOn == .known(false))
    #expect(blocked.version == .unknown("bluetoothctl is not installed"))
  }

  @Test func `of several Bluetooth adapters, one that is not blocked counts`() {
    for (number, hard) in ["1\n", "0\n"].enumerated() {
      scratch.directory("/sys/class/bluetooth/hci\(number)")
      scratch.put("/sys/class/rfkill/rfkill\(number)/name", "hci\(number)\n")
      scratch.put("/sys/class/rfkill/rfkill\(number)/hard", hard)
    }
    let powered =
      "busctl --system --auto-start=no --timeout=2 get-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 Powered"
    let found = scratch.findings(answers: [powered: .ended(0, "b true\n")]).bluetooth
    #expect(found.adapters == ["hci1"] && found.isOn == .known(true) && found.condition == .present)
    scratch.put("/sys/class/rfkill/rfkill1/soft", "1\n")
    let blocked = scratch.findings().bluetooth
    #expect(blocked.adapters == ["hci0", "hci1"] && blocked.condition == .blocked)
  }

  @Test func `a switch that has taken the Bluetooth adapter away blocks it`() {
    for (number, type) in ["wlan\n", "bluetooth\n"].enumerated() {
      scratch.put("/sys/class/rfkill/rfkill\(number)/type", type)
      scratch.put("/sys/class/rfkill/rfkill\(number)/soft", number == 0 ? "1\n" : "0\n")
    }
    #expect(scratch.findings().bluetooth.condition == .absent)
    scratch.put("/sys/class/rfkill/rfkill1/soft", "1\n")
    #expect(scratch.findings().bluetooth == .init(isBlocked: true))
    #expect(scratch.findings().bluetooth.condition == .blocked)
  }

  @Test func `files that are no regular files, or too large, are not read`() {
    scratch.directory("/proc/modules")
    #expect(scratch.findings().driver == .absent)
    let tree = SystemTree(root: scratch.root)
    scratch.put("/large", [UInt8](repeating: 0x61, count: 17))
    #expect(tree.bytes("/large", atMost: 16) == nil && tree.bytes("/large", atMost: 17)?.count == 17)
    #expect(mkfifo(scratch.root + "/pipe", 0o600) == 0)
    #expect(tree.bytes("/pipe") == nil)
    scratch.put("/bytes", [0xFF, 0x0A, 0x61, 0x0D, 0x0A])
    #expect(tree.lines("/bytes") == ["\u{FFFD}", "a"])
  }
}
