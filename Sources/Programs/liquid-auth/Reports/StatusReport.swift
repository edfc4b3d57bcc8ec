import ControlProtocol
import DisplayText
import Doctor
import Recovery

/// The result of `liquid-auth status`, before it is text or JSON.
struct StatusReport: Equatable {
  /// The authenticator's answer; `nil` if there was none.
  let status: AuthenticatorStatus?
  /// Whether the authenticator runs; `nil` if that cannot be found out.
  let isRunning: Bool?
  /// Where vault and store are.
  let stateDirectory: String
  /// One of missing, locked, unlocked, unusable; without an authenticator one of present, missing, unusable,
  /// unknown.
  let vault: String
  let bluetooth: BluetoothCondition
  /// What is wrong and what to do, in the order to do it.
  var problems: [Problem]
  /// The place options, each after a space, for the end of one of our commands.
  var options = ""

  /// The report for an authenticator that runs.
  ///
  /// - Parameter hasBackupService: whether systemd can start the program that follows the folder of backups; looked up only
  ///   if it is needed.
  init(
    running status: AuthenticatorStatus, system: SystemFindings, hasBackupService: @autoclosure () -> Bool = false
  ) {
    self.status = status
    isRunning = true
    stateDirectory = status.stateDirectory
    bluetooth = system.bluetooth
    vault =
      switch status.vault.condition {
      case .missing: "missing"
      case .locked: "locked"
      case .unlocked: "unlocked"
      case .unusable: "unusable"
      }
    var problems = status.problems
    // A problem of the PIN does not detach the device.
    let hasReason = problems.contains { $0.kind != .pin }
    if let other = status.device.steppedAsideFor, !hasReason {
      problems.append(
        Problem(
          "the device is detached while \(other) is plugged in",
          hint: "unplug that key, or attach the device beside it", with: Self.attaching))
    } else if !status.device.attached, !hasReason {
      problems.append(
        status.device.otherTransport == nil ? system.uhidProblem ?? Self.detached : Self.detached)
    }
    if let folder = status.backup.folder {
      if let problem = status.backup.report?.problem { problems.append(Problem(problem)) }
      if status.backup.report == nil {
        let start = hasBackupService() ? BackupService.starting : ["liquid-auth", "backup", "follow"]
        problems.append(
          Problem("no program keeps the backups in \(folder) up to date", hint: "start it", with: start))
      }
    }
    self.problems = problems
  }

  /// Whether the device is detached or still being attached, and no other problem explains it.
  var isDetachedWithoutReason: Bool { problems.contains { $0.kind == .detached } }

  private static let attaching = ["liquid-auth", "device", "attach"]
  private static let detached = Problem(
    "the device is detached", hint: "attach it", with: attaching, kind: .detached)

  /// The report without an answer of the authenticator; `failure` says why.
  init(stateDirectory: String, vault: VaultFinding, failure: CommandFailure, system: SystemFindings) {
    status = nil
    isRunning = failure.code == .notRunning ? false : nil
    self.stateDirectory = stateDirectory
    bluetooth = system.bluetooth
    self.vault =
      vault.isThere.map { $0 ? vault.problem == nil ? "present" : "unusable" : "missing" } ?? Self.unknown
    // The authenticator does not start before the vault is repaired.
    let isOfVault = vault.problem != nil && failure.code == .notRunning
    let reason = isOfVault || failure.problem == vault.problem ? nil : failure.problem
    problems = [vault.problem, system.uhidProblem, reason].compactMap { $0 }
  }

  private static let unknown = "unknown"
}

extension StatusReport {
  /// For people.
  var text: String {
    var rows: [[String]]
    if let status {
      rows = [
        ["authenticator", "running, process \(status.processID)"],
        ["device", Self.device(status.device)],
        ["vault", vault + Self.detail(status.vault)],
        ["verification", status.verification.joined(separator: ", ")],
        ["prompts", Self.prompts(status.prompts)],
        ["signed", Self.signed(status.wallets)],
      ]
      if let count = status.store.credentials {
        let time = { (time: UInt64?) in time.map { UTCTime(milliseconds: $0).text } ?? "none yet" }
        rows.insert(
          contentsOf: [
            ["passkeys", "\(count) on this machine"], ["backup", time(status.backup.written)],
            ["backup check", time(status.backup.checked)],
          ] + Self.followed(status.backup), at: 3)
      }
      if status.wallets.openDApps > 0 || status.wallets.awayDApps > 0 {
        rows.append(["dApps", "\(status.wallets.openDApps) connected, \(status.wallets.awayDApps) away"])
      }
      if let value = status.store.counter { rows.append(["counter", "in the TPM, at \(value)"]) }
      if let policy = status.store.defaultPolicy, policy != SitePolicy.allow.rawValue {
        rows.append(["policies", "\(PolicyReport.word(policy)) for all sites that have no policy"])
      }
      if status.store.hasReaders == true {
        rows.append([
          "readers",
          "a program can list your passkeys; to revoke that, run: liquid-auth config forget-readers\(options)",
        ])
      }
    } else {
      rows = [["authenticator", isRunning == false ? "not running" : Self.unknown], ["vault", vault]]
    }
    rows.append(["state", stateDirectory])
    let lines = table(rows.map { $0.map(\.printable) })
    return problems.isEmpty
      ? lines : lines + "\n\nto do\n" + problems.map { "- \($0.text(with: options).printable)" }.joined(separator: "\n")
  }

