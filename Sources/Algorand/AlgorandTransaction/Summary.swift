import CryptoPrimitives
import DeterministicKeys
public import Messages

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
    [kindLine, SummaryLine(Message("From"), verbatim: sender.grouped, isSender: true)]
      + content.subject + [feeLine] + content.consequences(sender: sender) + rekeying + limitLines
      + content.details + validity
  }

  /// The short form of a long summary: the kind, every warning, what is moved or called, and the fee.
  var essence: [SummaryLine] {
    [kindLine] + Self.gravestFirst(summary.filter(\.isWarning), \.label)
      + (content.subject + [feeLine]).filter { !$0.isWarning }
  }

  private var kindLine: SummaryLine { SummaryLine(Message("Transaction"), content.kind) }

  /// Moves the warnings about giving away the account, or all of an asset, to the front; otherwise keeps the order.
  static func gravestFirst<Warning>(_ warnings: [Warning], _ label: (Warning) -> Message) -> [Warning] {
    let gravest = [Message("Rekey"), Message("Close account"), Message("Close asset")]
    return warnings.filter { gravest.contains(label($0)) } + warnings.filter { !gravest.contains(label($0)) }
  }

  private var feeLine: SummaryLine {
    fee > Self.usualFee
      ? SummaryLine(Message("Fee"), Message("\(algos(fee)), unusually high"), isWarning: true)
      : SummaryLine(Message("Fee"), algos(fee))
  }

  private var rekeying: [SummaryLine] {
    rekeyTo.map {
      [SummaryLine(Message("Rekey"), Message("gives control of the account to \($0.grouped)"), isWarning: true)]
    } ?? []
  }

  private var validity: [SummaryLine] {
    var lines: [SummaryLine] = []
    if !note.isEmpty { lines.append(SummaryLine(Message("Note"), note.shown, short: note.short)) }
    lines += validityFrame
    if let lease { lines.append(SummaryLine(Message("Lease"), verbatim: lease.base64)) }
    return lines
  }

  /// The network, the rounds and the group in which it is valid.
  var validityFrame: [SummaryLine] {
    [networkLine, SummaryLine(Message("Valid"), Message("rounds \(firstValid) to \(lastValid)"))]
      + (group.map { [SummaryLine(Message("Group"), verbatim: "\($0.base64.prefix(12))...")] } ?? [])
  }

  /// The name of a public network, or a warning with the hash and name of an unknown one.
  ///
  /// The same account may hold funds there.
  var networkLine: SummaryLine {
    if let network = Network(genesisHash: genesisHash) {
      return SummaryLine(Message("Network"), verbatim: network.genesisID)
    }
    let hash = Message("genesis hash \(genesisHash.base64)")
    let text = genesisID.isEmpty ? hash : Message("\(hash), calls itself \(genesisID.quoted)")
    let short = Message("\(hash), name of \(Array(genesisID.utf8).short)")
    return SummaryLine(Message("Network"), text, short: short, isWarning: true)
  }
}

// MARK: - By type

extension Transaction.Content {
  /// What the transaction does, in a few words.
  public var kind: Message {
    switch self {
    case .payment: Message("payment")
    case .assetTransfer(let transfer) where transfer.assetSender != nil: Message("asset clawback")
    case .assetTransfer: Message("asset transfer")
    case .assetConfiguration(let configuration) where configuration.asset == 0: Message("asset creation")
    case .assetConfiguration(let configuration) where configuration.parameters == nil: Message("asset destruction")
    case .assetConfiguration: Message("asset reconfiguration")
    case .assetFreeze(let freeze): freeze.isFrozen ? Message("asset freeze") : Message("asset unfreeze")
    case .applicationCall(let call):
      call.application == 0 ? Message("application creation") : Message("application call")
    case .keyRegistration(.online): Message("key registration, online")
    case .keyRegistration(.offline): Message("key registration, offline")
    case .keyRegistration(.nonparticipating): Message("key registration, nonparticipating")
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
      [
        SummaryLine(
          Message("Participation"), Message("the account can never take part again"), isWarning: true)
      ]
    case .keyRegistration(.online):
      [
        SummaryLine(
          Message("Participation"), Message("anyone who has these keys votes with the account's stake"), isWarning: true
        )
      ]
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
    [receiverLine(receiver, losesAnything: amount > 0), SummaryLine(Message("Amount"), algos(amount))]
  }

  fileprivate var consequences: [SummaryLine] {
    closeRemainderTo.map {
      [SummaryLine(Message("Close account"), Message("sends ALL that is left to \($0.grouped)"), isWarning: true)]
    } ?? []
  }
}

extension AssetTransfer {
  fileprivate var subject: [SummaryLine] {
    [assetLine(asset)]
      + (assetSender.map { [SummaryLine(Message("Taken from"), verbatim: $0.grouped, isWarning: true)] } ?? [])
      + [receiverLine(receiver, losesAnything: amount > 0), SummaryLine(Message("Amount"), smallestUnits(amount))]
  }

