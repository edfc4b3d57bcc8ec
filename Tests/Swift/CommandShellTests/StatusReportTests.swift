import CBOR
import ControlProtocol
import Doctor
import Testing
import UHID

@testable import liquid_auth

@Suite struct StatusReportTests {
  static let fine = SystemFindings(uhid: .usable, groupExists: true, isMember: true, sessionHasGroup: true)

  static let noDevice =
    "there is no /dev/uhid; load its driver with: sudo modprobe uhid (in a container, use --transport unix:PATH or pty)"

  static func running(
    vault: AuthenticatorStatus.VaultCondition = .unlocked, attached: Bool = true, problems: [Problem] = []
  ) -> AuthenticatorStatus {
    var status = AuthenticatorStatus(
      processID: 42, stateDirectory: "/s", problems: problems, verification: ["passphrase"],
      vault: .init(vault, fingerprint: vault == .unlocked ? [0xC0, 0xFF, 0xEE, 0x00] : nil),
      device: .init(
        transport: "uhid", attached: attached, node: attached ? "/dev/hidraw3" : nil, access: attached ? "you" : nil),
      prompts: PromptReport(.pinentry))
    status.store.credentials = vault == .unlocked ? 3 : nil
    return status
  }

  @Test func `a running authenticator without problems`() {
    let report = StatusReport(running: Self.running(), system: Self.fine)
    #expect(report.problems.isEmpty)
    #expect(
      report.text == """
        authenticator  running, process 42
        device         attached as /dev/hidraw3 (uhid); you may open it
        vault          unlocked, fingerprint c0ffee00
        passkeys       3 on this machine
        backup         none yet
        backup check   none yet
        verification   passphrase
        prompts        pinentry
        signed         0 by Algorand accounts, 0 for Keyri, since the start
        state          /s
        """)
  }

  @Test(arguments: ["pty", "unix:/k"])
  func `a device that browsers do not see is shown as such, and is no problem`(_ transport: String) {
    var status = Self.running()
    status.device.transport = transport
    let report = StatusReport(running: status, system: Self.fine)
    #expect(
      report.text.contains(
        "\ndevice         attached as /dev/hidraw3 (\(transport), which browsers do not see); you may open it\n"))
    #expect(report.problems.isEmpty)
  }

  @Test func `a locked vault shows why it was locked`() {
    var status = Self.running(vault: .locked)
    #expect(StatusReport(running: status, system: Self.fine).text.contains("\nvault          locked\n"))
    status.vault.lockReason = "when the screen was locked"
    let report = StatusReport(running: status, system: Self.fine)
    #expect(report.text.contains("\nvault          locked, when the screen was locked\n"))
    #expect(report.json.description.contains(#""lockReason": "when the screen was locked""#))
  }

  // Holds: BACKUP-11
  @Test func `the times of the last backup and of the last check are shown`() {
    var status = Self.running()
    (status.backup.written, status.backup.checked) = (1_795_662_062_000, 1_795_662_063_999)
    let report = StatusReport(running: status, system: Self.fine)
    #expect(
      report.text.contains("\nbackup         2026-11-26 03:01:02 UTC\nbackup check   2026-11-26 03:01:03 UTC\n"))
    #expect(report.json.description.contains(#""backupTime": 1795662062000"#))
    #expect(report.json.description.contains(#""backupCheckTime": 1795662063999"#))
    let locked = StatusReport(running: Self.running(vault: .locked), system: Self.fine)
    #expect(!locked.text.contains("backup") && locked.json.description.contains(#""backupTime": null"#))
  }

  // Holds: FOLLOW-1
  @Test func `the folder of backups is shown, with the last result for each file`() {
    var status = Self.running()
    status.backup.folder = "/home/a/Sync"
    let idle = StatusReport(running: status, system: Self.fine)
    #expect(idle.text.contains("\nbackup check   none yet\nbackup folder  /home/a/Sync\nverification"))
    let problem = "no program keeps the backups in /home/a/Sync up to date; start it with: "
    #expect(idle.problems.map(\.text) == [problem + "liquid-auth backup follow"])
    #expect(
      StatusReport(running: status, system: Self.fine, hasBackupService: true).problems.map(\.text)
        == [problem + "systemctl --user start liquid-auth-backup.service"])
    #expect(idle.json.description.contains(#""backupFolder": "/home/a/Sync""#))
    #expect(idle.json.description.contains(#""backupFiles": null"#))
    status.backup.report = FollowReport(
      files: [
        FollowReport.File(name: "c0-b-1.liquid", time: 1_795_662_062_000, isMerged: true, result: "1 passkey added"),
        FollowReport.File(name: "x\u{1B}.liquid", time: 5, isMerged: false, result: "not merged: it is empty"),
      ], problem: "/home/a/Sync does not exist")
    let report = StatusReport(running: status, system: Self.fine)
    #expect(
      report.text.contains(
        "\nbackup folder  /home/a/Sync\n               c0-b-1.liquid: 1 passkey added, 2026-11-26 03:01:02 UTC\n"
          + "               x\\u{1B}.liquid: not merged: it is empty, 1970-01-01 00:00:00 UTC\nverification"))
    #expect(report.problems.map(\.text) == ["/home/a/Sync does not exist"])
    #expect(report.json.description.contains(#""result": "1 passkey added""#))
    #expect(report.json.description.contains(#""merged": false"#))
  }

  @Test func `an open vault shows what else than the passphrase unlocked it`() {
    var status = Self.running()
    status.vault.unlockedBy = "keyring"
    let report = StatusReport(running: status, system: Self.fine)
    #expect(report.text.contains("\nvault          unlocked by the keyring, fingerprint "))
    #expect(report.json.description.contains(#""unlockedBy": "keyring""#))
  }

  @Test func `the signature counts are one line`() {
    var status = Self.running()
    (status.wallets.algorandSignatures, status.wallets.associationSignatures) = (12, 3)
    let report = StatusReport(running: status, system: Self.fine)
    #expect(report.text.contains("\nsigned         12 by Algorand accounts, 3 for Keyri, since the start\n"))
    #expect(report.json.description.contains(#""algorandSignatures": 12"#))
    #expect(report.json.description.contains(#""associationSignatures": 3"#))
  }

  @Test func `connected dApps are one line, and none without them`() {
    var status = Self.running()
    #expect(!StatusReport(running: status, system: Self.fine).text.contains("dApps"))
    (status.wallets.openDApps, status.wallets.awayDApps) = (1, 2)
    let report = StatusReport(running: status, system: Self.fine)
    #expect(report.text.contains("\ndApps          1 connected, 2 away"))
    #expect(report.json.description.contains(#""openDApps": 1"#))
    #expect(report.json.description.contains(#""awayDApps": 2"#))
  }

  @Test func `a program that can list passkeys is shown, with the command to revoke it`() {
    var status = Self.running()
    let row =
      "\nreaders        a program can list your passkeys; to revoke that, run: liquid-auth config forget-readers\n"
    for (hasReaders, json) in [(true, "true"), (false, "false"), (nil, "null")] as [(Bool?, String)] {
      status.store.hasReaders = hasReaders
      var report = StatusReport(running: status, system: Self.fine)
      #expect(report.text.contains(row) == (hasReaders == true))
      report.options = " --state-dir /s"
      #expect(report.text.contains("forget-readers --state-dir /s\n") == (hasReaders == true))
      #expect(report.json.description.contains("\"readers\": \(json)"))
      #expect(report.problems.isEmpty, "the person has agreed to it")
    }
  }

  @Test(
    arguments: [
      (0, nil, #""allow""#), (1, "always-verify", #""always-verify""#), (2, "deny", #""deny""#), (9, "9", #""9""#),
      (nil, nil, "null"),
    ] as [(UInt8?, String?, String)]) func `a policy of all other sites is shown, unless it allows them`(
      policy: UInt8?, word: String?, json: String
    )
  {
    var status = Self.running()
    status.store.defaultPolicy = policy
    let report = StatusReport(running: status, system: Self.fine)
    let row = word.map { "policies       \($0) for all sites that have no policy" }
    #expect(
      report.text.split(separator: "\n").filter { $0.hasPrefix("policies") }.map(String.init) == [row].compactMap { $0 }
    )
    #expect(report.json.description.contains("\"defaultPolicy\": \(json)"))
    #expect(report.problems.isEmpty, "the owner has chosen it")
  }

  @Test func `a locked vault is not a problem`() {
    let report = StatusReport(running: Self.running(vault: .locked), system: Self.fine)
    #expect(report.problems.isEmpty)
    #expect(report.text.contains("vault          locked\n"))
    #expect(!report.text.contains("passkeys"))
  }

  @Test func `the means of verification are in one line`() {
    var status = Self.running()
    status.verification = ["fingerprint", "pam", "passphrase"]
    let report = StatusReport(running: status, system: Self.fine)
    #expect(report.text.contains("\nverification   fingerprint, pam, passphrase\n"))
    #expect(report.json.description.contains(#""verification": "fingerprint, pam, passphrase""#))
  }

  @Test func `a waiting prompt is shown`() {
    var status = Self.running()
    status.prompts.isWaiting = true
    #expect(
      StatusReport(running: status, system: Self.fine).text.contains(
        "prompts        pinentry, one is waiting for you\n"))
  }

  // Holds: PERSON-13
  @Test func `a prompt that answers by itself is named, and is no problem`() {
    var status = Self.running()
    status.prompts.answerByThemselves = true
    let report = StatusReport(running: status, system: Self.fine)
    #expect(
      report.text.contains(
        "prompts        pinentry; the last three were answered faster than a person can read: check the program of "
          + "--askpass or --pinentry\n"))
    #expect(report.problems.isEmpty)
    #expect(report.json.description.contains(#""promptsAnswerByThemselves": true"#))
  }

  @Test func `problems that the authenticator reports are the only ones shown`() {
    let report = StatusReport(
      running: Self.running(vault: .unusable, attached: false, problems: [Problem("the vault /s/vault is damaged")]),
      system: Self.fine)
    #expect(report.problems.map(\.text) == ["the vault /s/vault is damaged"])
    #expect(report.text.hasSuffix("\n\nto do\n- the vault /s/vault is damaged"))
  }

  @Test func `a detached device gives the reason if there is one, and else how to attach it`() {
    var system = Self.fine
    #expect(
      StatusReport(running: Self.running(attached: false), system: system).problems.map(\.text)
        == ["the device is detached; attach it with: liquid-auth device attach"])
    system.uhid = .absent
    #expect(
      StatusReport(running: Self.running(attached: false), system: system).problems.map(\.text) == [Self.noDevice])
  }

  @Test func `a device that has stepped aside names the other key, and how to attach anyway`() {
    var status = Self.running(attached: false)
    status.device.steppedAsideFor = "/dev/hidraw4 Example Key"
    var system = Self.fine
    system.uhid = .absent
    let report = StatusReport(running: status, system: system)
    #expect(report.text.contains("\ndevice         detached while /dev/hidraw4 Example Key is plugged in\n"))
    #expect(
      report.problems.map(\.text) == [
        "the device is detached while /dev/hidraw4 Example Key is plugged in; unplug that key, or attach the device beside it with: "
          + "liquid-auth device attach"
      ])
    #expect(report.json.description.contains(#""steppedAsideFor": "/dev/hidraw4 Example Key""#))
  }

  @Test(arguments: [nil, "/dev/hidraw4 Example Key"])
  func `a problem of the PIN does not hide that the device is detached`(_ other: String?) {
    var status = Self.running(attached: false, problems: [OwnerSettings.pinMustBeChanged])
    status.device.steppedAsideFor = other
    let problems = StatusReport(running: status, system: Self.fine).problems
    #expect(problems.count == 2 && problems.first == OwnerSettings.pinMustBeChanged)
    #expect(problems.last?.remedy == Remedy(["liquid-auth", "device", "attach"]))
    let fault = StatusReport(
      running: Self.running(attached: false, problems: [Problem("the vault is damaged")]), system: Self.fine)
    #expect(fault.problems.map(\.text) == ["the vault is damaged"])
  }

  @Test func `without an authenticator the problems are in order: vault, device, authenticator`() {
    var system = Self.fine
    system.uhid = .absent
    let report = StatusReport(
      stateDirectory: "/s", vault: VaultFinding(isThere: false, problem: Problem("no vault")),
      failure: CommandFailure("not running", code: .notRunning), system: system)
    #expect(report.isRunning == false)
    // It would not start without a vault.
    #expect(report.problems.map(\.text) == ["no vault", Self.noDevice])
    #expect(
      report.text.hasPrefix(
        "authenticator  not running\nvault          missing\nstate          /s\n\nto do\n- no vault\n"))
  }

  private static let stopped = Problem("it is not running", hint: "start it", with: ["liquid-authenticator"])

  @Test func `a vault that cannot be used is shown as such, and the authenticator is not to be started`() {
    let report = StatusReport(
      stateDirectory: "/s", vault: VaultFinding(isThere: true, problem: Problem("the vault /s/vault is damaged")),
      failure: CommandFailure(Self.stopped, code: .notRunning), system: Self.fine)
    #expect(report.problems.map(\.text) == ["the vault /s/vault is damaged"])
    #expect(report.text.contains("\nvault          unusable\n"))
    #expect(report.json.description.contains(#""vault": "unusable""#))
  }

  @Test func `without uhid, status says first how to repair that`() {
    var system = Self.fine
    let problems = {
      StatusReport(
        stateDirectory: "/s", vault: VaultFinding(isThere: true),
        failure: CommandFailure(Self.stopped, code: .notRunning), system: system
      ).problems.map(\.text)
    }
    #expect(problems() == [Self.stopped.text])
    system.uhid = .absent
    #expect(problems() == [Self.noDevice, Self.stopped.text])
  }

  @Test func `our own command that ends a problem gets the place options`() {
    var report = StatusReport(
      stateDirectory: "/s", vault: VaultFinding(isThere: true),
      failure: CommandFailure(Self.stopped, code: .notRunning), system: Self.fine)
    report.options = " --state-dir /s"
    let text = "it is not running; start it with: liquid-authenticator --state-dir /s"
    #expect(report.text.hasSuffix("\n- \(text)") && report.json.description.contains("\"\(text)\""))
  }

  @Test func `unknown facts are shown as unknown`() {
    let report = StatusReport(
      stateDirectory: "/s", vault: VaultFinding(isThere: nil, problem: Problem("cannot open /s")),
      failure: CommandFailure("cannot reach the authenticator"), system: Self.fine)
    #expect(
      report.text == """
        authenticator  unknown
        vault          unknown
        state          /s

        to do
        - cannot open /s
        - cannot reach the authenticator
        """)
    #expect(report.json.description.contains("\"running\": null,\n"))
    #expect(report.json.description.contains(#""vault": "unknown""#))
  }

  @Test func `JSON always has the same members`() {
    let names = { (report: StatusReport) -> [String] in
      guard case .object(let members) = report.json else { return [] }
      return members.map(\.name)
    }
    let running = names(StatusReport(running: Self.running(), system: Self.fine))
    let notRunning = names(
      StatusReport(
        stateDirectory: "/s", vault: VaultFinding(isThere: true), failure: CommandFailure("x"), system: Self.fine))
    #expect(running == notRunning)
    #expect(
      running == [
        "running", "processId", "vault", "fingerprint", "previousFingerprint", "credentials", "transport", "attached",
        "node", "access", "steppedAsideFor", "verification", "prompt", "waiting", "promptsAnswerByThemselves",
        "algorandSignatures", "associationSignatures", "openDApps", "awayDApps", "lockReason", "unlockedBy", "readers",
        "counter", "backupTime", "backupCheckTime", "backupFolder", "backupFiles", "defaultPolicy", "bluetooth",
        "stateDirectory", "problems",
      ])
  }

  @Test(arguments: [BluetoothCondition.absent, .blocked, .present])
  func `the adapter is a member of JSON alone, and never a problem`(_ condition: BluetoothCondition) {
    var system = Self.fine
    system.bluetooth = condition
    let reports = [
      StatusReport(running: Self.running(), system: system),
      StatusReport(
        stateDirectory: "/s", vault: VaultFinding(isThere: true), failure: CommandFailure("x"), system: system),
    ]
    for report in reports {
      #expect(report.json.description.contains("\"bluetooth\": \"\(condition.rawValue)\""))
    }
    #expect(reports[0].problems.isEmpty)
  }
}