  /// The folder of backups, and the last result for each file of another machine.
  private static func followed(_ backup: AuthenticatorStatus.Backup) -> [[String]] {
    guard let folder = backup.folder else { return [] }
    let files = (backup.report?.files ?? []).map { file in
      ["", "\(file.name): \(file.result), \(UTCTime(milliseconds: file.time).text)"]
    }
    return [["backup folder", folder]] + files
  }

  /// What unlocked the vault, if not the passphrase, and its fingerprint; or why it is locked.
  private static func detail(_ vault: AuthenticatorStatus.Vault) -> String {
    let opener = vault.unlockedBy.map { " by the \($0)" } ?? ""
    if let fingerprint = vault.fingerprint {
      let previous = vault.previousFingerprint.map { "; old phrase \($0.hexadecimal)" } ?? ""
      return opener + ", fingerprint \(fingerprint.hexadecimal)" + previous
    }
    return vault.condition == .locked ? vault.lockReason.map { ", \($0)" } ?? "" : ""
  }

  private static func prompts(_ prompts: PromptReport) -> String {
    prompts.text + (prompts.isWaiting ? ", one is waiting for you" : "")
      + (prompts.answerByThemselves ? "; \(AuthenticatorStatus.quickAnswers)" : "")
  }

  private static func device(_ device: AuthenticatorStatus.Device) -> String {
    if let other = device.steppedAsideFor { return "detached while \(other) is plugged in" }
    guard device.attached else { return "detached (\(device.transport))" }
    let node = device.node.map { " as \($0)" } ?? ""
    let access = device.access.map { "; \($0) may open it" } ?? ""
    let limit = device.otherTransport == nil ? "" : ", which browsers do not see"
    return "attached\(node) (\(device.transport)\(limit))\(access)"
  }

  /// Signatures other than those of passkeys; a wallet program gets none without a prompt.
  private static func signed(_ wallets: AuthenticatorStatus.Wallets) -> String {
    "\(wallets.algorandSignatures) by Algorand accounts, \(wallets.associationSignatures) for Keyri, since the start"
  }

  /// For programs; members that are not known are `null`.
  var json: JSON {
    [
      "running": isRunning.map(JSON.bool) ?? .null,
      "processId": status.map { .number(Int64($0.processID)) } ?? .null,
      "vault": .string(vault),
      "fingerprint": status?.vault.fingerprint.map(JSON.hex) ?? .null,
      "previousFingerprint": status?.vault.previousFingerprint.map(JSON.hex) ?? .null,
      "credentials": status?.store.credentials.map { .number(Int64(clamping: $0)) } ?? .null,
      "transport": JSON(status?.device.transport),
      "attached": status.map { .bool($0.device.attached) } ?? .null,
      "node": JSON(status?.device.node),
      "access": JSON(status?.device.access),
      "steppedAsideFor": JSON(status?.device.steppedAsideFor),
      "verification": JSON(status?.verification.joined(separator: ", ")),
      "prompt": JSON(status?.prompts.text),
      "waiting": status.map { .bool($0.prompts.isWaiting) } ?? .null,
      "promptsAnswerByThemselves": status.map { .bool($0.prompts.answerByThemselves) } ?? .null,
      "algorandSignatures": status.map { .number(Int64(clamping: $0.wallets.algorandSignatures)) } ?? .null,
      "associationSignatures": status.map { .number(Int64(clamping: $0.wallets.associationSignatures)) } ?? .null,
      "openDApps": status.map { .number(Int64(clamping: $0.wallets.openDApps)) } ?? .null,
      "awayDApps": status.map { .number(Int64(clamping: $0.wallets.awayDApps)) } ?? .null,
      "lockReason": status?.vault.lockReason.map(JSON.string) ?? .null,
      "unlockedBy": JSON(status?.vault.unlockedBy),
      "readers": status?.store.hasReaders.map(JSON.bool) ?? .null,
      "counter": status?.store.counter.map { .number(Int64(clamping: $0)) } ?? .null,
      "backupTime": status?.backup.written.map { .number(Int64(clamping: $0)) } ?? .null,
      "backupCheckTime": status?.backup.checked.map { .number(Int64(clamping: $0)) } ?? .null,
      "backupFolder": JSON(status?.backup.folder),
      "backupFiles": status?.backup.report.map { report in
        .array(
          report.files.map {
            [
              "name": .string($0.name), "time": .number(Int64(clamping: $0.time)), "merged": .bool($0.isMerged),
              "result": .string($0.result),
            ]
          })
      } ?? .null,
      "defaultPolicy": JSON(status?.store.defaultPolicy.map(PolicyReport.word)),
      "bluetooth": .string(bluetooth.rawValue),
      "stateDirectory": .string(stateDirectory),
      "problems": .array(problems.map { .string($0.text(with: options)) }),
    ]
  }
}
