import CryptoPrimitives
import DeterministicKeys

/// One line that a prompt shows of a transaction.
///
/// Labels are fixed. In a value, all text that the transaction's author chose is quoted, so a value cannot look like
/// another line or end one.
public struct SummaryLine: Hashable, Sendable {
  /// What the line is about.
  public let label: String
  /// The value: visible ASCII, except for letters in quotation marks.
  public let value: String
  /// Whether this may cost more than it seems, or cannot be undone.
  public let isWarning: Bool
  /// Whether the value is the sender's address alone.
  public let isSender: Bool

  init(_ label: String, _ value: String, isWarning: Bool = false, isSender: Bool = false) {
    self.label = label
    self.value = value
    self.isWarning = isWarning
    self.isSender = isSender
  }
}

extension Transaction {
  /// A fee above this, in microalgos, is a warning: ten times the least, 0.01 ALGO.
  ///
  /// One transaction may pay the fees of its group and of inner calls; more than ten at once are rare.
  public static let usualFee: UInt64 = 10_000

  /// The lines that a prompt shows, always in the same order.
  ///
  /// What the transaction does, who, how much, the fee, what cannot be undone, the details, and where and when it is
  /// valid.
  public var summary: [SummaryLine] {
    [SummaryLine("Transaction", content.kind), SummaryLine("From", sender.text, isSender: true)]
      + content.subject + [feeLine] + content.consequences(sender: sender) + rekeying + content.details + validity
  }

  /// The short form of a long summary: the kind, every warning, what is moved or called, and the fee.
  var essence: [SummaryLine] {
    [SummaryLine("Transaction", content.kind)] + Self.gravestFirst(summary.filter(\.isWarning), \.label)
      + (content.subject + [feeLine]).filter { !$0.isWarning }
  }

  /// Moves the warnings about giving away the account, or all of an asset, to the front; otherwise keeps the order.
  static func gravestFirst<Warning>(_ warnings: [Warning], _ label: (Warning) -> String) -> [Warning] {
    let gravest = ["Rekey", "Close account", "Close asset"]
    return warnings.filter { gravest.contains(label($0)) } + warnings.filter { !gravest.contains(label($0)) }
  }

  private var feeLine: SummaryLine {
    SummaryLine("Fee", algos(fee) + (fee > Self.usualFee ? ", unusually high" : ""), isWarning: fee > Self.usualFee)
  }

  private var rekeying: [SummaryLine] {
    rekeyTo.map { [SummaryLine("Rekey", "gives the control of the account to \($0)", isWarning: true)] } ?? []
  }

  private var validity: [SummaryLine] {
    var lines: [SummaryLine] = []
    if !note.isEmpty { lines.append(SummaryLine("Note", note.shown)) }
    lines += validityFrame
    if let lease { lines.append(SummaryLine("Lease", lease.base64)) }
    return lines
  }

  /// The network, the rounds and the group in which it is valid.
  var validityFrame: [SummaryLine] {
    [networkLine, SummaryLine("Valid", "rounds \(firstValid) to \(lastValid)")]
      + (group.map { [SummaryLine("Group", "\($0.base64.prefix(12))...")] } ?? [])
  }

  /// The name of a public network, or a warning with the hash and name of an unknown one.
  ///
  /// The same account may hold funds there.
  private var networkLine: SummaryLine {
    if let network = Network(genesisHash: genesisHash) { return SummaryLine("Network", network.genesisID) }
    let hash = "genesis hash \(genesisHash.base64)"
    let text = genesisID.isEmpty ? hash : "\(hash), calls itself \(genesisID.quoted)"
    return SummaryLine("Network", text, isWarning: true)
  }
}

// MARK: - By type

extension Transaction.Content {
  /// What the transaction does, in a few words.
  public var kind: String {
    switch self {
    case .payment: "payment"
    case .assetTransfer(let transfer) where transfer.assetSender != nil: "asset clawback"
    case .assetTransfer: "asset transfer"
    case .assetConfiguration(let configuration) where configuration.asset == 0: "asset creation"
    case .assetConfiguration(let configuration) where configuration.parameters == nil: "asset destruction"
    case .assetConfiguration: "asset reconfiguration"
    case .assetFreeze(let freeze): freeze.isFrozen ? "asset freeze" : "asset unfreeze"
    case .applicationCall(let call): call.application == 0 ? "application creation" : "application call"
    case .keyRegistration(.online): "key registration, online"
    case .keyRegistration(.offline): "key registration, offline"
    case .keyRegistration(.nonparticipating): "key registration, nonparticipating"
    }
  }

  /// What is moved or called.
  fileprivate var subject: [SummaryLine] {
    switch self {
    case .payment(let payment): payment.subject
    case .assetTransfer(let transfer): transfer.subject
    case .assetConfiguration(let configuration): configuration.subject
    case .assetFreeze(let freeze): freeze.subject
    case .applicationCall(let call): call.subject
    case .keyRegistration: []
    }
  }