  fileprivate func consequences(sender: AlgorandAddress) -> [SummaryLine] {
    if let closeTo {
      let text = Message("sends ALL that is left of asset \(asset) to \(closeTo.grouped)")
      return [SummaryLine(Message("Close asset"), text, isWarning: true)]
    }
    // Nodes recognize an opt-in like this: the account sends 0 of the asset to itself.
    let isOptIn = amount == 0 && receiver == sender && assetSender == nil
    guard isOptIn else { return [] }
    return [SummaryLine(Message("Opt-in"), Message("the account can hold the asset; its minimum balance is raised"))]
  }
}

extension AssetConfiguration {
  fileprivate var subject: [SummaryLine] { asset == 0 ? [] : [assetLine(asset)] }

  /// A role that a reconfiguration leaves out is gone for ever.
  fileprivate var consequences: [SummaryLine] {
    guard asset != 0 else {
      return [creation(Message("raises the account's minimum balance until the asset is destroyed"))]
    }
    guard let parameters else {
      return [SummaryLine(Message("Destruction"), Message("the asset is destroyed permanently"), isWarning: true)]
    }
    return parameters.roles.filter { $0.address == nil }
      .map { SummaryLine($0.name, Message("nobody, permanently"), isWarning: true) }
  }
}

extension AssetConfiguration.Parameters {
  fileprivate var roles: [(name: Message, address: AlgorandAddress?)] {
    [
      (Message("Manager"), manager), (Message("Reserve"), reserve), (Message("Freeze"), freeze),
      (Message("Clawback"), clawback),
    ]
  }

  fileprivate var details: [SummaryLine] {
    var lines: [SummaryLine] = []
    if !assetName.isEmpty { lines.append(SummaryLine(Message("Asset name"), verbatim: assetName.quoted)) }
    if !unitName.isEmpty { lines.append(SummaryLine(Message("Unit name"), verbatim: unitName.quoted)) }
    if total > 0 { lines.append(SummaryLine(Message("Total"), smallestUnits(total))) }
    if decimals > 0 { lines.append(SummaryLine(Message("Decimals"), verbatim: "\(decimals)")) }
    if isFrozenByDefault { lines.append(SummaryLine(Message("Holdings"), Message("frozen by default"))) }
    for role in roles {
      if let address = role.address { lines.append(SummaryLine(role.name, verbatim: address.grouped)) }
    }
    if !url.isEmpty { lines.append(SummaryLine(Message("URL"), verbatim: url.quoted)) }
    if let metadataHash { lines.append(SummaryLine(Message("Metadata hash"), verbatim: metadataHash.base64)) }
    return lines
  }
}

extension AssetFreeze {
  fileprivate var subject: [SummaryLine] {
    [assetLine(asset), SummaryLine(isFrozen ? Message("Freezes") : Message("Unfreezes"), verbatim: account.grouped)]
  }
}

extension ApplicationCall {
  fileprivate var subject: [SummaryLine] {
    (application == 0 ? [] : [SummaryLine(Message("Application"), verbatim: "\(application)")])
      + [SummaryLine(Message("On completion"), verbatim: onCompletion.name)]
  }

  fileprivate var consequences: [SummaryLine] {
    (application == 0
      ? [creation(Message("raises the account's minimum balance until the application is deleted"))] : [])
      + consequencesOfCompletion
  }

  private var consequencesOfCompletion: [SummaryLine] {
    switch onCompletion {
    case .optIn:
      [
        SummaryLine(
          Message("Opt-in"), Message("the application keeps data for the account; its minimum balance is raised"))
      ]
    case .clearState:
      [
        SummaryLine(
          Message("Clear state"), Message("the application's data for the account are lost"), isWarning: true)
      ]
    case .updateApplication:
      [SummaryLine(Message("Update"), Message("the application's programs are replaced"), isWarning: true)]
    case .deleteApplication:
      [SummaryLine(Message("Deletion"), Message("the application is deleted permanently"), isWarning: true)]
    case .noOp, .closeOut: []
    }
  }

  fileprivate var details: [SummaryLine] {
    argumentLines
      + list(Message("Accounts"), accounts) { Message(verbatim: $0.grouped) }
      + list(Message("Applications"), foreignApplications) { Message(verbatim: "\($0)") }
      + list(Message("Assets"), foreignAssets) { Message(verbatim: "\($0)") }
      + list(Message("Boxes"), boxes) { $0.text }
      + list(Message("Access"), access) { $0.text }
      + globalState.line(Message("Global state")) + localState.line(Message("Local state"))
      + program(Message("Approval program"), approvalProgram)
      + program(Message("Clear state program"), clearStateProgram)
      + (extraProgramPages == 0 ? [] : [SummaryLine(Message("Extra pages"), verbatim: "\(extraProgramPages)")])
      + (rejectVersion == 0 ? [] : [SummaryLine(Message("Rejected from"), Message("version \(rejectVersion)"))])
  }

