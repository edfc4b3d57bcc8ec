import Recovery

/// A message of U2F, as CTAPHID_MSG carries it: an ISO 7816-4 command, short or extended (U2F Raw Message Formats, §3).
struct U2FCommand: Sendable {
  /// The instruction, by its number.
  enum Instruction: UInt8, Sendable {
    case register = 0x01
    case authenticate = 0x02
    case version = 0x03

    var name: String {
      switch self {
      case .register: "U2F_REGISTER"
      case .authenticate: "U2F_AUTHENTICATE"
      case .version: "U2F_VERSION"
      }
    }
  }

  let instruction: Instruction
  /// P1, the control byte of an authentication.
  let parameter: UInt8
  let data: [UInt8]

  /// Reads a command, with or without Le.
  ///
  /// - Throws: `invalidParameter` for a class other than 0, `invalidCommand` for an unknown instruction,
  ///   `invalidLength` for a message that has neither form.
  init(_ message: [UInt8]) throws(CTAPError) {
    guard message.count >= 4 else { throw CTAPError(.invalidLength, "a U2F message without a header") }
    guard message[0] == 0 else { throw CTAPError(.invalidParameter, "an unknown U2F class") }
    guard let instruction = Instruction(rawValue: message[1]) else {
      throw CTAPError(.invalidCommand, "an unknown U2F instruction")
    }
    guard let data = Self.data(message[4...]) else {
      throw CTAPError(.invalidLength, "a U2F message has a wrong length")
    }
    (self.instruction, parameter, self.data) = (instruction, message[2], data)
  }

  /// The data between the lengths; `nil` if the lengths do not match.
  private static func data(_ body: ArraySlice<UInt8>) -> [UInt8]? {
    guard let first = body.first, body.count > 1 else { return [] }  // nothing, or a short Le
    if first == 0, body.count >= 3 {
      let rest = body.dropFirst(3)
      if rest.isEmpty { return [] }  // an extended Le
      let count = Int(UInt16(bigEndianBytes: body.dropFirst().prefix(2)))
      return [count, count + 2].contains(rest.count) ? Array(rest.prefix(count)) : nil
    }
    let rest = body.dropFirst()
    return [Int(first), Int(first) + 1].contains(rest.count) ? Array(rest.prefix(Int(first))) : nil
  }
}

extension U2FCommand {
  /// What the history calls it: a registration or a sign-in with presence.
  ///
  /// `nil` for a message that asks nobody, or only selects a key.
  var kind: HistoryEntry.Kind? {
    switch instruction {
    case .register:
      RPIDHash(bytes: Array(data.suffix(32))).map(SelectionByRegistration.isMeant) == true ? nil : .u2fRegister
    // P1 is enforce-user-presence-and-sign.
    case .authenticate: parameter == 0x03 ? .u2fSignIn : nil
    case .version: nil
    }
  }
}

/// The status word: the last two bytes of the answer (U2F Raw Message Formats, §3.3).
enum U2FStatus: UInt16, Sendable {
  /// SW_NO_ERROR
  case noError = 0x9000
  /// SW_CONDITIONS_NOT_SATISFIED: presence is needed; the host asks again.
  case conditionsNotSatisfied = 0x6985
  /// SW_COMMAND_NOT_ALLOWED: the user refused, or alwaysUv is on.
  case commandNotAllowed = 0x6986
  /// SW_WRONG_DATA: an unknown key handle.
  case wrongData = 0x6A80
  /// SW_WRONG_LENGTH
  case wrongLength = 0x6700
  /// SW_CLA_NOT_SUPPORTED
  case classNotSupported = 0x6E00
  /// SW_INS_NOT_SUPPORTED
  case instructionNotSupported = 0x6D00
  /// A vault or store that failed: no precise diagnosis (ISO 7816-4).
  case failure = 0x6F00

  /// The status word of an error; the only conversion from ``CTAPError``.
  init(_ error: CTAPError) {
    self =
      switch error.status {
      case .upRequired: .conditionsNotSatisfied
      case .notAllowed: .commandNotAllowed
      case .invalidCredential: .wrongData
      case .invalidLength: .wrongLength
      case .invalidParameter: .classNotSupported
      case .invalidCommand: .instructionNotSupported
      default: .failure
      }
  }

  /// The two bytes.
  var bytes: [UInt8] { rawValue.bigEndianBytes }
}
