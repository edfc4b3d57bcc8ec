import CBOR
import ControlProtocol
import Testing
import UHID

@testable import Doctor

/// Each line of `liquid-auth doctor`, ok and broken.
// Holds: DOCTOR-1
@Suite struct DoctorChecksTests {
  typealias Findings = DoctorFindings

  static let unit = Findings.Unit(load: "loaded", active: "active", file: "enabled")
  static let ours = Findings.Node(
    name: "hidraw3", product: "Liquid Auth", place: "liquid-auth-broker", serial: "1000",
    descriptor: UHIDIdentity.reportDescriptor, isOpenable: true, access: .init(mode: 0o600, owner: 1000, group: 0),
    properties: ["ID_FIDO_TOKEN": "1"], tags: ["security-device", "snap_firefox_firefox"])

  static func status(
    vault: AuthenticatorStatus.VaultCondition = .locked, transport: String = "broker"
  ) -> AuthenticatorStatus {
    AuthenticatorStatus(
      processID: 42, stateDirectory: "/s", verification: ["passphrase"], vault: .init(vault),
      device: .init(transport: transport, attached: true, node: "/dev/hidraw3", access: "you"),
      prompts: PromptReport(.pinentry, program: "pinentry"))
  }

  static func information(pin: Bool = false, alwaysUV: Bool = false, uv: Bool = true, change: Bool = false)
    -> KeyInformation
  {
    KeyInformation([
      2: .array(["hmac-secret", "hmac-secret-mc"]),
      4: .map(["clientPin": .bool(pin), "alwaysUv": .bool(alwaysUV), "uv": .bool(uv)]), 12: .bool(change),
    ])
  }

  static var healthy: Findings {
    Findings(
      user: 1000, isSudo: false,
      authenticator: .running(status(), information(), TriesLeft(pin: 8, needsReplug: false)),
      vault: VaultFinding(isThere: true), hasSystemd: true,
      system: .init(uhid: .usable, groupExists: true, isMember: false, sessionHasGroup: false), isUserService: true,
      socketUnit: .known(unit), serviceUnit: .known(unit), sessionUnit: .known(unit), driver: .loaded,
      brokerUnit: .known(unit), hasBrokerSocket: true,
      rule: .present("/etc/udev/rules.d/71-liquid-auth.rules"), otherRules: [],
      uhid: .init(mode: 0o660, owner: 0, group: 998), groupName: "liquid-auth-broker", group: 998, member: nil,
      hasFIDORule: true, nodes: [ours], snaps: [.init(name: "firefox", isConnected: true)], snapApplications: [],
      flatpaks: [.init(id: "org.mozilla.firefox", isBrowser: true, hasAllDevices: true)], firefoxProfiles: 1,
      firefoxOff: [], pinentry: .init(program: "pinentry", path: "/usr/bin/pinentry", target: "pinentry-gnome3"),
      hasX: true, hasWayland: true, desktop: "GNOME", notifications: .known(["actions"]),
      session: .known(.init(id: "7", isActive: true, isRemote: false, isAtSeat: true, isLocked: false)),
      memory: .init(soft: 8 << 20, hard: 8 << 20, process: 42),
      clock: .init(now: 1_800_000_000, program: 1_700_000_000, isSynchronized: true), packages: .init(),
      packageManager: .apt, isPackaged: false,
      bluetooth: .init(adapters: ["hci0"], isOn: .known(true), version: .known("5.66")))
  }

  /// The lines of one name after a change to the healthy findings: `state|explanation|remedy`, `*` for a safe one.
  static func lines(_ name: Check.Name, _ change: (inout Findings) -> Void) -> [String] {
    var findings = healthy
    change(&findings)
    return findings.checks.filter { $0.name == name }.map { check in
      let remedy = check.remedy.map { ($0.isSafe ? "*" : "") + $0.text } ?? "-"
      return "\(check.state.rawValue)|\(check.subject.map { "[\($0)] " } ?? "")\(check.explanation)|\(remedy)"
    }
  }

  static func change(_ findings: inout Findings, _ work: (inout AuthenticatorStatus) -> Void) {
    guard case .running(var status, let information, let tries) = findings.authenticator else { return }
    work(&status)
    findings.authenticator = .running(status, information, tries)
  }

