import CBOR
import ControlProtocol
import Testing
import UHID

@testable import liquid_auth

/// Each line of `liquid-auth doctor`, ok and broken.
// Holds: DOCTOR-1
@Suite struct DoctorChecksTests {
  typealias Findings = DoctorFindings

  static let unit = Findings.Unit(load: "loaded", active: "active", file: "enabled")
  static let ours = Findings.Node(
    name: "hidraw3", product: "Liquid Auth", place: "liquid-auth-broker", serial: "1000",
    descriptor: UHIDIdentity.reportDescriptor, isOpenable: true, access: .init(mode: 0o600, group: 0),
    properties: ["ID_FIDO_TOKEN": "1"], tags: ["security-device", "snap_firefox_firefox"])

  static func status(
    vault: AuthenticatorStatus.VaultCondition = .locked, transport: String = "broker"
  ) -> AuthenticatorStatus {
    AuthenticatorStatus(
      processID: 42, vault: vault, transport: transport, attached: true, node: "/dev/hidraw3", access: "you",
      verification: "passphrase", prompt: "pinentry (pinentry)", stateDirectory: "/s")
  }

  static func information(pin: Bool = false, alwaysUV: Bool = false, uv: Bool = true, change: Bool = false)
    -> KeyInformation
  {
    KeyInformation([
      4: .map(["clientPin": .bool(pin), "alwaysUv": .bool(alwaysUV), "uv": .bool(uv)]), 12: .bool(change),
    ])
  }

  static var healthy: Findings {
    Findings(
      user: 1000, authenticator: .running(status(), information(), TriesLeft(pin: 8, needsReplug: false)),
      vault: VaultFinding(isThere: true), hasSystemd: true, system: StatusReportTests.fine, socketUnit: .known(unit),
      serviceUnit: .known(unit),
      driver: .loaded, brokerUnit: .known(unit), hasBrokerSocket: true,
      rule: .present("/etc/udev/rules.d/71-liquid-auth.rules"), uhid: .init(mode: 0o660, group: 998), group: 998,
      hasFIDORule: true, nodes: [ours], snaps: [.init(name: "firefox", isConnected: true)], snapApplications: [],
      flatpaks: [.init(id: "org.mozilla.firefox", isBrowser: true, hasAllDevices: true)], firefoxProfiles: 1,
      firefoxOff: [], pinentry: .init(program: "pinentry", path: "/usr/bin/pinentry", target: "pinentry-gnome3"),
      hasDisplay: true, desktop: "GNOME", notifications: .known(["actions"]),
      session: .known(.init(isActive: true, isRemote: false, isAtSeat: true, isLocked: false)),
      memory: .init(soft: 8 << 20, hard: 8 << 20, process: 42),
      clock: .init(now: 1_800_000_000, program: 1_700_000_000, isSynchronized: true), packages: .init())
  }

  /// The lines of one name after a change to the healthy findings: `state|explanation|mend`, `*` for a safe one.
  static func lines(_ name: Check.Name, _ change: (inout Findings) -> Void) -> [String] {
    var findings = healthy
    change(&findings)
    return findings.checks.filter { $0.name == name }.map { check in
      let mend = check.mend.map { ($0.isSafe ? "*" : "") + $0.text } ?? "-"
      return "\(check.state.rawValue)|\(check.subject.map { "[\($0)] " } ?? "")\(check.explanation)|\(mend)"
    }
  }

  static func change(_ findings: inout Findings, _ work: (inout AuthenticatorStatus) -> Void) {
    guard case .running(var status, let information, let tries) = findings.authenticator else { return }
    work(&status)
    findings.authenticator = .running(status, information, tries)
  }

  @Test func `a healthy system has no problem, a line of every name, and one note`() {
    let checks = Self.healthy.checks
    #expect(checks.map(\.name) == Check.Name.allCases)
    #expect(checks.filter { $0.state != .ok }.map(\.name) == [.backup])
    #expect(DoctorReport(checks: checks).exitCode == 0)
  }

