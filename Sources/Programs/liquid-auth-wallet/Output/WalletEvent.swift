import ControlProtocol
import DisplayText
import LiquidAuth
import StateDirectory

/// An event between a link and the end of its channel, or at a service with Keyri.
///
/// It contains no message, session description or cookie; it contains a token only if a token was requested.
enum WalletEvent: Equatable {
  /// A link was read.
  case link(origin: String, requestID: String)
  /// The authenticator shows a prompt.
  case prompt
  /// A step of the sign-in.
  case signIn(LiquidAuthProgress)
  /// The server has accepted the sign-in.
  case signedIn(LiquidCeremony, rpID: String, address: String)
  /// The authenticator keeps the pairing with the dApp.
  case remembered(origin: String)
  /// The dApp is not remembered, although the user wanted it; the reason.
  case notRemembered(String)
  /// GStreamer is still starting, and the channel waits for it.
  case startingGStreamer
  /// A step towards the channel.
  case signaling(SignalingProgress.Event)
  /// A step of signing or posting.
  case signing(SigningEvent)
  /// The dApp's ARC-27 request was answered.
  case answered(method: String, error: ARC27Error?)
  /// The dApp introduced itself, in its own words.
  case introduced(DAppIntroduction)
  /// The dApp left soon after the channel was open, and sent nothing; why the connection was lost, if it was not closed.
  case leftAtOnce(String?)
  /// The dApp sent a frame that gets no answer.
  case unanswered(UnansweredFrame)
  /// The last channel was closed, and no other is opened.
  case closed(ChannelEnd)
  /// An event at a service with Keyri.
  case keyri(KeyriEvent)
  /// An event while a browser on another computer is answered.
  case hybrid(HybridEvent)
  /// An event while the account of the old phrase is given to that of the new phrase.
  case rekey(RekeyEvent)
  /// What a network knows of an account.
  case account(address: String, microalgos: UInt64, signer: String, network: String)
  /// The command failed.
  case failed(WalletFailure)
}

/// Why there is no further channel.
enum ChannelEnd: Equatable {
  /// The dApp closed the channel, and the server does not report when it comes back.
  case byDApp
  /// This side closed it, as requested.
  case byThisSide
  /// The dApp did not come back in time.
  case nobodyReturned
  /// The user did not want another session of the page.
  case refused
  /// The server refused the wallet, or is gone.
  case byServer(LiquidAuthError)

  init(_ ending: SignalingEnding) {
    switch ending {
    case .done: self = .byDApp
    case .nobodyReturned: self = .nobodyReturned
    case .refused: self = .refused
    case .byServer(let error): self = .byServer(error)
    }
  }

  /// Whether the dApp ended the last channel.
  fileprivate var isByDApp: Bool { self != .byThisSide }

  /// The word for programs.
  fileprivate var word: String {
    switch self {
    case .byDApp: "dApp"
    case .byThisSide: "wallet"
    case .nobodyReturned: "nobodyReturned"
    case .refused: "refused"
    case .byServer: "server"
    }
  }

  /// One sentence.
  fileprivate var text: String {
    switch self {
    case .byDApp: "the dApp closed the channel"
    case .byThisSide: "closed the channel; to connect again, \(LiquidAuthError.newLink)"
    case .nobodyReturned: "the dApp did not come back in time; to connect again, \(LiquidAuthError.newLink)"
    case .refused: "the other page got no channel; to connect again, \(LiquidAuthError.newLink)"
    case .byServer(let error): "the dApp cannot come back: \(error)"
    }
  }
}

extension WalletEvent {
  /// Adds the place options to the command that ends a failure, if there is one.
  func completed(by place: CommandPlace) -> WalletEvent {
    guard case .failed(let failure) = self else { return self }
    return .failed(WalletFailure(failure.problem.text(with: place.arguments), code: failure.code))
  }
}

// MARK: - For people