  @Test func `a healthy system has no problem, a line of every name, and two notes`() {
    let checks = Self.healthy.checks
    #expect(checks.map(\.name) == Check.Name.allCases)
    #expect(checks.filter { $0.state != .ok }.map(\.name) == [.backup, .backupFlags])
    #expect(!checks.contains { $0.state == .problem })
  }

  private static let enable =
    "systemctl --user enable --now liquid-authenticator.socket liquid-authenticator.service"
  static let restart = "*systemctl --user restart liquid-authenticator.service"

  /// Nothing ran before the question, and systemd did not start it.
  private static func stop(_ findings: inout Findings) {
    findings.authenticator = .notRunning(Problem("x"))
    findings.serviceUnit = .known(.init(load: "loaded", active: "inactive", file: "enabled"))
  }

  @Test func authenticator() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.authenticator, work) }
    #expect(lines { _ in } == ["ok|it answers as process 42|-"])
    let detached = "it answers as process 42; its device is detached"
    for (transport, line) in [
      ("broker", "ok|\(detached)|-"), ("pty", "problem|\(detached)|liquid-auth device attach"),
    ] {
      #expect(
        lines {
          Self.change(&$0) { ($0.device.attached, $0.device.transport) = (false, transport) }
        } == [line])
    }
    #expect(
      lines { $0.authenticator = .notRunning(Problem("nothing listens")) }
        == ["problem|nothing listens|*\(Self.enable)"])
    for work: (inout Findings) -> Void in [
      { $0.socketUnit = .unknown("x") }, { $0.serviceUnit = .known(.init(load: "not-found", active: "", file: "")) },
      { $0.isUserService = false },
    ] {
      #expect(
        lines {
          $0.authenticator = .notRunning(Problem("nothing listens"))
          work(&$0)
        } == ["problem|nothing listens|liquid-authenticator"])
    }
    for name in [Check.Name.authenticator, .node] {
      let reason =
        name == .node
        ? "there is no device, because the authenticator is not running"
        : "the authenticator is not running, because there is no vault"
      #expect(
        Self.lines(name) {
          ($0.authenticator, $0.vault) = (.notRunning(Problem("nothing listens")), VaultFinding(isThere: false))
        }
          == ["problem|\(reason)|liquid-auth setup"])
    }
    // The vault's line has the repair.
    let damaged = VaultFinding(
      isThere: true,
      problem: Problem("it is damaged", hint: "make it again", with: ["liquid-auth", "setup"], kind: .vault))
    for (name, line) in [
      (Check.Name.authenticator, "the authenticator is not running, because the vault cannot be used|-"),
      (.node, "there is no device, because the authenticator is not running|-"),
      (.vault, "it is damaged; make it again with: liquid-auth setup|liquid-auth setup"),
    ] {
      #expect(
        Self.lines(name) { ($0.authenticator, $0.vault) = (.notRunning(Problem("nothing listens")), damaged) }
          == ["problem|\(line)"])
    }
    let withoutUHID = { (findings: inout Findings) in
      findings.authenticator = .notRunning(
        Problem("it is not running", hint: "start it", with: ["liquid-authenticator", "--transport", "pty"]))
      (findings.isUserService, findings.system.uhid) = (false, .absent)
    }
    let start = "liquid-authenticator --transport pty"
    #expect(lines(withoutUHID) == ["problem|it is not running; start it with: \(start)|\(start)"])
    let node =
      "problem|there is no device, because the authenticator is not running; while /dev/uhid cannot be used, --transport "
      + "pty makes one for programs other than browsers|"
    #expect(Self.lines(.node, withoutUHID) == [node + "-"])
    #expect(
      Self.lines(.node) {
        withoutUHID(&$0)
        $0.vault = VaultFinding(isThere: false)
      } == [node + "liquid-auth setup"])
    #expect(lines { $0.authenticator = .unknown("no answer") } == ["problem|no answer|\(Self.restart)"])
    #expect(
      lines { ($0.authenticator, $0.isUserService) = (.unknown("no answer"), false) } == ["problem|no answer|-"])
  }

  @Test func `problems of the authenticator have a command`() {
    let lines = { (problems: [Problem], work: (inout Findings) -> Void) in
      Self.lines(.authenticator) {
        Self.change(&$0) { $0.problems = problems }
        work(&$0)
      }
    }
    #expect(lines([Problem("a"), Problem("b")]) { _ in } == ["problem|a; also: b|\(Self.restart)"])
    let unset = Problem("nothing verifies you", hint: "set a PIN", with: ["liquid-auth", "pin", "set"])
    #expect(
      lines([Problem("a"), unset]) { _ in }
        == ["problem|a; also: nothing verifies you; set a PIN with: liquid-auth pin set|liquid-auth pin set"])
    #expect(
      lines([unset, Problem("a")]) { $0.options = " --state-dir /s" } == [
        "problem|nothing verifies you; set a PIN with: liquid-auth pin set --state-dir /s; also: a|liquid-auth pin set"
      ])
    // Only kind and remedy count, whatever the words are.
    #expect(
      lines([Problem("set a PIN with: liquid-auth pin set")]) { _ in }
        == ["problem|set a PIN with: liquid-auth pin set|\(Self.restart)"])
    let old = Problem(
      "the store is an old copy", hint: "accept this copy", with: ["liquid-auth", "vault", "counter", "accept"],
      kind: .counter)
    #expect(
      lines([old]) { _ in } == ["problem|\(old.text)|man liquid-auth-vault"], "that is the owner's choice")
    // A restart does not help without a display, or with a damaged vault or broker; and systemd can only restart its
    // service.
    for work: (inout Findings) -> Void in [
      { ($0.hasX, $0.hasWayland) = (false, false) }, { Self.change(&$0) { $0.vault.condition = .unusable } },
      { Self.change(&$0) { $0.device.attached = false } }, { $0.isUserService = false },
      {
        $0.socketUnit = .known(.init(load: "loaded", active: "inactive", file: "enabled"))
        $0.serviceUnit = $0.socketUnit
      },
    ] {
      #expect(lines([Problem("a")], work) == ["problem|a|-"])
    }
    // It locks the vault and withdraws a prompt, so --fix leaves it to the person.
    let unlocked = lines([Problem("a")]) { Self.change(&$0) { $0.vault.condition = .unlocked } }
    #expect(unlocked == ["problem|a|systemctl --user restart liquid-authenticator.service"])
  }

  // Holds: DOCTOR-5
  @Test func `whatever the authenticator says, --fix runs none of its words`() throws {
    let words = "$(touch /x)"
    let remedy = Remedy([words, words], isSafe: true)
    let problems =
      Problem.Kind.allCases.map { Problem(words, hint: words, remedy: remedy, kind: $0) } + [Problem(words)]
    var safe: Set<[String]> = []
    for vault in AuthenticatorStatus.VaultCondition.allCases {
      for problem in problems {
        for transport in ["broker", words] {
          let prompts = PromptReport(choice: words, [.init(.pinentry, program: words, fault: words)])
          let status = AuthenticatorStatus(
            processID: 42, stateDirectory: words, problems: [problem], verification: [words],
            vault: .init(vault, lockReason: words, unlockedBy: words),
            device: .init(
              transport: transport, attached: true, node: words, access: words, steppedAsideFor: words),
            prompts: prompts)
          var findings = Self.healthy
          // As it comes from the socket.
          findings.authenticator = .running(
            try AuthenticatorStatus(status.members), Self.information(pin: true), TriesLeft(pin: 0, needsReplug: true))
          findings.memory = .init(soft: 65_536, hard: nil, process: 42)
          safe.formUnion(findings.checks.compactMap(\.remedy).filter(\.isSafe).flatMap(\.commands))
        }
      }
    }
    let own: Set = [
      ["systemctl", "--user", "restart", "liquid-authenticator.service"],
      ["prlimit", "--pid", "42", "--memlock=1048576:"],
    ]
    #expect(safe == own)
  }

  @Test func `a prompt that waits is named, with the place to look for it`() {
    let lines = { (work: (inout AuthenticatorStatus) -> Void) in
      Self.lines(.authenticator) {
        Self.change(&$0) {
          work(&$0)
          $0.prompts.isWaiting = true
        }
      }
    }
    let text = "a prompt waits for you (pinentry (pinentry)); it can be behind another window"
    #expect(lines { _ in } == ["note|\(text)|-"])
    #expect(
      lines { $0.prompts = PromptReport(.terminal) } == [
        "note|a prompt waits for you on the authenticator's terminal|-"
      ])
    #expect(
      lines { $0.problems = [Problem("a")] } == [
        "problem|a; also: \(text)|systemctl --user restart liquid-authenticator.service"
      ])
  }

  @Test func service() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.service, work) }
    let unit = { (active: String, file: String) in
      Asked.known(Findings.Unit(load: "loaded", active: active, file: file))
    }
    let start = "so the key does not start with your"
    #expect(lines { _ in } == ["ok|it starts with your session|-"])
    #expect(
      lines { ($0.hasSystemd, $0.socketUnit) = (false, .unknown("x")) }
        == ["note|not used without systemd: start the authenticator by hand after each login|-"])
    for work: (inout Findings) -> Void in [
      { $0.socketUnit = .unknown("systemctl is not installed") },
      { $0.serviceUnit = .unknown("systemctl is not installed") },
    ] {
      #expect(lines(work) == ["note|cannot be checked: systemctl is not installed|-"])
    }
    #expect(
      lines { $0.isUserService = false } == [
        "note|not used: it has the default directory and socket, and this authenticator has others|-"
      ])
    #expect(
      lines { $0.serviceUnit = unit("failed", "enabled") } == [
        "note|liquid-authenticator.service had failed, and this command started it again|"
          + "journalctl --user --unit liquid-authenticator.service"
      ])
    #expect(
      lines { ($0.serviceUnit, $0.authenticator) = (unit("failed", "enabled"), .notRunning(Problem("x"))) } == [
        "problem|liquid-authenticator.service has failed|*systemctl --user reset-failed liquid-authenticator.service "
          + "&& systemctl --user restart liquid-authenticator.socket"
      ])
    #expect(
      lines { $0.socketUnit = .known(.init(load: "not-found", active: "inactive", file: "")) }
        == ["note|the user service is not installed: start the authenticator by hand after each login|-"])
    let masked = Asked.known(Findings.Unit(load: "masked", active: "inactive", file: "masked"))
    for work: (inout Findings) -> Void in [{ $0.socketUnit = masked }, { $0.serviceUnit = masked }] {
      #expect(
        lines(work) == [
          "problem|the user service is masked, so nothing starts it|systemctl --user unmask liquid-authenticator.socket "
            + "liquid-authenticator.service && \(Self.enable)"
        ])
    }
    // The socket alone starts it for the first client of the socket, and a browser is not one.
    #expect(
      lines { $0.serviceUnit = unit("inactive", "disabled") }
        == ["problem|liquid-authenticator.service is not enabled, \(start) session|*\(Self.enable)"])
    #expect(
      lines { $0.serviceUnit = unit("active", "disabled") }
        == ["note|liquid-authenticator.service is not enabled, \(start) next session|*\(Self.enable)"])
    let both = "liquid-authenticator.socket and liquid-authenticator.service are not enabled"
    let disabled = { (findings: inout Findings) in
      (findings.socketUnit, findings.serviceUnit) = (unit("inactive", "disabled"), unit("inactive", "disabled"))
    }
    #expect(lines(disabled) == ["note|\(both), \(start) next session|*\(Self.enable)"])
    #expect(
      lines {
        disabled(&$0)
        $0.authenticator = .notRunning(Problem("x"))
      } == ["problem|\(both), \(start) session|*\(Self.enable)"])
    #expect(
      lines {
        Self.stop(&$0)
        $0.socketUnit = unit("inactive", "enabled")
      } == ["problem|liquid-authenticator.socket is inactive|*\(Self.enable)"])
    let onDemand =
      "note|this desktop does not start graphical-session.target, so the key starts only for its first client; add this "
      + "command to the session's autostart|systemctl --user start liquid-authenticator.service"
    #expect(lines { $0.sessionUnit = unit("inactive", "static") } == [onDemand])
    #expect(
      lines { ($0.sessionUnit, $0.hasX, $0.hasWayland) = (unit("inactive", "static"), false, false) }
        == ["ok|it starts with your session|-"])
  }

  @Test func `under sudo, the only line says so`() {
    var findings = Self.healthy
    findings.isSudo = true
    let text = "under sudo, doctor would check root's key; run it as the user at the desktop"
    #expect(findings.checks == [.problem(.authenticator, text, remedy: Remedy(["liquid-auth", "doctor"]))])
  }

  @Test func `kernel module`() {
    let lines = { (driver: Findings.Driver) in Self.lines(.kernelModule) { $0.driver = driver } }
    #expect(lines(.loaded) == ["ok|uhid is loaded|-"])
    #expect(lines(.builtIn) == ["ok|uhid is part of the kernel|-"])
    #expect(lines(.absent) == ["problem|uhid is not loaded|sudo modprobe uhid"])
    #expect(
      lines(.updated(from: "6.1.0")) == [
        "problem|the modules of the running kernel 6.1.0 are gone, as happens after an update; restart the machine|sudo reboot"
      ])
    let cloud = "6.12.43+deb13-cloud-arm64"
    #expect(
      lines(.unavailable(in: cloud)) == [
        "problem|the kernel \(cloud) has no module uhid, because it is the one for cloud machines; install another, and "
          + "restart the machine with it|sudo apt-get install linux-image-arm64"
      ])
    let other = { (kernel: String) in
      "problem|the kernel \(kernel) has no module uhid; install a kernel, or a package of its modules, that has it "
        + "(CONFIG_UHID)|-"
    }
    #expect(lines(.unavailable(in: "6.1.0-amd64")) == [other("6.1.0-amd64")])
    #expect(
      Self.lines(.kernelModule) { ($0.driver, $0.packageManager) = (.unavailable(in: cloud), .dnf) } == [other(cloud)])
    #expect(
      lines(.blocked(by: "/etc/modprobe.d/my file.conf")) == [
        "problem|uhid is not loaded, because /etc/modprobe.d/my file.conf forbids it|"
          + #"sudo sed -i -E '/^\s*(install|blacklist)\s+uhid\b/d' '/etc/modprobe.d/my file.conf' "#
          + "&& sudo modprobe uhid"
      ])
  }

  @Test func broker() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.broker, work) }
    let start = "sudo systemctl enable --now liquid-auth-broker.socket"
    let with = { (load: String, active: String, file: String) in
      lines { $0.brokerUnit = .known(.init(load: load, active: active, file: file)) }
    }
    #expect(lines { _ in } == ["ok|liquid-auth-broker.socket is active|-"])
    #expect(
      with("masked", "inactive", "masked")
        == ["problem|liquid-auth-broker.socket is masked|sudo systemctl unmask liquid-auth-broker.socket && \(start)"])
    #expect(
      with("not-found", "inactive", "") == [
        "problem|liquid-auth-broker.socket is not installed; run the repair in the clone|scripts/run"
      ])
    #expect(with("loaded", "failed", "enabled") == ["problem|liquid-auth-broker.socket is failed|\(start)"])
    #expect(
      with("loaded", "active", "disabled")
        == ["problem|liquid-auth-broker.socket does not start with the machine|\(start)"])
    #expect(
      lines { $0.hasBrokerSocket = false } == [
        "problem|the socket /run/liquid-auth/broker was removed|sudo systemctl restart liquid-auth-broker.socket"
      ])
    #expect(lines { $0.brokerUnit = .unknown("x") } == ["ok|its socket /run/liquid-auth/broker exists|-"])
    #expect(
      lines {
        $0.brokerUnit = .unknown("x")
        $0.hasBrokerSocket = false
      } == ["problem|there is no socket /run/liquid-auth/broker; x|\(start)"])
    #expect(lines { $0.hasSystemd = false } == ["note|not used without systemd|-"])
    #expect(
      lines {
        $0.hasSystemd = false
        $0.system.uhid = .absent
      } == [
        "problem|there is no /dev/uhid; load its driver with: sudo modprobe uhid (in a container, use --transport "
          + "unix:PATH or pty)|sudo modprobe uhid"
      ])
    #expect(
      lines { ($0.hasSystemd, $0.system.uhid, $0.driver) = (false, .absent, .absent) }
        == ["note|not used without systemd|-"])
    #expect(
      lines { Self.change(&$0) { $0.device.transport = "uhid" } }
        == ["note|not used: the authenticator opens /dev/uhid itself (--transport uhid)|-"])
  }

  @Test func rule() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.rule, work) }
    let path = "/etc/udev/rules.d/71-liquid-auth.rules"
    let apply =
      "sudo udevadm control --reload && sudo udevadm trigger --action=change --settle /dev/uhid"
    #expect(lines { _ in } == ["ok|\(path)|-"])
    #expect(lines { $0.uhid = nil } == ["ok|\(path)|-"])
    #expect(
      lines { $0.rule = .missing }
        == ["problem|71-liquid-auth.rules is not installed; run the repair in the clone|scripts/run"])
    // Without /dev/uhid, scripts/run does not install it.
    #expect(
      lines { ($0.rule, $0.uhid) = (.missing, nil) } == [
        "note|71-liquid-auth.rules is not installed; when /dev/uhid exists, install it in the clone with: "
          + "scripts/run|-"
      ])
    let replaced = "\(path) replaces the rule of liquid-auth, or is an earlier version of it"
    #expect(
      lines { $0.rule = .replaced(path, ours: nil) }
        == ["problem|\(replaced); run the repair in the clone|sudo rm \(path) && scripts/run"])
    #expect(
      lines { $0.rule = .replaced(path, ours: "/usr/lib/udev/rules.d/71-liquid-auth.rules") }
        == ["problem|\(replaced)|sudo rm \(path) && \(apply)"])
    // apt has no copy of a package that was installed from a file.
    let again = "install the package liquid-auth again from its file"
    let file = "for example with: sudo apt install --reinstall ./liquid-auth_*.deb"
    #expect(
      lines { ($0.rule, $0.isPackaged) = (.missing, true) }
        == ["problem|71-liquid-auth.rules is not installed; \(again), \(file)|-"])
    #expect(
      lines { ($0.rule, $0.isPackaged, $0.packages) = (.missing, true, nil) }
        == ["problem|71-liquid-auth.rules is not installed; \(again)|-"])
    #expect(
      lines { ($0.rule, $0.isPackaged) = (.replaced(path, ours: nil), true) }
        == ["problem|\(replaced); \(again), \(file)|sudo rm \(path)"])
    #expect(
      lines { $0.group = nil }
        == ["problem|there is no group liquid-auth-broker|sudo systemd-sysusers liquid-auth.conf && \(apply)"])
    #expect(
      lines { ($0.group, $0.hasSystemd) = (nil, false) }
        == ["problem|there is no group liquid-auth-broker|sudo groupadd --system liquid-auth-broker && \(apply)"])
    #expect(
      lines { $0.uhid?.mode = 0o666 }
        == ["problem|every user can open /dev/uhid, and so emulate a keyboard|\(apply)"])
    for work: (inout Findings) -> Void in [{ $0.uhid?.mode = 0o600 }, { $0.uhid?.group = 0 }] {
      #expect(lines(work) == ["problem|udev has not applied \(path) to /dev/uhid|\(apply)"])
    }
  }

  @Test func `nobody else can emulate a keyboard`() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.rule, work) }
    let apply =
      "sudo udevadm control --reload && sudo udevadm trigger --action=change --settle /dev/uhid"
    let (linuxID, steam) = ("/etc/udev/rules.d/99-linux-id.rules", "/usr/lib/udev/rules.d/60-steam.rules")
    #expect(
      lines { $0.uhid?.hasACL = true } == [
        "problem|an ACL lets others open /dev/uhid, and so emulate a keyboard|"
          + "\(apply) && sudo setfacl --remove-all /dev/uhid"
      ])
    #expect(
      lines {
        $0.uhid?.hasACL = true
        $0.otherRules = [linuxID, steam]
      } == [
        "problem|an ACL lets others open /dev/uhid, and so emulate a keyboard; \(linuxID) and \(steam) have a rule for it, too|"
          + "sudo rm \(linuxID) && \(apply) && sudo setfacl --remove-all /dev/uhid"
      ])
    #expect(
      lines {
        $0.uhid?.group = 1000
        $0.otherRules = [linuxID]
      } == [
        "problem|udev has not applied /etc/udev/rules.d/71-liquid-auth.rules to /dev/uhid; \(linuxID) has a rule for it, "
          + "too|sudo rm \(linuxID) && \(apply)"
      ])
    #expect(lines { $0.otherRules = [linuxID] } == ["ok|/etc/udev/rules.d/71-liquid-auth.rules|-"])
    #expect(
      lines { $0.member = "anna" } == [
        "problem|you are in the group liquid-auth-broker, so every program of yours can emulate a keyboard; the broker does "
          + "not need that: leave the group, and log in again|sudo gpasswd -d anna liquid-auth-broker"
      ])
    #expect(
      lines { ($0.groupName, $0.system.sessionHasGroup) = ("liquid-auth", true) } == [
        "problem|your session still has the group liquid-auth, so its programs can emulate a keyboard; log out and "
          + "in again|-"
      ])
    // Without the broker, the group is the way to the device.
    let ok = ["ok|/etc/udev/rules.d/71-liquid-auth.rules|-"]
    #expect(lines { $0.system.sessionHasGroup = true } == ok, "the rule does not name that group any more")
    #expect(lines { ($0.member, $0.hasSystemd) = ("anna", false) } == ok)
    #expect(
      lines {
        $0.member = "anna"
        Self.change(&$0) { $0.device.transport = "uhid" }
      } == ok)
  }

  @Test func node() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.node, work) }
    let trigger = "sudo udevadm trigger --action=add --settle /sys/class/hidraw/hidraw3"
    #expect(lines { _ in } == ["ok|/dev/hidraw3, which you can open|-"])
    #expect(
      lines { $0.authenticator = .notRunning(Problem("x")) } == [
        "problem|there is no device, because the authenticator is not running|*\(Self.enable)"
      ])
    #expect(
      lines {
        Self.change(&$0) {
          $0.device = .init(transport: "broker", attached: false, steppedAsideFor: "/dev/hidraw4 Other")
        }
      } == ["note|the device is detached while /dev/hidraw4 Other is plugged in|liquid-auth device attach"])
    #expect(
      lines { Self.change(&$0) { $0.device.attached = false } }
        == ["problem|the device is detached|liquid-auth device attach"])
    #expect(
      lines { Self.change(&$0) { $0.device.node = nil } }
        == ["problem|the device has no node that udev has handled|liquid-auth device replug"])
    for work: (inout Findings) -> Void in [{ $0.nodes = [] }, { $0.nodes[0].access = nil }] {
      #expect(lines(work) == ["problem|/dev/hidraw3 is gone|liquid-auth device replug"])
    }
    #expect(lines { $0.nodes[0].isOpenable = false } == ["problem|you cannot open /dev/hidraw3|\(trigger)"])
    // The broker's node is for one user. The group's bits are those of an ACL.
    for mode: UInt32 in [0o666, 0o660, 0o640, 0o620, 0o601] {
      #expect(lines { $0.nodes[0].access?.mode = mode } == ["problem|other users can open /dev/hidraw3|\(trigger)"])
    }
    #expect(
      lines { $0.nodes[0].access?.owner = 0 }
        == ["problem|/dev/hidraw3 belongs to user 0, not to you (user 1000)|\(trigger)"])
    #expect(
      lines { $0.nodes[0].tags.insert("uaccess") } == [
        "problem|udev gives /dev/hidraw3 to the user at the machine (tag uaccess)|"
          + "sudo udevadm control --reload && \(trigger)"
      ])
    let uhid = { (findings: inout Findings) in
      Self.change(&findings) { $0.device.transport = "uhid" }
      findings.nodes[0].place = "liquid-authenticator"
      (findings.nodes[0].access, findings.nodes[0].tags) = (
        .init(mode: 0o660, owner: 0, group: 0, hasACL: true), ["uaccess"]
      )
    }
    #expect(lines(uhid) == ["ok|/dev/hidraw3, which you can open|-"])
    #expect(
      lines {
        uhid(&$0)
        $0.nodes[0].access?.mode = 0o664
      } == ["problem|other users can open /dev/hidraw3|\(trigger)"])
  }

  @Test func `report descriptor, and the properties of fido_id`() {
    #expect(
      Self.lines(.reportDescriptor) { $0.nodes[0].descriptor = [0x05, 0x01] }
        == ["problem|that of /dev/hidraw3 is not that of a security key|liquid-auth device replug"])
    #expect(
      Self.lines(.reportDescriptor) { _ in } == ["ok|usage page F1D0, reports of 64 bytes|-"])
    let none = ["note|cannot be checked: there is no node|-"]
    #expect(Self.lines(.reportDescriptor) { $0.nodes = [] } == none)
    #expect(Self.lines(.fidoProperties) { $0.nodes = [] } == none)
    let marked = ["ok|udev has marked /dev/hidraw3 as a security key|-"]
    #expect(Self.lines(.fidoProperties) { _ in } == marked)
    #expect(Self.lines(.fidoProperties) { $0.nodes[0].properties = ["ID_SECURITY_TOKEN": "1"] } == marked)
    for properties in [nil, [:], ["ID_FIDO_TOKEN": "0"]] as [[String: String]?] {
      #expect(
        Self.lines(.fidoProperties) { $0.nodes[0].properties = properties } == [
          "problem|udev has not marked /dev/hidraw3 as a security key (ID_FIDO_TOKEN)|"
            + "sudo udevadm trigger --action=change --settle /sys/class/hidraw/hidraw3"
        ])
    }
    #expect(
      Self.lines(.fidoProperties) { ($0.nodes[0].properties, $0.hasFIDORule) = (nil, false) }
        == ["problem|60-fido-id.rules of systemd is not installed|sudo apt-get install --reinstall udev"])
    for (manager, remedy): (Findings.PackageManager?, String) in [
      (.dnf, "|sudo dnf reinstall systemd-udev"), (.pacman, "|sudo pacman -S systemd"),
      (nil, "; reinstall the package that Debian calls udev|-"),
    ] {
      #expect(
        Self.lines(.fidoProperties) {
          ($0.nodes[0].properties, $0.hasFIDORule, $0.packageManager) = (nil, false, manager)
        }
          == ["problem|60-fido-id.rules of systemd is not installed\(remedy)"])
    }
  }

  @Test func `a second key`() {
    var other = Self.ours
    (other.name, other.product, other.place) = ("hidraw4", "Example Key", "usb-1")
    let with = { (change: (inout Findings) -> Void) in
      Self.lines(.secondKey) {
        $0.nodes.append(other)
        change(&$0)
      }
    }
    #expect(Self.lines(.secondKey) { _ in } == ["ok|no other security key is plugged in|-"])
    let beside =
      "browsers ask both keys; detach that of Liquid Auth, or start the authenticator with "
      + "--beside-hardware-key step-aside"
    #expect(with { _ in } == ["note|[/dev/hidraw4 Example Key] \(beside)|liquid-auth device detach"])
    #expect(
      with {
        $0.nodes[1].product = ""
        $0.authenticator = .notRunning(Problem("x"))
      } == ["note|[/dev/hidraw4] \(beside)|-"])
    #expect(
      with { Self.change(&$0) { $0.device.steppedAsideFor = "/dev/hidraw4 Example Key" } } == [
        "note|[/dev/hidraw4 Example Key] only this key answers while it is plugged in "
          + "(--beside-hardware-key step-aside)|liquid-auth device attach"
      ])
    // A mouse, a long item, a cut item, and nothing.
    for descriptor: [UInt8] in [[0x05, 0x01, 0x09, 0x02, 0xA1, 0x01], [0xFE, 0], [0x06, 0xD0], [0xA1], []] {
      #expect(with { $0.nodes[1].descriptor = descriptor } == ["ok|no other security key is plugged in|-"])
    }
  }

  @Test func `a transport without a device of the kernel needs none`() {
    for name: Check.Name in [
      .kernelModule, .broker, .rule, .node, .reportDescriptor, .fidoProperties, .session,
    ] {
      #expect(
        Self.lines(name) { findings in
          Self.change(&findings) { $0.device.transport = "pty" }
          (findings.driver, findings.rule, findings.nodes, findings.session) = (.absent, .missing, [], .known(nil))
        } == ["note|not needed: the authenticator uses pty, which browsers do not see|-"])
    }
  }
}