  @Test func authenticator() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.authenticator, work) }
    #expect(lines { _ in } == ["ok|it answers as process 42|-"])
    #expect(
      lines { $0.authenticator = .notRunning("nothing listens") }
        == ["problem|nothing listens|*systemctl --user enable --now liquid-authenticator.socket"])
    #expect(
      lines {
        $0.authenticator = .notRunning("nothing listens")
        $0.socketUnit = .unknown("x")
      } == ["problem|nothing listens|liquid-authenticator"])
    #expect(lines { $0.authenticator = .unknown("no answer") } == ["problem|no answer|-"])
    #expect(lines { Self.change(&$0) { $0.problems = ["a", "b"] } } == ["problem|a; also: b|-"])
  }

  @Test func `a prompt that waits is named, with the place to look for it`() {
    let lines = { (work: (inout AuthenticatorStatus) -> Void) in
      Self.lines(.authenticator) {
        Self.change(&$0) {
          $0.waiting = true
          work(&$0)
        }
      }
    }
    let text = "a prompt waits for you (pinentry (pinentry)); it can be behind another window"
    #expect(lines { _ in } == ["note|\(text)|-"])
    #expect(
      lines { $0.prompt = "terminal" } == ["note|a prompt waits for you on the authenticator's terminal|-"])
    #expect(lines { $0.problems = ["a"] } == ["problem|a; also: \(text)|-"])
  }

  @Test func service() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.service, work) }
    let enable = "*systemctl --user enable --now liquid-authenticator.socket"
    #expect(lines { _ in } == ["ok|it starts with your session, or for its first client|-"])
    #expect(
      lines { $0.socketUnit = .unknown("systemctl is not installed") }
        == ["note|cannot be checked: systemctl is not installed|-"])
    #expect(
      lines { $0.serviceUnit = .known(.init(load: "loaded", active: "failed", file: "enabled")) } == [
        "problem|liquid-authenticator.service has failed|*systemctl --user reset-failed liquid-authenticator.service "
          + "&& systemctl --user restart liquid-authenticator.socket"
      ])
    #expect(
      lines { $0.socketUnit = .known(.init(load: "not-found", active: "inactive", file: "")) }
        == ["note|the user service is not installed: start the authenticator by hand after each login|-"])
    let disabled = Asked.known(Findings.Unit(load: "loaded", active: "inactive", file: "disabled"))
    #expect(
      lines { $0.socketUnit = disabled } == ["note|the authenticator does not start with your session|\(enable)"])
    #expect(
      lines {
        $0.socketUnit = disabled
        $0.authenticator = .notRunning("x")
      } == ["problem|the authenticator does not start with your session|\(enable)"])
    #expect(
      lines {
        $0.socketUnit = .known(.init(load: "loaded", active: "inactive", file: "enabled"))
        $0.authenticator = .notRunning("x")
      } == ["problem|liquid-authenticator.socket is inactive|\(enable)"])
  }

  @Test func `kernel module`() {
    let lines = { (driver: Findings.Driver) in Self.lines(.kernelModule) { $0.driver = driver } }
    #expect(lines(.loaded) == ["ok|uhid is loaded|-"])
    #expect(lines(.builtIn) == ["ok|uhid is part of the kernel|-"])
    #expect(lines(.absent) == ["problem|uhid is not loaded|sudo modprobe uhid"])
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
      with("not-found", "inactive", "") == ["problem|liquid-auth-broker.socket is not installed|scripts/run"])
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
      } == ["problem|\(StatusReportTests.noDevice)|-"])
    #expect(
      lines { Self.change(&$0) { $0.transport = "uhid" } }
        == ["note|not used: the authenticator opens /dev/uhid itself (--transport uhid)|-"])
  }

  @Test func rule() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.rule, work) }
    let path = "/etc/udev/rules.d/71-liquid-auth.rules"
    let apply =
      "sudo udevadm control --reload && sudo udevadm trigger --action=change --settle /dev/uhid"
    #expect(lines { _ in } == ["ok|\(path)|-"])
    #expect(lines { $0.uhid = nil } == ["ok|\(path)|-"])
    #expect(lines { $0.rule = .missing } == ["problem|71-liquid-auth.rules is not installed|scripts/run"])
    #expect(
      lines { $0.rule = .replaced(path) }
        == ["problem|\(path) takes the place of our rule|sudo rm \(path) && scripts/run"])
    #expect(
      lines { ($0.rule, $0.packages) = (.missing, .init(hasOurs: true)) }
        == ["problem|71-liquid-auth.rules is not installed|sudo apt-get install --reinstall liquid-auth"])
    #expect(lines { $0.group = nil } == ["problem|there is no group liquid-auth|scripts/run"])
    #expect(
      lines { $0.uhid?.mode = 0o666 }
        == ["problem|every user can open /dev/uhid, and so emulate a keyboard|\(apply)"])
    for work: (inout Findings) -> Void in [{ $0.uhid?.mode = 0o600 }, { $0.uhid?.group = 0 }] {
      #expect(lines(work) == ["problem|udev has not applied \(path) to /dev/uhid|\(apply)"])
    }
  }

  @Test func node() {
    let lines = { (work: (inout Findings) -> Void) in Self.lines(.node, work) }
    let trigger = "sudo udevadm trigger --action=add --settle /sys/class/hidraw/hidraw3"
    #expect(lines { _ in } == ["ok|/dev/hidraw3, which you can open|-"])
    #expect(
      lines { $0.authenticator = .notRunning("x") } == [
        "problem|there is no device, because the authenticator is not running|"
          + "*systemctl --user enable --now liquid-authenticator.socket"
      ])
    #expect(
      lines { Self.change(&$0) { ($0.attached, $0.node, $0.steppedAsideFor) = (false, nil, "/dev/hidraw4 Other") } }
        == ["note|the device is detached while /dev/hidraw4 Other is plugged in|liquid-auth device attach"])
    #expect(
      lines { Self.change(&$0) { $0.attached = false } }
        == ["problem|the device is detached|liquid-auth device attach"])
    #expect(
      lines { Self.change(&$0) { $0.node = nil } }
        == ["problem|the device has no node that udev has handled|liquid-auth device replug"])
    for work: (inout Findings) -> Void in [{ $0.nodes = [] }, { $0.nodes[0].access = nil }] {
      #expect(lines(work) == ["problem|/dev/hidraw3 is gone|liquid-auth device replug"])
    }
    #expect(lines { $0.nodes[0].isOpenable = false } == ["problem|you cannot open /dev/hidraw3|\(trigger)"])
    #expect(
      lines { $0.nodes[0].access?.mode = 0o666 } == ["problem|other users can open /dev/hidraw3|\(trigger)"])
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
      "browsers ask both keys; detach ours, or start the authenticator with --beside-hardware-key step-aside"
    #expect(with { _ in } == ["note|[/dev/hidraw4 Example Key] \(beside)|liquid-auth device detach"])
    #expect(
      with {
        $0.nodes[1].product = ""
        $0.authenticator = .notRunning("x")
      } == ["note|[/dev/hidraw4] \(beside)|-"])
    #expect(
      with { Self.change(&$0) { $0.steppedAsideFor = "/dev/hidraw4 Example Key" } } == [
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
          Self.change(&findings) { $0.transport = "pty" }
          (findings.driver, findings.rule, findings.nodes, findings.session) = (.absent, .missing, [], .known(nil))
        } == ["note|not needed: the authenticator uses pty, which browsers do not see|-"])
    }
  }
}