  /// Effects that are easily missed, or cannot be undone.
  fileprivate func consequences(sender: AlgorandAddress) -> [SummaryLine] {
    switch self {
    case .payment(let payment): payment.consequences
    case .assetTransfer(let transfer): transfer.consequences(sender: sender)
    case .assetConfiguration(let configuration): configuration.consequences
    case .applicationCall(let call): call.consequences
    case .keyRegistration(.nonparticipating):
      [SummaryLine("Participation", "the account can never take part again", isWarning: true)]
    case .keyRegistration(.online):
      [SummaryLine("Participation", "whoever has these keys votes with the account's stake", isWarning: true)]
    case .assetFreeze, .keyRegistration: []
    }
  }

  /// Everything else.
  fileprivate var details: [SummaryLine] {
    switch self {
    case .assetConfiguration(let configuration): configuration.parameters?.details ?? []
    case .applicationCall(let call): call.details
    case .keyRegistration(.online(let keys)): keys.details
    case .payment, .assetTransfer, .assetFreeze, .keyRegistration: []
    }
  }
}

extension Payment {
  fileprivate var subject: [SummaryLine] {
    [receiverLine(receiver, losesAnything: amount > 0), SummaryLine("Amount", algos(amount))]
  }

  fileprivate var consequences: [SummaryLine] {
    closeRemainderTo.map { [SummaryLine("Close account", "sends ALL that is left to \($0)", isWarning: true)] } ?? []
  }
}

extension AssetTransfer {
  fileprivate var subject: [SummaryLine] {
    [SummaryLine("Asset", "\(asset)")]
      + (assetSender.map { [SummaryLine("Taken from", $0.text, isWarning: true)] } ?? [])
      + [receiverLine(receiver, losesAnything: amount > 0), SummaryLine("Amount", plural(amount, "base unit"))]
  }

  fileprivate func consequences(sender: AlgorandAddress) -> [SummaryLine] {
    if let closeTo {
      return [SummaryLine("Close asset", "sends ALL that is left of asset \(asset) to \(closeTo)", isWarning: true)]
    }
    // Nodes recognize an opt-in like this: the account sends 0 of the asset to itself.
    let isOptIn = amount == 0 && receiver == sender && assetSender == nil
    return isOptIn ? [SummaryLine("Opt-in", "the account can hold the asset; its minimum balance is raised")] : []
  }
}

extension AssetConfiguration {
  fileprivate var subject: [SummaryLine] { asset == 0 ? [] : [SummaryLine("Asset", "\(asset)")] }

  /// A role that a reconfiguration leaves out is gone for ever.
  fileprivate var consequences: [SummaryLine] {
    guard asset != 0 else { return [creation(of: "asset", until: "destroyed")] }
    guard let parameters else { return [SummaryLine("Destruction", "the asset is gone for ever", isWarning: true)] }
    return parameters.roles.filter { $0.address == nil }
      .map { SummaryLine($0.name, "nobody from now on, for ever", isWarning: true) }
  }
}

extension AssetConfiguration.Parameters {
  fileprivate var roles: [(name: String, address: AlgorandAddress?)] {
    [("Manager", manager), ("Reserve", reserve), ("Freeze", freeze), ("Clawback", clawback)]
  }

  fileprivate var details: [SummaryLine] {
    var lines: [SummaryLine] = []
    if !assetName.isEmpty { lines.append(SummaryLine("Asset name", assetName.quoted)) }
    if !unitName.isEmpty { lines.append(SummaryLine("Unit name", unitName.quoted)) }
    if total > 0 { lines.append(SummaryLine("Total", plural(total, "base unit"))) }
    if decimals > 0 { lines.append(SummaryLine("Decimals", "\(decimals)")) }
    if isFrozenByDefault { lines.append(SummaryLine("Holdings", "frozen at first")) }
    for role in roles { if let address = role.address { lines.append(SummaryLine(role.name, address.text)) } }
    if !url.isEmpty { lines.append(SummaryLine("URL", url.quoted)) }
    if let metadataHash { lines.append(SummaryLine("Metadata hash", metadataHash.base64)) }
    return lines
  }
}

extension AssetFreeze {
  fileprivate var subject: [SummaryLine] {
    [SummaryLine("Asset", "\(asset)"), SummaryLine(isFrozen ? "Freezes" : "Unfreezes", account.text)]
  }
}

extension ApplicationCall {
  fileprivate var subject: [SummaryLine] {
    (application == 0 ? [] : [SummaryLine("Application", "\(application)")])
      + [SummaryLine("On completion", onCompletion.name)]
  }

  fileprivate var consequences: [SummaryLine] {
    (application == 0 ? [creation(of: "application", until: "deleted")] : []) + consequencesOfCompletion
  }

  private var consequencesOfCompletion: [SummaryLine] {
    switch onCompletion {
    case .optIn: [SummaryLine("Opt-in", "the application keeps data for the account; its minimum balance is raised")]
    case .clearState: [SummaryLine("Clear state", "the application's data for the account are lost", isWarning: true)]
    case .updateApplication: [SummaryLine("Update", "the application's programs are replaced", isWarning: true)]
    case .deleteApplication: [SummaryLine("Deletion", "the application is gone for ever", isWarning: true)]
    case .noOp, .closeOut: []
    }
  }

