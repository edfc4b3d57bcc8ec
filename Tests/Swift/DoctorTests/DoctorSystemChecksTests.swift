import CBOR
import ControlProtocol
import Testing

@testable import Doctor

/// The lines about browsers, the key's content and the system.
// Holds: DOCTOR-1
@Suite struct DoctorSystemChecksTests {
  typealias Findings = DoctorFindings

  private func lines(_ name: Check.Name, _ change: (inout Findings) -> Void) -> [String] {
    DoctorChecksTests.lines(name, change)
  }

  private func key(_ name: Check.Name, _ information: KeyInformation?, _ tries: TriesLeft? = nil) -> [String] {
    lines(name) { $0.authenticator = .running(DoctorChecksTests.status(), information, tries) }
  }

  @Test func `snap browsers`() {
    #expect(lines(.snapBrowser) { $0.snaps = [] } == ["ok|no browser is installed as a snap|-"])
    #expect(lines(.snapBrowser) { _ in } == ["ok|[firefox] it can open /dev/hidraw3|-"])
    #expect(
      lines(.snapBrowser) { $0.snaps[0].isConnected = false }
        == ["problem|[firefox] it cannot open security keys|sudo snap connect firefox:u2f-devices"])
    #expect(lines(.snapBrowser) { $0.nodes = [] } == ["note|[firefox] cannot be checked: there is no node|-"])
    #expect(
      lines(.snapBrowser) { $0.nodes[0].tags = ["snap_firefoxes_x"] } == [
        "problem|[firefox] udev has not given it access to /dev/hidraw3|"
          + "sudo udevadm trigger --action=add --settle /sys/class/hidraw/hidraw3"
      ])
    #expect(
      lines(.snapBrowser) { $0.snaps[0].name = "brave" }
        == ["problem|[brave] this snapd gives it no access to /dev/hidraw3|sudo snap refresh snapd"])
  }

  @Test func bluetooth() {
    let use = "only liquid-auth answer needs it"
    #expect(lines(.bluetooth) { _ in } == ["ok|hci0 is on, with BlueZ 5.66|-"])
    #expect(lines(.bluetooth) { $0.bluetooth.version = .unknown("x") } == ["ok|hci0 is on|-"])
    #expect(
      lines(.bluetooth) { $0.bluetooth.adapters = [] } == ["note|this machine has no Bluetooth adapter; \(use)|-"])
    let blocked = ["note|Bluetooth is blocked; \(use)|rfkill unblock bluetooth"]
    #expect(lines(.bluetooth) { $0.bluetooth.isBlocked = true } == blocked)
    #expect(lines(.bluetooth) { $0.bluetooth = .init(isBlocked: true) } == blocked)
    #expect(
      lines(.bluetooth) { $0.bluetooth.isOn = .known(false) } == ["note|hci0 is off; \(use)|bluetoothctl power on"])
    #expect(
      lines(.bluetooth) { $0.bluetooth.isOn = .unknown("busctl is not installed") }
        == ["note|bluetoothd cannot be asked about hci0: busctl is not installed; \(use)|-"])
  }

  @Test func `Flatpak browsers and applications`() {
    #expect(lines(.flatpakBrowser) { $0.flatpaks = [] } == ["ok|no browser is installed as a Flatpak|-"])
    #expect(lines(.flatpakBrowser) { _ in } == ["ok|[org.mozilla.firefox] it can open devices|-"])
    #expect(
      lines(.flatpakBrowser) { $0.flatpaks[0].hasAllDevices = false } == [
        "problem|[org.mozilla.firefox] it cannot open hidraw devices; the repair allows it all devices, from its next "
          + "start|flatpak override --user --device=all org.mozilla.firefox"
      ])
    #expect(
      lines(.applications) { _ in }
        == ["ok|programs that open hidraw devices, such as browsers and ssh, can use the key|-"])
    #expect(
      lines(.applications) {
        $0.flatpaks += ["b.B", "c.C"].map { .init(id: $0, isBrowser: false, hasAllDevices: false) }
      } == ["note|2 other Flatpak applications cannot open the key, for example b.B|-"])
    let snaps = "without a connection to u2f-devices, these snaps cannot open the key: bitwarden, enpass"
    #expect(lines(.applications) { $0.snapApplications = ["bitwarden", "enpass"] } == ["note|\(snaps)|-"])
    #expect(
      lines(.applications) {
        $0.flatpaks[0] = .init(id: "b.B", isBrowser: false, hasAllDevices: false)
        $0.snapApplications = ["bitwarden", "enpass"]
      } == ["note|the Flatpak application b.B cannot open the key; \(snaps)|-"])
    #expect(
      lines(.applications) { DoctorChecksTests.change(&$0) { $0.device.transport = "unix:/run/key.sock" } } == [
        "note|browsers cannot use this device: the authenticator uses unix:/run/key.sock; only programs that are given its "
          + "path can|-"
      ])
    #expect(lines(.applications) { $0.nodes = [] } == ["note|cannot be checked: there is no node|-"])
  }

  @Test func firefox() {
    #expect(lines(.firefox) { $0.firefoxProfiles = 0 } == ["ok|you have no profile of Firefox or LibreWolf|-"])
    #expect(lines(.firefox) { _ in } == ["ok|its preferences and policies allow security keys|-"])
    #expect(
      lines(.firefox) {
        $0.firefoxOff = [.init(files: ["/h/a b/prefs.js", "/h/user.js"], name: "security.webauthn.ctap2")]
      }
        == [
          "problem|[security.webauthn.ctap2] it is false in /h/a b/prefs.js and /h/user.js; close Firefox before you "
            + #"remove it|sed -i '/"security\.webauthn\.ctap2"/d' '/h/a b/prefs.js' /h/user.js"#
        ])
    let system = { (file: String) in
      lines(.firefox) { $0.firefoxOff = [.init(files: [file], name: "a.b", isSystem: true)] }
    }
    #expect(
      system("/etc/firefox/a.js") == [
        "problem|[a.b] it is false in /etc/firefox/a.js; close Firefox before you remove it|"
          + #"sudo sed -i '/"a\.b"/d' /etc/firefox/a.js"#
      ])
    #expect(
      system("/etc/firefox/policies/policies.json") == [
        "problem|[a.b] it is false in /etc/firefox/policies/policies.json, a policy of the administrator; remove it there|-"
      ])
  }

  @Test func vault() {
    let next = "the next request asks for the passphrase, unless another slot unlocks the vault"
    #expect(lines(.vault) { _ in } == ["ok|locked; \(next)|-"])
    let with = { (vault: AuthenticatorStatus.VaultCondition, problems: [Problem]) in
      lines(.vault) { DoctorChecksTests.change(&$0) { ($0.vault.condition, $0.problems) = (vault, problems) } }
    }
    #expect(with(.unlocked, []) == ["ok|unlocked|-"])
    #expect(with(.unusable, [Problem("it is damaged")]) == ["problem|it is damaged|-"])
    let damaged = Problem(
      "damaged vault: x",
      hint: "put a good copy in its place, or move it away and make a new vault from shares with "
        + "liquid-auth recover --shares, or from the phrase", with: ["liquid-auth", "init", "--import"], kind: .vault)
    let moving = "mv --no-clobber '/a b/vault' '/a b/vault.damaged' && liquid-auth init --import"
    #expect(
      lines(.vault) {
        $0.authenticator = .notRunning(Problem("x"))
        $0.vault = .init(isThere: true, problem: damaged, path: "/a b/vault")
      } == ["problem|\(damaged.text)|\(moving)"])
    let stop = "systemctl --user stop liquid-authenticator.socket liquid-authenticator.service"
    #expect(
      with(.unusable, [damaged]) == [
        "problem|\(damaged.text)|\(stop) && mv --no-clobber /s/vault /s/vault.damaged "
          + "&& liquid-auth init --import && systemctl --user start liquid-authenticator.socket"
      ])
    let missing = Problem(
      "there is no vault /s/vault", hint: "make one", with: ["liquid-auth", "setup"], kind: .vault)
    #expect(with(.missing, [missing]) == ["problem|\(missing.text)|\(stop) && liquid-auth setup"])
    #expect(
      lines(.vault) {
        DoctorChecksTests.change(&$0) { ($0.vault.condition, $0.problems) = (.missing, [missing]) }
        $0.isUserService = false
      } == [
        "problem|there is no vault /s/vault; stop the authenticator first, then make one with: liquid-auth setup|-"
      ])
    // systemd cannot stop an authenticator that was started by hand, or that may run without an answer.
    let units: [(inout DoctorFindings) -> Void] = [
      { $0.isUserService = false }, { $0.serviceUnit = .known(.init(load: "not-found", active: "", file: "")) },
      {
        $0.socketUnit = .known(.init(load: "loaded", active: "inactive", file: "enabled"))
        $0.serviceUnit = $0.socketUnit
      },
    ]
    let stopping =
      "damaged vault: x; stop the authenticator first, then put a good copy in its place, or move it away and make a "
      + "new vault from shares with liquid-auth recover --shares, or from the phrase with: liquid-auth init --import"
    for work in units {
      for name: Check.Name in [.vault, .authenticator] {
        #expect(
          lines(name) {
            DoctorChecksTests.change(&$0) { ($0.vault.condition, $0.problems) = (.unusable, [damaged]) }
            work(&$0)
          } == ["problem|\(stopping)|-"])
      }
      #expect(
        lines(.vault) {
          ($0.authenticator, $0.vault) = (.unknown("x"), .init(isThere: true, problem: damaged, path: "/a b/vault"))
          work(&$0)
        } == ["problem|\(stopping)|-"])
    }
    // There is no file to move.
    let gone = Problem(
      "its store is there", hint: "make a new one from shares with liquid-auth recover --shares, or from the phrase",
      with: ["liquid-auth", "init", "--import"], kind: .vault)
    #expect(
      with(.missing, [gone]) == [
        "problem|\(gone.text)|\(stop) && liquid-auth init --import "
          + "&& systemctl --user start liquid-authenticator.socket"
      ])
    let lost = Problem(
      "the store is missing", hint: "put it back, or make an empty one",
      with: ["liquid-auth", "recover", "--new-store"])
    #expect(with(.unusable, [lost]) == ["problem|\(lost.text)|liquid-auth recover --new-store"])
    let foreign = Problem(
      "the store is damaged", hint: "move it away and run:", run: ["liquid-auth", "recover", "--new-store"],
      kind: .prepared)
    #expect(with(.unusable, [foreign]) == ["problem|\(foreign.text)|-"])
    #expect(with(.unusable, []) == ["problem|it cannot be used|-"])
    #expect(
      lines(.vault) { DoctorChecksTests.change(&$0) { $0.vault.lockReason = "before a suspend" } }
        == ["ok|locked before a suspend; \(next)|-"])
    for (found, line) in [
      (VaultFinding(isThere: true), "ok|there is one, and no authenticator uses it|-"),
      (VaultFinding(isThere: false, problem: Problem("x")), "problem|there is no vault|liquid-auth setup"),
      (VaultFinding(isThere: true, problem: Problem("it is open to others")), "problem|it is open to others|-"),
      (VaultFinding(isThere: nil, problem: Problem("cannot open it")), "problem|cannot open it|-"),
      (
        VaultFinding(
          isThere: true,
          problem: Problem(
            "others can read it", hint: "restrict access with: chmod 600 '/a b'",
            remedy: Remedy(["chmod", "600", "/a b"]))),
        "problem|others can read it; restrict access with: chmod 600 '/a b'|chmod 600 '/a b'"
      ),
    ] {
      #expect(lines(.vault) { ($0.authenticator, $0.vault) = (.unknown("x"), found) } == [line])
    }
  }

  @Test func `verification and U2F`() {
    let with = DoctorChecksTests.information
    let tries = TriesLeft(pin: 8, needsReplug: false)
    let none = ["note|cannot be checked: the authenticator gives no information|-"]
    #expect(key(.verification, nil) == none && key(.u2f, nil) == none)
    #expect(key(.verification, with(false, false, true, false)) == ["ok|by passphrase|-"])
    #expect(key(.verification, with(true, false, true, false), tries) == ["ok|by passphrase or PIN|-"])
    #expect(key(.verification, with(true, false, false, false), tries) == ["ok|by PIN|-"])
    #expect(
      lines(.verification) { DoctorChecksTests.change(&$0) { $0.verification = ["pam", "passphrase"] } }
        == ["ok|by pam, passphrase|-"])
    #expect(
      key(.verification, with(false, false, false, false))
        == ["note|nothing verifies you, so sites that require verification refuse the key|liquid-auth pin set"])
    #expect(
      key(.verification, with(true, false, true, false), TriesLeft(pin: 0, needsReplug: true))
        == [
          "problem|the PIN is blocked; to see why, wait until the present request ends, then run: liquid-auth status|-"
        ]
    )
    for (problem, remedy) in [
      (
        Problem("it is blocked", hint: "set another", with: ["liquid-auth", "pin", "change"]), "liquid-auth pin change"
      ),
      (Problem("the PIN is blocked, because the store may be an old copy: see liquid-auth-vault(1)"), "-"),
      (OwnerSettings.pinMustBeChanged, "liquid-auth pin change"),
    ] {
      for information in [with(true, false, true, false), nil] {
        let work = { (findings: inout DoctorFindings) in
          findings.authenticator = .running(
            DoctorChecksTests.status(), information, TriesLeft(pin: 0, needsReplug: false))
          DoctorChecksTests.change(&findings) {
            $0.problems = [Problem("the clock is wrong"), problem]
            $0.problems[1].kind = .pin
          }
        }
        #expect(lines(.verification, work) == ["problem|\(problem.text)|\(remedy)"])
        #expect(
          lines(.authenticator, work) == ["problem|the clock is wrong|\(DoctorChecksTests.restart)"],
          "the line about verification has the problem of the PIN")
      }
    }
    #expect(
      key(.verification, with(true, false, true, false), TriesLeft(pin: 5, needsReplug: true)) == [
        "problem|three wrong PINs in a row: the PIN can be tried again after a power cycle|"
          + "liquid-auth device replug --power-cycle"
      ])
    #expect(
      key(.verification, with(true, false, true, true), tries)
        == [
          "problem|the PIN must be changed before its next use; change it with: liquid-auth pin change|liquid-auth pin change"
        ])
    #expect(
      key(.verification, with(true, false, true, false))
        == ["note|the tries of the PIN cannot be checked: the authenticator does not give them|-"])
    #expect(key(.u2f, with(false, false, true, false)) == ["ok|on, beside FIDO2|-"])
    #expect(
      key(.u2f, with(false, true, true, false)) == [
        "note|off while always-uv is on: sites that know only U2F do not work|liquid-auth config always-uv off"
      ])
    #expect(
      lines(.backup) { _ in } == [
        "note|passkeys come back from the phrase and a backup; check it before you need it: man liquid-auth-backup|-"
      ])
  }

  @Test func `PRF and the backup flags`() {
    let with = { (extensions: [String]) in KeyInformation([2: .array(extensions.map { .text($0) })]) }
    #expect(key(.prf, nil) == ["note|cannot be checked: the authenticator gives no information|-"])
    #expect(
      key(.prf, with(["credProtect", "hmac-secret", "hmac-secret-mc"])) == [
        "ok|Chromium uses it at registration (hmac-secret-mc), and Firefox at sign-in (hmac-secret)|-"
      ])
    #expect(
      key(.prf, with(["hmac-secret"])) == [
        "note|it works at sign-in (hmac-secret), but not at registration (hmac-secret-mc), where Chromium uses it|-"
      ])
    #expect(
      key(.prf, with([])) == [
        "problem|the authenticator does not have hmac-secret, so sites get no PRF; install its newest version|-"
      ])
    #expect(
      lines(.backupFlags) { _ in } == [
        "note|each passkey reports that it can be backed up and is backed up (BE and BS), and this never changes: a site "
          + "that requires a single-device passkey may refuse it|-"
      ])
  }

  // Holds: PERSON-13
  @Test func `a prompt that answers by itself`() {
    let found = lines(.pinentry) {
      DoctorChecksTests.change(&$0) {
        $0.prompts = PromptReport(.askpass, program: "/bin/true")
        $0.prompts.answerByThemselves = true
      }
    }
    #expect(
      found == [
        "note|prompts: askpass (/bin/true); the last three were answered faster than a person can read: check the "
          + "program of --askpass or --pinentry|-"
      ])
  }

  @Test func pinentry() {
    #expect(lines(.pinentry) { _ in } == ["ok|/usr/bin/pinentry (pinentry-gnome3)|-"])
    #expect(
      lines(.pinentry) { DoctorChecksTests.change(&$0) { $0.prompts = PromptReport(.terminal) } }
        == ["ok|not used: prompts are on the authenticator's terminal|-"])
    for (fault, text) in [(nil, "auto: askpass (a), terminal"), ("no", "auto: terminal")] as [(String?, String)] {
      let prompts = PromptReport(
        choice: "auto", [.init(.askpass, program: "a", fault: fault), .init(.terminal)])
      #expect(
        lines(.pinentry) { DoctorChecksTests.change(&$0) { $0.prompts = prompts } }
          == ["ok|not used; prompts: \(text)|-"])
    }
    for (desktop, package) in [("GNOME", "pinentry-gnome3"), ("KDE", "pinentry-qt")] {
      #expect(
        lines(.pinentry) { ($0.pinentry.path, $0.desktop) = (nil, desktop) } == [
          "problem|pinentry is not installed: no prompt can be shown|sudo apt-get install \(package)"
        ])
    }
    for target in ["pinentry-curses", "pinentry-tty"] {
      #expect(
        lines(.pinentry) { $0.pinentry.target = target } == [
          "problem|/usr/bin/pinentry is \(target), which has no window|sudo apt-get install pinentry-gnome3"
        ])
      #expect(
        lines(.pinentry) { ($0.pinentry.target, $0.hasX, $0.hasWayland) = (target, false, false) }
          == ["ok|/usr/bin/pinentry (\(target))|-"])
    }
  }

  @Test func `GNOME's pinentry without GNOME's prompter`() {
    let with = { (prompter: Asked<String?>, others: [String]) in
      lines(.pinentry) {
        ($0.prompter, $0.pinentry.others, $0.pinentry.hasAlternatives) = (prompter, others, true)
      }
    }
    let ok = ["ok|/usr/bin/pinentry (pinentry-gnome3)|-"]
    #expect(with(.known(nil), []) == ok && with(.unknown("busctl is not installed"), []) == ok)
    let problem = { (reason: String) in
      "problem|/usr/bin/pinentry (pinentry-gnome3) shows dialogs through GNOME's prompter on the session bus, which "
        + "does not answer: \(reason)|"
    }
    let update =
      "dbus-update-activation-environment --systemd DISPLAY WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS"
    let restart = " && systemctl --user restart liquid-authenticator.service"
    for reason in ["DBUS_SESSION_BUS_ADDRESS is not set", "Call failed: it exited with status 1"] {
      #expect(with(.known(reason), ["/usr/bin/pinentry-qt"]) == [problem(reason) + update + restart])
    }
    let missing = "Call failed: The name org.gnome.keyring.SystemPrompter was not provided by any .service files"
    #expect(
      with(.known(missing), ["/usr/bin/pinentry-gnome3", "/usr/bin/pinentry-qt"])
        == [problem(missing) + "sudo update-alternatives --set pinentry /usr/bin/pinentry-qt"])
    #expect(
      with(.known(missing), ["/usr/bin/pinentry-gnome3"]) == [problem(missing) + "sudo apt-get install pinentry-qt"])
  }

  @Test func `a pinentry without a display and without a terminal`() {
    let note =
      "note|/usr/bin/pinentry (pinentry-curses) may be unable to show a dialog: it needs a display, or a terminal in "
      + "GPG_TTY|-"
    #expect(
      lines(.pinentry) {
        ($0.pinentry.target, $0.hasX, $0.hasWayland) = ("pinentry-curses", false, false)
        $0.authenticator = .notRunning(Problem("nothing listens"))
      } == [note])
    #expect(
      lines(.pinentry) {
        ($0.pinentry.target, $0.hasX, $0.hasWayland) = ("pinentry-curses", false, false)
        DoctorChecksTests.change(&$0) {
          $0.problems = [Problem("no display", kind: .noDisplay)]
        }
      } == [note])
  }

  @Test func `a pinentry of X on Wayland, and one that is installed already`() {
    let with = { (target: String, x: Bool, others: [String]) in
      lines(.pinentry) {
        ($0.pinentry.target, $0.hasX, $0.hasWayland) = (target, x, true)
        ($0.pinentry.others, $0.pinentry.hasAlternatives) = (others, true)
      }
    }
    for target in ["pinentry-gtk-2", "pinentry-fltk"] {
      #expect(with(target, true, []) == ["ok|/usr/bin/pinentry (\(target))|-"])
      #expect(
        with(target, false, []) == [
          "problem|/usr/bin/pinentry is \(target), which needs an X display, and there is only Wayland|"
            + "sudo apt-get install pinentry-gnome3"
        ])
    }
    let curses = "problem|/usr/bin/pinentry is pinentry-curses, which has no window|"
    #expect(
      with("pinentry-curses", false, ["/usr/bin/pinentry-gtk-2", "/usr/bin/pinentry-qt"])
        == [curses + "sudo update-alternatives --set pinentry /usr/bin/pinentry-qt"])
    #expect(
      with("pinentry-curses", true, ["/usr/bin/pinentry-gtk-2"])
        == [curses + "sudo update-alternatives --set pinentry /usr/bin/pinentry-gtk-2"])
    #expect(
      with("pinentry-curses", false, ["/usr/bin/pinentry-gtk-2"]) == [curses + "sudo apt-get install pinentry-gnome3"])
    #expect(
      lines(.pinentry) {
        ($0.pinentry.target, $0.pinentry.others) = ("pinentry-curses", ["/usr/bin/pinentry-qt"])
        $0.packageManager = .pacman
      } == [curses + "sudo pacman -S pinentry"])
    #expect(
      lines(.pinentry) { ($0.pinentry.target, $0.packageManager) = ("pinentry-curses", nil) } == [
        "problem|/usr/bin/pinentry is pinentry-curses, which has no window; install the package that Debian calls "
          + "pinentry-gnome3|-"
      ])
  }

  @Test func `notification daemon`() {
    let unused = "prompts do not need it; they use pinentry (pinentry)"
    let with = { (found: Asked<[String]?>) in lines(.notificationDaemon) { $0.notifications = found } }
    #expect(with(.known(["body", "actions"])) == ["ok|it runs, and has actions; \(unused)|-"])
    #expect(with(.known(["body"])) == ["note|it has no actions; \(unused)|-"])
    #expect(with(.known(nil)) == ["note|none runs; \(unused)|-"])
    #expect(with(.unknown("no busctl")) == ["note|cannot be checked: no busctl; \(unused)|-"])
    let auto = { (fault: String?, found: Asked<[String]?>) in
      lines(.notificationDaemon) {
        $0.notifications = found
        DoctorChecksTests.change(&$0) {
          $0.prompts = PromptReport(
            choice: "auto", [.init(.notifications, fault: fault), .init(.pinentry, program: "pinentry")])
        }
      }
    }
    #expect(auto(nil, .known(["actions"])) == ["ok|it runs, and has actions; it asks for presence|-"])
    let without = ", so notifications cannot be shown; the next kind of prompt asks for presence|-"
    #expect(auto(nil, .known(nil)) == ["note|none runs\(without)"])
    #expect(auto(nil, .known([])) == ["note|it has no actions\(without)"])
    let failed = "prompts do not need it, and could not use it: why|-"
    #expect(auto("why", .known(["body"])) == ["note|it has no actions; \(failed)"])
    #expect(auto("why", .known(["actions"])) == ["ok|it runs, and has actions; \(failed)"])
    #expect(
      lines(.notificationDaemon) { ($0.notifications, $0.authenticator) = (.known(nil), .unknown("why")) }
        == ["note|none runs; prompts do not need it|-"])
  }

  @Test func `session and screen lock`() {
    let session = { (active: Bool, remote: Bool, seat: Bool, locked: Bool) in
      Asked<Findings.Session?>.known(
        .init(id: "c 7", isActive: active, isRemote: remote, isAtSeat: seat, isLocked: locked))
    }
    let with = { (name: Check.Name, found: Asked<Findings.Session?>) in lines(name) { $0.session = found } }
    #expect(with(.session, session(true, false, true, false)) == ["ok|in the foreground of its seat|-"])
    #expect(
      with(.session, session(false, false, true, false))
        == ["note|it is in the background: the device is detached until it is in the foreground|-"])
    let away =
      "problem|your session is not at this machine: the broker makes a key for a user who sits there; log in there|-"
    #expect(with(.session, session(true, true, true, false)) == [away])
    #expect(with(.session, session(true, false, false, false)) == [away])
    #expect(
      with(.session, .known(nil))
        == ["problem|you have no session: the broker makes a key for a user at this machine; log in there|-"])
    #expect(
      lines(.session) { findings in
        DoctorChecksTests.change(&findings) { $0.device.transport = "uhid" }
        findings.session = .known(nil)
      } == ["note|not needed with --transport uhid|-"])
    #expect(with(.session, .unknown("x")) == ["note|cannot be checked: x|-"])
    #expect(with(.screenLock, session(true, false, true, false)) == ["ok|the session does not report a lock|-"])
    #expect(
      with(.screenLock, session(true, false, true, true))
        == ["note|the screen is locked, and hides prompts|loginctl unlock-session 'c 7'"])
    #expect(with(.screenLock, .known(nil)) == ["note|you have no session|-"])
    #expect(with(.screenLock, .unknown("x")) == ["note|cannot be checked: x|-"])
    #expect(
      lines(.session) { ($0.session, $0.hasSystemd) = (.unknown("x"), false) } == ["note|not used without systemd|-"])
    #expect(
      lines(.screenLock) { ($0.session, $0.hasSystemd) = (.unknown("x"), false) }
        == ["note|cannot be checked without systemd|-"])
  }

  @Test func memlock() {
    let with = { (soft: UInt64?, hard: UInt64?, process: Int32?) in
      lines(.memlock) { $0.memory = .init(soft: soft, hard: hard, process: process) }
    }
    #expect(with(1 << 20, 1 << 20, 42) == ["ok|the authenticator's limit is 1024 KiB|-"])
    #expect(with(nil, nil, nil) == ["ok|your limit is unlimited|-"])
    let text =
      "problem|the authenticator's limit of locked memory is 64 KiB, and secrets need 1024 KiB; the repair lasts "
      + "until its next start: for later ones, set LimitMEMLOCK= in its unit or use ulimit -l|"
    for hard in [nil, 1 << 20] as [UInt64?] {
      #expect(with(65_536, hard, 42) == [text + "*prlimit --pid 42 --memlock=1048576:"])
    }
    #expect(with(65_536, 65_536, 42) == [text + "sudo prlimit --pid 42 --memlock=1048576:1048576"])
    #expect(
      with(65_536, nil, nil) == [
        "note|your limit of locked memory is 64 KiB, and secrets need 1024 KiB; the user service has a limit of its own "
          + "(LimitMEMLOCK=)|-"
      ])
    #expect(
      lines(.memlock) { ($0.memory, $0.isUserService) = (.init(soft: 65_536, hard: nil, process: nil), false) } == [
        "problem|your limit of locked memory is 64 KiB, and secrets need 1024 KiB; raise it where you start the "
          + "authenticator|ulimit -l 1024"
      ])
    #expect(lines(.memlock) { $0.memory = nil } == ["note|cannot be checked: there is no limit in /proc|-"])
  }

  @Test func clock() {
    let remedy = "sudo timedatectl set-ntp true"
    #expect(lines(.clock) { _ in } == ["ok|synchronized, 2027-01-15|-"])
    #expect(
      lines(.clock) { $0.clock.now = 0 }
        == ["problem|it shows 1970-01-01, but this program was built on 2023-11-14|\(remedy)"])
    #expect(
      lines(.clock) { ($0.clock.program, $0.clock.isSynchronized) = (nil, false) }
        == ["note|it is not synchronized over the network|\(remedy)"])
    #expect(
      lines(.clock) { ($0.clock.isSynchronized, $0.hasSystemd) = (false, false) }
        == ["note|it is not synchronized over the network|-"])
  }

  @Test func packages() {
    let configure = "sudo dpkg --configure -a"
    #expect(lines(.packages) { _ in } == ["ok|dpkg has finished all of them|-"])
    #expect(lines(.packages) { $0.packages = nil } == ["note|cannot be checked: there is no database of dpkg|-"])
    #expect(
      lines(.packages) {
        $0.packages = .init(
          broken: [.init(name: "a", state: "half-installed"), .init(name: "b", state: "half-configured")],
          isInterrupted: true)
      } == [
        "problem|dpkg was interrupted|\(configure)",
        "problem|[a] it is half-installed|sudo apt-get install --reinstall a",
        "problem|[b] it is half-configured|\(configure)",
      ])
  }
}