extension WalletEvent {
  /// One sentence, or `nil` for an event that only programs need.
  var text: String? {
    switch self {
    case .link(let origin, _): "the link is from \(origin)"
    case .prompt: "the authenticator is waiting for your answer, \(Self.place)"
    case .signIn(let progress): progress.text
    case .signedIn(.registration, let rpID, let address):
      "registered: \(address) has a passkey for \(DisplayText.words(rpID))"
    case .signedIn(.authentication, let rpID, let address):
      "signed in to \(DisplayText.words(rpID)) as \(address)"
    case .remembered(let origin): "remembered the dApp; connect to it again with --again \(origin)"
    case .notRemembered(let reason): "the dApp is not remembered: \(DisplayText.line(reason))"
    case .startingGStreamer: "GStreamer is still starting; the first start takes some seconds"
    case .signaling(let event): event.text
    // Signed and posted transactions were reported before; harmless requests are not worth a line.
    case .answered("discover", nil), .answered("enable", nil), .answered("disable", nil),
      .answered("biatec:hello", nil):
      nil
    case .answered(let method, nil): "answered the dApp's request \(DisplayText.words(method))"
    case .answered(let method, .some(let error)):
      "the dApp asked for \(DisplayText.words(method)), which failed with error \(error.code): "
        + DisplayText.line(error.inWords)
    case .introduced(let dApp):
      "the dApp calls itself \(DisplayText.name(dApp.name)), at \(DisplayText.name(dApp.url)); nobody has checked this"
    case .leftAtOnce(let reason):
      "the dApp left at once, and requested nothing; it may expect another protocol or another channel"
        + (reason.map { ": \(DisplayText.line($0))" } ?? "")
    case .signing(let event): event.text
    case .unanswered(.ping): nil
    case .unanswered(let frame): "the dApp sent \(DisplayText.line(frame.description))"
    case .closed(let end): end.text
    case .keyri(let event): event.text
    case .hybrid(let event): event.text
    case .rekey(let event): event.text
    case .account(let address, let microalgos, let signer, let network):
      "\(address) has \(microalgos / 1_000_000).\(String(microalgos % 1_000_000 + 1_000_000).dropFirst()) ALGO on "
        + DisplayText.words(network) + (signer == address ? "" : ", and \(signer) controls it")
    case .failed(let failure): failure.description
    }
  }
}

extension WalletEvent {
  /// Where the prompt appears.
  static let place = "in its window or on its terminal"
}

extension ARC27Error {
  /// The error in words for the user, without its number, and with a remedy if there is one.
  var inWords: String {
    switch self {
    case .methodTimedOut: "nobody answered the authenticator's prompt"
    case .methodNotSupported(let name) where ARC27Method(rawValue: name) != nil:
      "no node of the network is configured; name one in ~/.config/liquid-auth/wallet.conf, such as: "
        + "algod testnet-v1.0 = https://node.example.org"
    default: description
    }
  }
}

extension LiquidAuthProgress {
  fileprivate var text: String {
    switch self {
    case .askingAuthenticator: "asking the authenticator for the account"
    case .firstUse(let host): "this machine has no passkey for \(host): check the name"
    case .requestingChallenge(.registration): "asking the server for a challenge, to register"
    case .requestingChallenge(.authentication): "asking the server for a challenge"
    case .waitingForPerson(_, let rpID, _):
      "the authenticator asks for your consent at \(DisplayText.words(rpID)), \(WalletEvent.place)"
    case .noCommonPasskey:
      "the server and this machine have no passkey in common; registering one"
    case .answering: "sending the answer to the server"
    case .retrying(let origin): "the server expects another origin; sending \(origin)"
    }
  }
}

extension SignalingProgress.Event {
  fileprivate var text: String {
    switch self {
    case .stage(.linking): "connecting to the server"
    case .stage(.signalled): "waiting for the dApp's answer"
    case .stage(.connecting): "looking for a path to the dApp"
    case .stage(.open): "connected to the dApp, which may now ask for signatures; to end the connection, press Ctrl-C"
    case .reconnecting(let loss, let delay):
      "the connection to the server was lost: \(loss); trying again in \(delay.formattedSeconds) s"
    case .ignoredAnswers(let count):
      "\(count) answers came late or were invalid, and were ignored; is the page open twice?"
    case .noRelay:
      "no TURN server works: none answers, or none accepts user and password; check the ice-server lines in wallet.conf"
    case .waiting(let duration):
      "no dApp has answered for \(Int64(duration / .seconds(1))) s; check that its page is open and was not reloaded"
    case .refusedCandidates(let count): "\(count) of the dApp's addresses were ignored"
    case .away: "the dApp left; waiting for it to come back; to end, press Ctrl-C"
    case .returned: "the dApp is back; making a new channel"
    case .otherSession(let devices):
      "another device is or was connected for the dApp's request: \(devices) devices at once, with this one"
    case .serverLeft(let error): "the channel stays open, but is the last: \(error)"
    }
  }
}

extension Duration {
  /// In seconds with one decimal.
  fileprivate var formattedSeconds: String {
    let tenths = Int64(self / .milliseconds(100))
    return "\(tenths / 10).\(tenths % 10)"
  }
}

// MARK: - For programs

extension WalletEvent {
  /// One JSON object: `event`, `ms` since the start, and the members of the event.
  func json(milliseconds: Int64) -> String {
    let members = [("event", DisplayText.json(name)), ("ms", String(milliseconds))] + self.members
    return "{" + members.map { "\(DisplayText.json($0)): \($1)" }.joined(separator: ", ") + "}"
  }