  /// Each argument: the receiver and amount of a payment by an application may be nowhere else.
  ///
  /// 32 bytes may be an address, as in transfers of ARC-200.
  private var argumentLines: [SummaryLine] {
    arguments.enumerated().map { index, argument in
      let text =
        argument.count == 32
        ? Message("\(argument.counted), as an address \(AlgorandAddress(publicKey: argument).grouped)")
        : argument.countedAsText ?? argument.counted
      return SummaryLine(Message("Argument \(index + 1)"), text, short: argument.short)
    }
  }

  private func list<Element>(_ label: Message, _ elements: [Element], _ text: (Element) -> Message) -> [SummaryLine] {
    guard !elements.isEmpty else { return [] }
    let count = Message(verbatim: "\(elements.count)")
    let value = [count, elements.map(text).joined(by: ", ")].joined(by: ": ")
    let whole = Array(value.description.utf8)
    return [
      SummaryLine(
        label, value,
        short: Message(
          "\(count), beginning with \(text(elements[0])), SHA-256 of the text \(SHA256.hash(whole).hexadecimal)"))
    ]
  }

  /// A program by the hash that `goal clerk compile` shows for it: SHA-512/256 of "Program" ‖ program, as an address.
  private func program(_ label: Message, _ program: [UInt8]) -> [SummaryLine] {
    guard !program.isEmpty else { return [] }
    let hash = AlgorandAddress(publicKey: SHA512_256.hash(Array("Program".utf8), program))
    return [SummaryLine(label, Message("\(program.size), hash \(hash.text)"))]
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
  fileprivate func line(_ label: Message) -> [SummaryLine] {
    guard integers > 0 || byteStrings > 0 else { return [] }
    let integers = Message("\(integers) integer", plural: "\(integers) integers", count: integers)
    let byteStrings = Message("\(byteStrings) byte string", plural: "\(byteStrings) byte strings", count: byteStrings)
    return [SummaryLine(label, [integers, byteStrings].joined(by: ", "))]
  }
}

extension ApplicationCall.BoxReference {
  fileprivate var text: Message {
    index == 0 ? Message("\(name.shown) of this application") : Message("\(name.shown) of no. \(index)")
  }
}

extension ApplicationCall.ResourceReference {
  fileprivate var text: Message {
    switch self {
    case .none: Message("none")
    case .account(let account): Message("account \(account.grouped)")
    case .asset(let asset): Message("asset \(asset)")
    case .application(let application): Message("application \(application)")
    case .holding(let account, let asset): Message("holding of \(Self.holder(account)) in no. \(asset)")
    case .localState(let account, 0): Message("state of \(Self.holder(account)) in this application")
    case .localState(let account, let application):
      Message("state of \(Self.holder(account)) in no. \(application)")
    case .box(let box): Message("box \(box.text)")
    }
  }

  private static func holder(_ position: UInt64) -> Message {
    position == 0 ? Message("the sender") : Message("no. \(position)")
  }
}

extension KeyRegistration.ParticipationKeys {
  fileprivate var details: [SummaryLine] {
    [
      SummaryLine(Message("Vote key"), verbatim: voteKey.base64),
      SummaryLine(Message("Selection key"), verbatim: selectionKey.base64),
      SummaryLine(Message("State proof key"), stateProofKey.map { Message(verbatim: $0.base64) } ?? Message("none")),
      SummaryLine(
        Message("Takes part"), Message("rounds \(firstRound) to \(lastRound), key dilution \(keyDilution)")),
    ]
  }
}

// MARK: - Values

private func assetLine(_ asset: UInt64) -> SummaryLine { SummaryLine(Message("Asset"), verbatim: "\(asset)") }

/// The line of the receiver; the key of the zero address is unknown.
private func receiverLine(_ receiver: AlgorandAddress?, losesAnything: Bool) -> SummaryLine {
  guard let receiver else {
    return SummaryLine(
      Message("To"), Message("the zero address, whose key nobody has"), isWarning: losesAnything)
  }
  return SummaryLine(Message("To"), verbatim: receiver.grouped)
}

/// A new asset or application raises the account's minimum balance, perhaps for ever (ARC-1, Transaction Validation).
private func creation(_ consequence: Message) -> SummaryLine {
  SummaryLine(Message("Creation"), consequence, isWarning: true)
}

/// Microalgos as algos, with all six decimals, never rounded; the catalogue sets the decimal separator of the language.
func algos<Number: UnsignedInteger>(_ microalgos: Number) -> Message {
  let digits = String(microalgos % 1_000_000)
  let (whole, decimals) = (microalgos / 1_000_000, String(repeating: "0", count: 6 - digits.count) + digits)
  return Message("\(whole).\(decimals) ALGO")
}
