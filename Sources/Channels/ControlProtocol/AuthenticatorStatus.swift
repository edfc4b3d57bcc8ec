package import CBOR

/// The state of the authenticator, and its problems.
package struct GetStatus: PlainCommand {
  package typealias Answer = AuthenticatorStatus
  package static let code: UInt8 = 0x51
  package static let wait = ControlWait.none
  package init() {}
}

/// The status of the authenticator, which is returned without waiting:
/// {1: process id, 2: vault, 3: transport, 4: attached, 5: node?, 6: access?, 7: [means of verification …], 8: prompts,
/// 9: fingerprint?, 10: waiting, 11: [problem …], 12: state directory, 13: credentials?, 14: stepped aside for?,
/// 15: Algorand signatures, 16: association signatures, 17: has readers?, 18: lock reason?, 19: unlocked by?,
/// 20: counter?, 21: default policy?, 22: backup time?, 23: check time?, 24: folder of backups?, 25: report on it?,
/// 28: fingerprint of the previous phrase?, 29: prompts answer by themselves?, 30: open dApps?,
/// 31: dApps that are away?}.
package struct AuthenticatorStatus: ControlAnswer, Equatable {
  /// The state of the vault.
  package enum VaultCondition: UInt8, Sendable, CaseIterable {
    /// There is no vault: `liquid-auth init` makes one.
    case missing = 0
    /// It is closed.
    case locked = 1
    /// It is open: ceremonies do not ask for its passphrase.
    case unlocked = 2
    /// It, or its store, cannot be used; a problem says why.
    case unusable = 3
  }

  /// The authenticator's process.
  package var processID: Int32
  /// The state of the vault.
  package var vault: VaultCondition
  /// `broker`, `uhid`, `unix:PATH` or `pty`.
  package var transport: String
  /// Whether the device is plugged in.
  package var attached: Bool
  /// The path that programs open: `/dev/hidrawN`, a pty or a socket.
  package var node: String?
  /// Who may open it, in words.
  package var access: String?
  /// What verifies without a PIN, in order: `fingerprint`, `pam` and `passphrase`; or only `none`.
  package var verification: [String]
  /// How prompts are shown.
  package var prompts: PromptReport
  /// Identifies the phrase, 4 bytes; only while unlocked.
  package var fingerprint: [UInt8]?
  /// Whether a prompt waits for a person.
  package var waiting: Bool
  /// What is wrong and what to do.
  package var problems: [Problem]
  /// Where vault and store are.
  package var stateDirectory: String
  /// How many credentials the store has; only while unlocked.
  package var credentials: UInt64?
  /// The other key, `/dev/hidrawN` and its name, for which the device is detached.
  package var steppedAsideFor: String?
  /// How many signatures the Algorand accounts have given since the start: challenges, transactions and messages.
  package var algorandSignatures: UInt64
  /// How many signatures association keys have given since the start.
  package var associationSignatures: UInt64

  /// Whether a program may list the passkeys without asking again (permission pcmr); only while unlocked.
  package var hasReaders: Bool?
  /// Why the vault was locked, in words, if it was open before.
  package var lockReason: String?
  /// What unlocked the vault, in words, if not the passphrase.
  package var unlockedBy: String?
  /// The value of the counter in the TPM; `nil` while locked, without a counter, or if the store does not agree with it.
  package var counter: UInt64?
  /// The policy of all sites that have none, as it is stored; only while unlocked.
  package var defaultPolicy: UInt8?
  /// When a backup was written last, also in the followed folder, Unix milliseconds; only while unlocked.
  package var backupTime: UInt64?
  /// When a check last found a backup complete, Unix milliseconds; only while unlocked.
  package var backupCheckTime: UInt64?
  /// The folder of backups that the store follows; only while unlocked.
  package var backupFolder: String?
  /// What the program that follows it reported last; `nil` if none runs.
  package var followReport: FollowReport?
  /// Identifies the previous phrase, 4 bytes; only while unlocked, during a move to a new phrase.
  package var previousFingerprint: [UInt8]?
  /// Whether the last prompts were answered faster than a person can read them.
  package var promptsAnswerByThemselves: Bool
  /// How many wallets have an open channel to a dApp.
  package var openDApps: UInt64 = 0
  /// How many wallets wait for a dApp to come back.
  package var awayDApps: UInt64 = 0

  package init(
    processID: Int32, vault: VaultCondition, transport: String, attached: Bool, node: String? = nil,
    access: String? = nil, verification: [String], prompts: PromptReport, fingerprint: [UInt8]? = nil,
    waiting: Bool = false, problems: [Problem] = [], stateDirectory: String, credentials: UInt64? = nil,
    steppedAsideFor: String? = nil, algorandSignatures: UInt64 = 0, associationSignatures: UInt64 = 0,
    hasReaders: Bool? = nil, lockReason: String? = nil, unlockedBy: String? = nil, counter: UInt64? = nil,
    defaultPolicy: UInt8? = nil, backupTime: UInt64? = nil, backupCheckTime: UInt64? = nil,
    backupFolder: String? = nil, followReport: FollowReport? = nil, previousFingerprint: [UInt8]? = nil,
    promptsAnswerByThemselves: Bool = false
  ) {
    self.previousFingerprint = previousFingerprint
    self.promptsAnswerByThemselves = promptsAnswerByThemselves
    (self.processID, self.vault, self.transport, self.attached) = (processID, vault, transport, attached)
    (self.node, self.access, self.verification, self.prompts) = (node, access, verification, prompts)
    (self.fingerprint, self.waiting, self.problems) = (fingerprint, waiting, problems)
    (self.stateDirectory, self.credentials, self.steppedAsideFor) = (stateDirectory, credentials, steppedAsideFor)
    (self.algorandSignatures, self.associationSignatures) = (algorandSignatures, associationSignatures)
    (self.hasReaders, self.lockReason, self.unlockedBy) = (hasReaders, lockReason, unlockedBy)
    (self.counter, self.defaultPolicy) = (counter, defaultPolicy)
    (self.backupTime, self.backupCheckTime) = (backupTime, backupCheckTime)
    (self.backupFolder, self.followReport) = (backupFolder, followReport)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    processID = try members.requiredInteger(1, as: Int32.self)
    let condition = try members.requiredInteger(2, as: UInt8.self)
    guard let vault = VaultCondition(rawValue: condition) else {
      throw ControlFailure(.invalidParameter, "unknown state of a vault: \(condition)")
    }
    self.vault = vault
    transport = try decoded(members.requiredText(3))
    attached = try decoded(members.requiredBool(4))
    node = try decoded(members.optionalText(5))
    access = try decoded(members.optionalText(6))
    verification = try members.texts(7, "a means of verification")
    prompts = try PromptReport(decoded(members.requiredMap(8)))
    fingerprint = try decoded(members.optionalBytes(9))
    waiting = try decoded(members.requiredBool(10))
    problems = []
    for value in try decoded(members.requiredArray(11)) {
      guard let problem = value.map else { throw ControlFailure(.unexpectedType, "a problem is not a map") }
      problems.append(try Problem(problem))
    }
    stateDirectory = try decoded(members.requiredText(12))
    credentials = try decoded(members.optionalUnsigned(13))
    steppedAsideFor = try decoded(members.optionalText(14))
    algorandSignatures = try decoded(members.requiredUnsigned(15))
    associationSignatures = try decoded(members.requiredUnsigned(16))
    hasReaders = try decoded(members.optionalBool(17))
    lockReason = try decoded(members.optionalText(18))
    unlockedBy = try decoded(members.optionalText(19))
    counter = try decoded(members.optionalUnsigned(20))
    defaultPolicy = try members.integer(21, as: UInt8.self)
    backupTime = try decoded(members.optionalUnsigned(22))
    backupCheckTime = try decoded(members.optionalUnsigned(23))
    backupFolder = try decoded(members.optionalText(24))
    followReport = try decoded(members.optionalMap(25)).map { (map) throws(ControlFailure) in try FollowReport(map) }
    previousFingerprint = try decoded(members.optionalBytes(28))
    promptsAnswerByThemselves = try decoded(members.optionalBool(29)) ?? false
    openDApps = try decoded(members.optionalUnsigned(30)) ?? 0
    awayDApps = try decoded(members.optionalUnsigned(31)) ?? 0
  }

  /// The transport if it is not a device of the kernel, so that browsers do not see it.
  package var otherTransport: String? { ["broker", "uhid"].contains(transport) ? nil : transport }

  /// The problem of a kind of which there is at most one.
  package func problem(_ kind: Problem.Kind) -> Problem? { problems.first { $0.kind == kind } }

  package var members: CBORMap {
    CBORMap(present: [
      1: CBORValue(Int64(max(0, processID))), 2: .number(vault.rawValue), 3: .text(transport), 4: .bool(attached),
      5: node.map(CBORValue.text), 6: access.map(CBORValue.text), 7: .texts(verification), 8: .map(prompts.members),
      9: fingerprint.map(CBORValue.bytes), 10: .bool(waiting), 11: .array(problems.map { .map($0.members) }),
      12: .text(stateDirectory), 13: credentials.map(CBORValue.unsigned), 14: steppedAsideFor.map(CBORValue.text),
      15: .unsigned(algorandSignatures), 16: .unsigned(associationSignatures), 17: hasReaders.map(CBORValue.bool),
      18: lockReason.map(CBORValue.text), 19: unlockedBy.map(CBORValue.text), 20: counter.map(CBORValue.unsigned),
      21: defaultPolicy.map(CBORValue.number), 22: backupTime.map(CBORValue.unsigned),
      23: backupCheckTime.map(CBORValue.unsigned), 24: backupFolder.map(CBORValue.text),
      25: followReport.map { .map($0.members) }, 28: previousFingerprint.map(CBORValue.bytes),
      29: promptsAnswerByThemselves ? .bool(true) : nil, 30: openDApps == 0 ? nil : .unsigned(openDApps),
      31: awayDApps == 0 ? nil : .unsigned(awayDApps),
    ])
  }
}
