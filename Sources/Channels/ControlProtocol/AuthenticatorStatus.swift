package import CBOR

/// The state of the authenticator, and its problems.
package struct GetStatus: PlainCommand {
  package typealias Answer = AuthenticatorStatus
  package static let code: UInt8 = 0x51
  package static let wait = ControlWait.none
  package init() {}
}

/// The status of the authenticator, which is returned without waiting:
/// {1: process id, 2: state directory, 3: [problem …], 4: [means of verification …], 5: vault, 6: device, 7: prompts,
/// 8: store, 9: backup, 10: wallets}.
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
  /// Where vault and store are.
  package var stateDirectory: String
  /// What is wrong and what to do.
  package var problems: [Problem]
  /// What verifies without a PIN, in order: `fingerprint`, `pam` and `passphrase`; or only `none`.
  package var verification: [String]
  package var vault: Vault
  package var device: Device
  package var prompts: PromptReport
  package var store = Store()
  package var backup = Backup()
  package var wallets = Wallets()

  package init(
    processID: Int32, stateDirectory: String, problems: [Problem] = [], verification: [String], vault: Vault,
    device: Device, prompts: PromptReport
  ) {
    (self.processID, self.stateDirectory, self.problems) = (processID, stateDirectory, problems)
    (self.verification, self.vault, self.device, self.prompts) = (verification, vault, device, prompts)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    processID = try members.requiredInteger(1, as: Int32.self)
    stateDirectory = try decoded(members.requiredText(2))
    problems = []
    for value in try decoded(members.requiredArray(3)) {
      guard let problem = value.map else { throw ControlFailure(.unexpectedType, "a problem is not a map") }
      problems.append(try Problem(problem))
    }
    verification = try members.texts(4, "a means of verification")
    vault = try Vault(decoded(members.requiredMap(5)))
    device = try Device(decoded(members.requiredMap(6)))
    prompts = try PromptReport(decoded(members.requiredMap(7)))
    store = try Store(decoded(members.requiredMap(8)))
    backup = try Backup(decoded(members.requiredMap(9)))
    wallets = try Wallets(decoded(members.requiredMap(10)))
  }

  /// The problem of a kind of which there is at most one.
  package func problem(_ kind: Problem.Kind) -> Problem? { problems.first { $0.kind == kind } }

  package var members: CBORMap {
    CBORMap(present: [
      1: CBORValue(Int64(max(0, processID))), 2: .text(stateDirectory), 3: .array(problems.map { .map($0.members) }),
      4: .texts(verification), 5: .map(vault.members), 6: .map(device.members), 7: .map(prompts.members),
      8: .map(store.members), 9: .map(backup.members), 10: .map(wallets.members),
    ])
  }
}

extension AuthenticatorStatus {
  /// The vault: {1: condition, 2: fingerprint?, 3: previous fingerprint?, 4: lock reason?, 5: unlocked by?}.
  package struct Vault: Equatable, Sendable {
    package var condition: VaultCondition
    /// Identifies the phrase, 4 bytes; only while unlocked.
    package var fingerprint: [UInt8]?
    /// Identifies the previous phrase, 4 bytes; only while unlocked, during a move to a new phrase.
    package var previousFingerprint: [UInt8]?
    /// Why it was locked, in words, if it was open before.
    package var lockReason: String?
    /// What unlocked it, in words, if not the passphrase.
    package var unlockedBy: String?

    package init(
      _ condition: VaultCondition, fingerprint: [UInt8]? = nil, previousFingerprint: [UInt8]? = nil,
      lockReason: String? = nil, unlockedBy: String? = nil
    ) {
      (self.condition, self.fingerprint, self.previousFingerprint) = (condition, fingerprint, previousFingerprint)
      (self.lockReason, self.unlockedBy) = (lockReason, unlockedBy)
    }

    init(_ members: CBORMap) throws(ControlFailure) {
      let number = try members.requiredInteger(1, as: UInt8.self)
      guard let condition = VaultCondition(rawValue: number) else {
        throw ControlFailure(.invalidParameter, "unknown state of a vault: \(number)")
      }
      self.condition = condition
      fingerprint = try decoded(members.optionalBytes(2))
      previousFingerprint = try decoded(members.optionalBytes(3))
      lockReason = try decoded(members.optionalText(4))
      unlockedBy = try decoded(members.optionalText(5))
    }

    var members: CBORMap {
      CBORMap(present: [
        1: .number(condition.rawValue), 2: fingerprint.map(CBORValue.bytes),
        3: previousFingerprint.map(CBORValue.bytes), 4: lockReason.map(CBORValue.text),
        5: unlockedBy.map(CBORValue.text),
      ])
    }
  }