  fileprivate var details: [SummaryLine] {
    argumentLines
      + list("Accounts", accounts) { $0.text }
      + list("Applications", foreignApplications) { "\($0)" }
      + list("Assets", foreignAssets) { "\($0)" }
      + list("Boxes", boxes) { $0.text }
      + list("Access", access) { $0.text }
      + globalState.line("Global state") + localState.line("Local state")
      + program("Approval program", approvalProgram) + program("Clear state program", clearStateProgram)
      + (extraProgramPages == 0 ? [] : [SummaryLine("Extra pages", "\(extraProgramPages)")])
      + (rejectVersion == 0 ? [] : [SummaryLine("Rejected from", "version \(rejectVersion)")])
  }

  /// Each argument in full: the receiver and amount of a payment by an application may be nowhere else.
  ///
  /// 32 bytes may be an address, as in transfers of ARC-200.
  private var argumentLines: [SummaryLine] {
    arguments.enumerated().map { index, argument in
      let address = argument.count == 32 ? ", as an address \(AlgorandAddress(publicKey: argument))" : ""
      return SummaryLine("Argument \(index + 1)", argument.counted + address)
    }
  }

  private func list<Element>(_ label: String, _ elements: [Element], _ text: (Element) -> String) -> [SummaryLine] {
    elements.isEmpty ? [] : [SummaryLine(label, "\(elements.count): \(elements.map(text).joined(separator: ", "))")]
  }

  /// A program by the hash that `goal clerk compile` shows for it: SHA-512/256 of "Program" ‖ program, as an address.
  private func program(_ label: String, _ program: [UInt8]) -> [SummaryLine] {
    guard !program.isEmpty else { return [] }
    let hash = AlgorandAddress(publicKey: SHA512_256.hash(Array("Program".utf8), program))
    return [SummaryLine(label, "\(plural(UInt64(program.count), "byte")), hash \(hash)")]
  }
}

extension ApplicationCall.OnCompletion {
  /// The name in Algorand's documentation.
  fileprivate var name: String {
    switch self {
    case .noOp: "NoOp"
    case .optIn: "OptIn"
    case .closeOut: "CloseOut"
    case .clearState: "ClearState"
    case .updateApplication: "UpdateApplication"
    case .deleteApplication: "DeleteApplication"
    }
  }
}

extension ApplicationCall.StateSchema {
  fileprivate func line(_ label: String) -> [SummaryLine] {
    guard integers > 0 || byteStrings > 0 else { return [] }
    return [SummaryLine(label, "\(plural(integers, "integer")), \(plural(byteStrings, "byte string"))")]
  }
}

extension ApplicationCall.BoxReference {
  fileprivate var text: String { "\(name.shown) of \(index == 0 ? "this application" : "no. \(index)")" }
}

extension ApplicationCall.ResourceReference {
  fileprivate var text: String {
    switch self {
    case .none: "none"
    case .account(let account): "account \(account)"
    case .asset(let asset): "asset \(asset)"
    case .application(let application): "application \(application)"
    case .holding(let account, let asset): "holding of \(Self.holder(account)) in no. \(asset)"
    case .localState(let account, let application):
      "state of \(Self.holder(account)) in \(application == 0 ? "this application" : "no. \(application)")"
    case .box(let box): "box \(box.text)"
    }
  }

  private static func holder(_ position: UInt64) -> String { position == 0 ? "the sender" : "no. \(position)" }
}

extension KeyRegistration.ParticipationKeys {
  fileprivate var details: [SummaryLine] {
    [
      SummaryLine("Vote key", voteKey.base64), SummaryLine("Selection key", selectionKey.base64),
      SummaryLine("State proof key", stateProofKey?.base64 ?? "none"),
      SummaryLine("Takes part", "rounds \(firstRound) to \(lastRound), key dilution \(keyDilution)"),
    ]
  }
}

// MARK: - Values

/// The line of the receiver; the key of the zero address is unknown.
private func receiverLine(_ receiver: AlgorandAddress?, losesAnything: Bool) -> SummaryLine {
  guard let receiver else {
    return SummaryLine("To", "the zero address, whose key nobody has", isWarning: losesAnything)
  }
  return SummaryLine("To", receiver.text)
}

/// A new asset or application raises the account's minimum balance, perhaps for ever (ARC-1, Transaction Validation).
private func creation(of thing: String, until end: String) -> SummaryLine {
  SummaryLine("Creation", "raises the account's minimum balance until the \(thing) is \(end)", isWarning: true)
}

/// Microalgos as algos, with all six decimals and never rounded.
func algos<Number: UnsignedInteger>(_ microalgos: Number) -> String {
  let decimals = String(microalgos % 1_000_000)
  return "\(microalgos / 1_000_000).\(String(repeating: "0", count: 6 - decimals.count))\(decimals) ALGO"
}
