public import CBOR

/// What a request is answered with when it was done.
public protocol ControlAnswer: Sendable {
  /// Reads the members of an answer; those that it does not know are ignored.
  init(_ members: CBORMap) throws(ControlFailure)
  /// The members of the answer.
  var members: CBORMap { get }
}

/// The answer of a request that has nothing to tell: the status byte alone.
public struct Done: ControlAnswer, Equatable {
  /// Nothing to join.
  public init() {}
  /// Nothing to read.
  public init(_ members: CBORMap) throws(ControlFailure) {}
  /// No members.
  public var members: CBORMap { [:] }
}

/// The answer to the first request of a connection: {1: version, 2: process id}.
public struct Hello: ControlAnswer, Equatable {
  /// The version that the authenticator speaks.
  public var version: UInt64
  /// The authenticator's process.
  public var processID: Int32

  /// Joins the members.
  public init(version: UInt64 = ControlMessage.version, processID: Int32) {
    self.version = version
    self.processID = processID
  }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) {
    version = try told(members.requiredUnsigned(1))
    processID = try members.requiredInteger(2, as: Int32.self)
  }

  /// The members of the answer.
  public var members: CBORMap { [1: .unsigned(version), 2: CBORValue(Int64(max(0, processID)))] }
}

extension ControlAnswer {
  /// The answer as it goes into one packet: status 0 ‖ members.
  public var encoded: [UInt8] { [ControlStatus.ok.rawValue] + members.encodedMembers }

  /// Reads one packet.
  ///
  /// - Throws: the failure that the packet carries, or `other` when it is no answer at all.
  public init(decoding message: [UInt8]) throws(ControlFailure) {
    guard let status = message.first.map(ControlStatus.init(rawValue:)) else {
      throw ControlFailure(.other, "the authenticator answers with an empty message")
    }
    guard status == .ok else {
      throw ControlFailure(status, decodingMembers: Array(message.dropFirst()))
    }
    try self.init(CBORMap(decodingMembers: Array(message.dropFirst())))
  }
}
