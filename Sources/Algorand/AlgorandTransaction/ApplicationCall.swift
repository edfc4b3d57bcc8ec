public import DeterministicKeys

/// Calls an application, or creates, updates, joins, leaves or deletes it (`appl`).
public struct ApplicationCall: Hashable, Sendable {
  /// The most elements that nodes accept in a list other than ``access``.
  private static let maximumListCount = 32
  /// The most elements that nodes accept in ``access``.
  private static let maximumAccessCount = 64

  /// The application's id (`apid`); 0 creates a new one.
  public let application: UInt64
  /// The action that completes the call (`apan`).
  public let onCompletion: OnCompletion
  /// The arguments of the program (`apaa`).
  public let arguments: [[UInt8]]
  /// Accounts that the program may read (`apat`).
  public let accounts: [AlgorandAddress]
  /// Applications that the program may read (`apfa`).
  public let foreignApplications: [UInt64]
  /// Assets that the program may read (`apas`).
  public let foreignAssets: [UInt64]
  /// Boxes that the program may use (`apbx`).
  public let boxes: [BoxReference]
  /// All of these in one list (`al`), which replaces the four above.
  public let access: [ResourceReference]
  /// The schema of a new application's global state (`apgs`).
  public let globalState: StateSchema
  /// The schema of a new application's state in each account (`apls`).
  public let localState: StateSchema
  /// The approval program (`apap`).
  public let approvalProgram: [UInt8]
  /// The program that runs when an account clears its state (`apsu`).
  public let clearStateProgram: [UInt8]
  /// Pages of program beyond the first (`apep`).
  public let extraProgramPages: UInt64
  /// The call fails from this version of the application on (`aprv`); 0 sets no limit.
  public let rejectVersion: UInt64

  /// The action that completes a call.
  public enum OnCompletion: UInt64, Hashable, Sendable {
    /// Nothing.
    case noOp
    /// The sender joins the application.
    case optIn
    /// The sender leaves the application, if its program agrees.
    case closeOut
    /// The sender leaves the application in any case.
    case clearState
    /// The application's programs are replaced.
    case updateApplication
    /// The application is deleted.
    case deleteApplication
  }

  /// The number of values of each kind in a state.
  public struct StateSchema: Hashable, Sendable {
    /// Numbers (`nui`).
    public let integers: UInt64
    /// Byte strings (`nbs`).
    public let byteStrings: UInt64
  }

  /// A box of an application.
  public struct BoxReference: Hashable, Sendable {
    /// The application that owns it (`i`): 0 for the called application, else a position, from 1, in the list of
    /// applications.
    public let index: UInt64
    /// Its name (`n`).
    public let name: [UInt8]
  }

  /// One element of ``access``.
  ///
  /// Positions count from 1 in that list; 0 is the sender or the called application.
  public enum ResourceReference: Hashable, Sendable {
    /// An empty element, which adds room for bytes of boxes.
    case none
    /// An account (`d`).
    case account(AlgorandAddress)
    /// An asset (`s`).
    case asset(UInt64)
    /// An application (`p`).
    case application(UInt64)
    /// The holding (`h`) of the account at one position in the asset at another.
    case holding(account: UInt64, asset: UInt64)
    /// The state (`l`) of the account at one position in the application at another.
    case localState(account: UInt64, application: UInt64)
    /// A box (`b`).
    case box(BoxReference)
  }

  init(_ members: inout Members) throws(TransactionError) {
    application = try members.unsigned("apid")
    guard let completion = OnCompletion(rawValue: try members.unsigned("apan")) else { throw .outOfRange("apan") }
    onCompletion = completion
    arguments = try members.array("apaa", upTo: Self.maximumListCount, Members.bytes)
    accounts = try members.array("apat", upTo: Self.maximumListCount, Members.address)
    foreignApplications = try members.array("apfa", upTo: Self.maximumListCount, Members.unsigned)
    foreignAssets = try members.array("apas", upTo: Self.maximumListCount, Members.unsigned)
    boxes = try members.array("apbx", upTo: Self.maximumListCount, BoxReference.init)
    access = try members.array("al", upTo: Self.maximumAccessCount, ResourceReference.init)
    globalState = try StateSchema(members.members("apgs"))
    localState = try StateSchema(members.members("apls"))
    approvalProgram = try members.bytes("apap")
    clearStateProgram = try members.bytes("apsu")
    extraProgramPages = try members.unsigned("apep", upTo: UInt64(UInt32.max))
    rejectVersion = try members.unsigned("aprv")
    try checkReferences()
  }

  /// Checks that every position is within its list, and that ``access`` excludes the four old lists.
  private func checkReferences() throws(TransactionError) {
    guard boxes.allSatisfy({ $0.index <= foreignApplications.count }) else { throw .outOfRange("apbx.i") }
    guard access.allSatisfy({ $0.positions.allSatisfy { $0 <= access.count } }) else { throw .outOfRange("al") }
    guard !access.isEmpty else { return }
    let counts = [
      ("apat", accounts.count), ("apfa", foreignApplications.count), ("apas", foreignAssets.count),
      ("apbx", boxes.count),
    ]
    for (name, count) in counts where count > 0 { throw .contradiction("al", name) }
  }
}

extension ApplicationCall.StateSchema {
  /// Reads a schema; an absent one is all zeros.
  fileprivate init(_ members: Members?) throws(TransactionError) {
    guard var members else {
      (integers, byteStrings) = (0, 0)
      return
    }
    integers = try members.unsigned("nui")
    byteStrings = try members.unsigned("nbs")
    try members.finish()
  }
}

extension ApplicationCall.BoxReference {
  fileprivate init(_ value: MessagePack, of name: String) throws(TransactionError) {
    try self.init(Members(value, of: name))
  }

  fileprivate init(_ members: Members) throws(TransactionError) {
    var members = members
    index = try members.unsigned("i")
    name = try members.bytes("n")
    try members.finish()
  }
}

extension ApplicationCall.ResourceReference {
  fileprivate init(_ value: MessagePack, of name: String) throws(TransactionError) {
    var members = try Members(value, of: name)
    self = try Self.read(&members) ?? .none
    // A member that is left belongs to a second kind, or is unknown.
    try members.finish()
  }

  private static func read(_ members: inout Members) throws(TransactionError) -> Self? {
    if let address = try members.address("d") { return .account(address) }
    let asset = try members.unsigned("s")
    if asset != 0 { return .asset(asset) }
    let application = try members.unsigned("p")
    if application != 0 { return .application(application) }
    if var holding = try members.members("h") {
      let result = Self.holding(account: try holding.unsigned("d"), asset: try holding.unsigned("s"))
      try holding.finish()
      return result
    }
    if var state = try members.members("l") {
      let result = Self.localState(account: try state.unsigned("d"), application: try state.unsigned("p"))
      try state.finish()
      return result
    }
    return try members.members("b").map { members throws(TransactionError) in
      .box(try ApplicationCall.BoxReference(members))
    }
  }

  /// The positions in the list that this element refers to.
  fileprivate var positions: [UInt64] {
    switch self {
    case .none, .account, .asset, .application: []
    case .holding(let account, let asset): [account, asset]
    case .localState(let account, let application): [account, application]
    case .box(let box): [box.index]
    }
  }
}