  /// The name of the event.
  private var name: String {
    switch self {
    case .link: "link"
    case .prompt: "prompt"
    case .signIn(let progress): progress.name
    case .signedIn: "signedIn"
    case .signing(let event): event.name
    case .remembered: "remembered"
    case .notRemembered: "notRemembered"
    case .startingGStreamer: "startingGStreamer"
    case .signaling(let event): event.name
    case .answered: "answered"
    case .introduced: "introduced"
    case .leftAtOnce: "leftAtOnce"
    case .unanswered: "unanswered"
    case .closed: "closed"
    case .keyri(let event): event.name
    case .hybrid(let event): event.name
    case .rekey(let event): event.name
    case .account: "account"
    case .failed: "failed"
    }
  }

  private var members: [(String, String)] {
    switch self {
    case .link(let origin, let requestID):
      [("origin", DisplayText.json(origin)), ("requestId", DisplayText.json(requestID))]
    case .signIn(let progress): progress.members
    case .signedIn(let ceremony, let rpID, let address):
      [
        ("ceremony", DisplayText.json(ceremony.rawValue)), ("rpId", DisplayText.json(rpID)),
        ("address", DisplayText.json(address)),
      ]
    case .remembered(let origin): [("origin", DisplayText.json(origin))]
    case .notRemembered(let reason): [("reason", DisplayText.json(reason))]
    case .signaling(let event): event.members
    case .answered(let method, let error):
      [("method", DisplayText.json(method)), ("error", error.map { String($0.code) } ?? "null")]
    case .introduced(let dApp): [("name", DisplayText.json(dApp.name)), ("url", DisplayText.json(dApp.url))]
    case .leftAtOnce(let reason): [("reason", reason.map(DisplayText.json) ?? "null")]
    case .unanswered(let frame): [("reason", DisplayText.json(frame.description))]
    case .closed(let end): [("byDApp", String(end.isByDApp)), ("reason", DisplayText.json(end.word))]
    case .signing(let event): event.members
    case .keyri(let event): event.members
    case .failed(let failure):
      [("reason", DisplayText.json(failure.description)), ("code", String(failure.code.rawValue))]
    case .hybrid(let event): event.members
    case .rekey(let event): event.members
    case .account(let address, let microalgos, let signer, let network):
      [
        ("address", DisplayText.json(address)), ("microalgos", String(microalgos)),
        ("signer", DisplayText.json(signer)),
        ("network", DisplayText.json(network)),
      ]
    case .prompt, .startingGStreamer: []
    }
  }
}

extension LiquidAuthProgress {
  fileprivate var name: String {
    switch self {
    case .askingAuthenticator: "askingAuthenticator"
    case .firstUse: "firstUse"
    case .requestingChallenge: "requestingChallenge"
    case .waitingForPerson: "waitingForPerson"
    case .noCommonPasskey: "noCommonPasskey"
    case .answering: "answering"
    case .retrying: "retrying"
    }
  }

  fileprivate var members: [(String, String)] {
    switch self {
    case .askingAuthenticator, .noCommonPasskey: []
    case .firstUse(let host): [("host", DisplayText.json(host))]
    case .requestingChallenge(let ceremony), .answering(let ceremony):
      [("ceremony", DisplayText.json(ceremony.rawValue))]
    case .waitingForPerson(let ceremony, let rpID, let address):
      [
        ("ceremony", DisplayText.json(ceremony.rawValue)), ("rpId", DisplayText.json(rpID)),
        ("address", DisplayText.json(address)),
      ]
    case .retrying(let origin): [("origin", DisplayText.json(origin.serialized))]
    }
  }
}

extension SignalingProgress.Event {
  fileprivate var name: String {
    switch self {
    case .stage(let stage): stage.rawValue
    case .reconnecting: "reconnecting"
    case .waiting: "waiting"
    case .ignoredAnswers: "ignoredAnswers"
    case .noRelay: "noRelay"
    case .refusedCandidates: "refusedCandidates"
    case .away: "away"
    case .returned: "returned"
    case .otherSession: "otherSession"
    case .serverLeft: "serverLeft"
    }
  }

  fileprivate var members: [(String, String)] {
    switch self {
    case .stage, .noRelay, .away, .returned: []
    case .reconnecting(let loss, let delay):
      [("reason", DisplayText.json(loss.description)), ("delay", String(Int64(delay / .milliseconds(1))))]
    case .waiting(let duration): [("seconds", String(Int64(duration / .seconds(1))))]
    case .ignoredAnswers(let count), .refusedCandidates(let count): [("count", String(count))]
    case .otherSession(let devices): [("devices", String(devices))]
    case .serverLeft(let error): [("reason", DisplayText.json(error.description))]
    }
  }
}