  /// The device: {1: transport, 2: attached, 3: node?, 4: access?, 5: stepped aside for?}.
  package struct Device: Equatable, Sendable {
    /// `broker`, `uhid`, `unix:PATH` or `pty`.
    package var transport: String
    /// Whether it is plugged in.
    package var attached: Bool
    /// The path that programs open: `/dev/hidrawN`, a pty or a socket.
    package var node: String?
    /// Who may open it, in words.
    package var access: String?
    /// The other key, `/dev/hidrawN` and its name, for which it is detached.
    package var steppedAsideFor: String?

    package init(
      transport: String, attached: Bool, node: String? = nil, access: String? = nil, steppedAsideFor: String? = nil
    ) {
      (self.transport, self.attached) = (transport, attached)
      (self.node, self.access, self.steppedAsideFor) = (node, access, steppedAsideFor)
    }

    init(_ members: CBORMap) throws(ControlFailure) {
      transport = try decoded(members.requiredText(1))
      attached = try decoded(members.requiredBool(2))
      node = try decoded(members.optionalText(3))
      access = try decoded(members.optionalText(4))
      steppedAsideFor = try decoded(members.optionalText(5))
    }

    /// The transport if it is not a device of the kernel, so that browsers do not see it.
    package var otherTransport: String? { ["broker", "uhid"].contains(transport) ? nil : transport }

    var members: CBORMap {
      CBORMap(present: [
        1: .text(transport), 2: .bool(attached), 3: node.map(CBORValue.text), 4: access.map(CBORValue.text),
        5: steppedAsideFor.map(CBORValue.text),
      ])
    }
  }

  /// The store; only while the vault is unlocked: {1: credentials?, 2: has readers?, 3: counter?, 4: default policy?}.
  package struct Store: Equatable, Sendable {
    /// How many credentials it has.
    package var credentials: UInt64?
    /// Whether a program may list the passkeys without asking again (permission pcmr).
    package var hasReaders: Bool?
    /// The value of the counter in the TPM; `nil` without a counter, or if the store does not agree with it.
    package var counter: UInt64?
    /// The policy of all sites that have none, as it is stored.
    package var defaultPolicy: UInt8?

    package init(
      credentials: UInt64? = nil, hasReaders: Bool? = nil, counter: UInt64? = nil, defaultPolicy: UInt8? = nil
    ) {
      (self.credentials, self.hasReaders) = (credentials, hasReaders)
      (self.counter, self.defaultPolicy) = (counter, defaultPolicy)
    }

    init(_ members: CBORMap) throws(ControlFailure) {
      credentials = try decoded(members.optionalUnsigned(1))
      hasReaders = try decoded(members.optionalBool(2))
      counter = try decoded(members.optionalUnsigned(3))
      defaultPolicy = try members.integer(4, as: UInt8.self)
    }

    var members: CBORMap {
      CBORMap(present: [
        1: credentials.map(CBORValue.unsigned), 2: hasReaders.map(CBORValue.bool), 3: counter.map(CBORValue.unsigned),
        4: defaultPolicy.map(CBORValue.number),
      ])
    }
  }

  /// Backups of the store; only while the vault is unlocked: {1: [file …]?, 2: problem?, 3: written?, 4: checked?,
  /// 5: folder?}.
  ///
  /// 1 and 2 are the members of ``report``: in a map of their own, the files would be nested too deeply for CTAP's CBOR
  /// (CTAP §8).
  package struct Backup: Equatable, Sendable {
    /// When one was written last, also in the followed folder, Unix milliseconds.
    package var written: UInt64?
    /// When a check last found one complete, Unix milliseconds.
    package var checked: UInt64?
    /// The folder that the store follows.
    package var folder: String?
    /// What the program that follows it reported last; `nil` if none runs.
    package var report: FollowReport?

    package init(
      written: UInt64? = nil, checked: UInt64? = nil, folder: String? = nil, report: FollowReport? = nil
    ) {
      (self.written, self.checked, self.folder, self.report) = (written, checked, folder, report)
    }

    init(_ members: CBORMap) throws(ControlFailure) {
      report = try members[1] == nil ? nil : FollowReport(members)
      written = try decoded(members.optionalUnsigned(3))
      checked = try decoded(members.optionalUnsigned(4))
      folder = try decoded(members.optionalText(5))
    }

    var members: CBORMap {
      var members = report?.members ?? [:]
      members[3] = written.map(CBORValue.unsigned)
      members[4] = checked.map(CBORValue.unsigned)
      members[5] = folder.map(CBORValue.text)
      return members
    }
  }

  /// What wallets get: {1: Algorand signatures, 2: association signatures, 3: open dApps, 4: dApps that are away}.
  package struct Wallets: Equatable, Sendable {
    /// How many signatures the Algorand accounts have given since the start: challenges, transactions and messages.
    package var algorandSignatures: UInt64
    /// How many signatures association keys have given since the start.
    package var associationSignatures: UInt64
    /// How many wallets have an open channel to a dApp.
    package var openDApps: UInt64
    /// How many wallets wait for a dApp to come back.
    package var awayDApps: UInt64

    package init(
      algorandSignatures: UInt64 = 0, associationSignatures: UInt64 = 0, openDApps: UInt64 = 0, awayDApps: UInt64 = 0
    ) {
      (self.algorandSignatures, self.associationSignatures) = (algorandSignatures, associationSignatures)
      (self.openDApps, self.awayDApps) = (openDApps, awayDApps)
    }

    init(_ members: CBORMap) throws(ControlFailure) {
      algorandSignatures = try decoded(members.requiredUnsigned(1))
      associationSignatures = try decoded(members.requiredUnsigned(2))
      openDApps = try decoded(members.requiredUnsigned(3))
      awayDApps = try decoded(members.requiredUnsigned(4))
    }

    var members: CBORMap {
      [
        1: .unsigned(algorandSignatures), 2: .unsigned(associationSignatures), 3: .unsigned(openDApps),
        4: .unsigned(awayDApps),
      ]
    }
  }
}
