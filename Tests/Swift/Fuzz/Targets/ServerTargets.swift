import AlgorandTransaction
import CryptoPrimitives
import DeterministicKeys
import TestVectors

@testable import Keyri
@testable import LiquidAuth

/// What the servers of dApps and of Keyri and the nodes of Algorand send, and what comes through them.
enum ServerTargets {
  static let all: [Target] = [
    Target(
      "engine-io", of: "the body of a polling exchange of Engine.IO", atMost: 2048, words: words,
      seeds: { [handshake, "2probe\u{1E}3probe\u{1E}6", "40\u{1E}42[\"a\",1]", "1", "bAQ=="].map { Array($0.utf8) } },
      read: readEngineIO),
    Target(
      "socket-io", of: "a packet of Socket.IO", atMost: 2048, words: words,
      seeds: {
        [
          #"0{"sid":"a"}"#, #"2["offer-description","v=0"]"#, "1", #"212["a",{"b":null}]"#, #"2/x,["a"]"#,
          #"37[]"#, #"4{"message":"no"}"#, #"51-["a"]"#,
        ].map { Array($0.utf8) }
      }, read: readSocketIO),
    Target(
      "signaling", of: "events of the server and of WebRTC, with time between them", atMost: 2048, words: words,
      seeds: { signaling }, read: readSignaling),
    Target(
      "session-description", of: "a session description (SDP)", atMost: 4096, words: sdpWords,
      seeds: { [Array(description.utf8)] }, read: readDescription),
    Target(
      "ice-candidate", of: "a candidate for WebRTC, or an answer, in JSON", atMost: 2048, words: words,
      seeds: {
        [
          #"{"candidate":"a=candidate:1 1 udp 1 127.0.0.1 5000 typ host","sdpMid":"0","sdpMLineIndex":0}"#,
          #"{"candidate":null}"#, #"{"type":"answer","sdp":"v=0"}"#, #""v=0""#,
        ].map { Array($0.utf8) }
      }, read: readCandidate),
    Target(
      "server-answer", of: "the JSON answer of a Liquid Auth server", atMost: 4096,
      words: PasskeyFileTargets.json + [
        "\"challenge\"", "\"rp\"", "\"rpId\"", "\"pubKeyCredParams\"", "\"excludeCredentials\"", "\"allowCredentials\"",
        "\"wallet\"", "\"credentials\"", "\"credId\"", "\"reason\"", "\"error\"", "\"statusCode\"", "\"message\"",
        "\"pairing\"", "\"version\":2", "\"pairingId\"", "\"role\":\"controller\"", "\"credential\"",
      ],
      seeds: {
        let vectors = try Vector("liquid-auth-backend")
        let texts = [
          #"{"statusCode":400,"message":["a","b"],"error":"Bad Request"}"#, #"{"reason":"not_found","error":"e"}"#,
          #"{"wallet":"A","credentials":[{"credId":"AQ"}],"pairing":{"version":2,"pairingId":"r","role":"controller","#
            + #""credential":"c"}}"#,
        ]
        return try [vectors.attestation, vectors.assertion].flatMap { steps in
          try [steps[0].requestResponse, steps[0].responseResponse].compactMap { try $0.json?.json() }
        } + texts.map { Array($0.utf8) }
      }, read: readServerAnswer),
    Target(
      "keyri-session", of: "the answer of Keyri's session API", atMost: 4096,
      words: PasskeyFileTargets.json + [
        "\"sessionId\"", "\"WidgetOrigin\"", "\"browserPublicKey\"", "\"__hash\"", "\"__salt\"", "\"riskAnalytics\"",
        "\"publicUserId\"", "\"WidgetUserAgent\"", "\"IPAddressWidget\"", "\"geoData\"", "\"status\"", "\"errors\"",
      ],
      seeds: { [Array(keyriSession.utf8), Array(#"{"status":400,"errors":true,"message":"no"}"#.utf8)] },
      read: readKeyriSession),
    Target(
      "algod-answer", of: "an answer of an Algorand node: a byte for its status, and JSON", atMost: 2048,
      words: PasskeyFileTargets.json + [
        "\"genesis-hash\"", "\"genesis-id\"", "\"last-round\"", "\"min-fee\"", "\"amount\"", "\"auth-addr\"",
        "\"message\"",
      ],
      seeds: {
        let (hash, signer) = (Base64.encode(Array(0..<32)), AlgorandAddress(publicKey: Array(0..<32)))
        return [
          #"{"genesis-hash":"\#(hash)","genesis-id":"voi","last-round":7,"min-fee":1000}"#,
          #"{"amount":5,"auth-addr":"\#(signer.text)"}"#, #"{"message":"no"}"#,
        ].enumerated().map { number, text in [UInt8(number)] + Array(text.utf8) }
      }, read: readAlgodAnswer),
    Target(
      "cookies", of: "headers of a server's answer, each on a line", atMost: 4096,
      words: [
        "Set-Cookie: ", "Date: ", "Path=/", "Domain=", "Max-Age=0", "Expires=", "Secure", "HttpOnly", "; ", "=",
        "Thu, 01 Jan 1970 00:00:00 GMT",
      ],
      seeds: {
        [
          "Set-Cookie: connect.sid=s%3Aabc.def; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT; HttpOnly\n"
            + "Date: Thu, 27 Nov 2025 03:34:00 GMT\nSet-Cookie: a=b; Domain=.example.com; Path=/x; Max-Age=0",
          "set-cookie: a=1\nset-cookie: a=2; path=/auth",
        ].map { Array($0.utf8) }
      }, read: readCookies),
  ]

  // MARK: - Socket.IO

  private static func readEngineIO(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    guard let packets = try? EngineIOPacket.packets(inPayload: text) else { return }
    let payload = EngineIOPacket.payload(packets)
    expect(payload.utf8.elementsEqual(text.utf8), "other packets: \(payload)")
    expect(try EngineIOPacket.packets(inPayload: payload) == packets, "other packets")
  }

  private static func readSocketIO(_ input: [UInt8]) throws {
    guard let packet = try? SocketIOPacket(String(decoding: input, as: UTF8.self)) else { return }
    expect(packet.namespace.hasPrefix("/"), "a namespace without a slash")
    guard case .event(let event) = packet.kind else { return }
    let again = try SocketIOPacket(SocketIOPacket.text(of: event))
    expect(again.kind == packet.kind && again.namespace == "/", "another event")
    _ = try? event.argument(String.self)
  }

  private static let pauses: [Duration] = [
    .zero, .milliseconds(1), .milliseconds(500), .seconds(3), .seconds(8), .seconds(10), .seconds(30),
  ]

  /// A machine that ends with the first channel, or one that stays, by the first byte.
  private static func readSignaling(_ input: [UInt8]) {
    var choices = Choices(input)
    let stays = choices.bool()
    var machine = SignalingMachine(
      timeout: .seconds(120), stayingFor: stays ? RequestID("r") : nil,
      pairing: stays ? DurablePairing(pairingID: "r", credential: "c") : nil, randomness: FixedRandomness())
    var (now, connection) = (Duration.seconds(1), 0)
    var (isOpen, isAsked, hasEnded) = (false, false, false)
    var offers: [Duration] = []
    func check(_ actions: [SignalingMachine.Action]) {
      for action in actions {
        expect(!hasEnded, "an action after the end: \(action)")
        switch action {
        case .transport(.openWebSocket(let id, _)), .transport(.poll(let id, _)):
          expect(id.rawValue >= connection, "an old connection is used")
          connection = id.rawValue
        case .createOffer:
          expect(!isOpen, "an offer beside an open channel")
          let isSoon = offers.last.map { now < $0 + SignalingMachine.offerInterval } ?? false
          // The second offer may follow the first at once, which began before the channel.
          expect(offers.count < 2 || !isSoon, "offers without a pause")
          offers.append(now)
        case .opened: (isOpen, hasEnded) = (stays, !stays)
        case .progress(let progress): if progress.event == .away { isOpen = false }
        case .ask:
          expect(!isOpen && !isAsked, "a question beside a channel or another question")
          isAsked = true
        case .failed, .ended: hasEnded = true
        case .transport, .setAnswer, .addCandidate: break
        }
      }
      if let deadline = machine.deadline {
        expect(!hasEnded, "a deadline after the end")
        expect(deadline > now && deadline <= now + .seconds(1200), "due at \(deadline)")
      }
    }
    check(machine.begin(at: now))
    while !choices.isEmpty {
      let id = SocketIOMachine.ConnectionID(rawValue: connection - choices.number(below: 2))
      func server(_ event: SocketIOMachine.Input.Event) -> SignalingMachine.Input {
        .server(.init(connection: id, event: event))
      }
      let event: SignalingMachine.Input
      switch choices.number(below: 14) {
      case 0: event = server(.webSocket(.open))
      case 1: event = server(.webSocket(.text(String(decoding: choices.counted(), as: UTF8.self))))
      case 2: event = server(.webSocket(.text(choices.one(of: texts))))
      case 3: event = server(.webSocket(.closed(choices.bool() ? .timedOut : nil)))
      case 4: event = server(.polled(.success(HTTPResponse(status: 200, body: choices.counted()))))
      case 5: event = server(.polled(.success(HTTPResponse(status: 200, body: Array(choices.one(of: texts).utf8)))))
      case 6: event = server(.polled(.failure(choices.bool() ? .unreachable("no") : .tooLarge)))
      case 7: event = server(.posted(.success(HTTPResponse(status: choices.bool() ? 200 : 400))))
      case 8: event = .peer(.offer(description))
      case 9: event = .peer(.candidate(ICECandidate(candidate: "candidate:1", sdpMid: "0", sdpMLineIndex: 0)))
      case 10:
        let events: [PeerEvent] = [.channelOpen, .noRelay, .channelClosed, .failed("f"), .bufferedAmountLow]
        event = .peer(choices.one(of: events))
      case 11:
        let actions = machine.answer(isMeant: choices.bool(), at: now)
        expect(isAsked || actions.isEmpty, "an answer without a question")
        isAsked = false
        check(actions)
        continue
      default:
        now += choices.one(of: pauses)
        check(machine.tick(at: now))
        continue
      }
      check(machine.receive(event, at: now))
    }
  }

  /// Packets with which a session goes on.
  private static let texts = [
    handshake, #"40{"sid":"b"}"#, "2", #"42["answer-description","\#(description.replacing("\r\n", with: "\\r\\n"))"]"#,
    #"42["answer-candidate",{"candidate":"candidate:1 1 udp 1 127.0.0.1 5000 typ host","sdpMid":"0","sdpMLineIndex":0}]"#,
    #"42["offer-description","v=0"]"#, "41", #"44{"message":"no"}"#, "1", handshake + "\u{1E}" + #"40{"sid":"b"}"#,
    #"42["presence",{"requestId":"r","deviceCount":1}]"#, #"42["presence",{"requestId":"r","deviceCount":2}]"#,
    #"42["presence",{"requestId":"r","deviceCount":3}]"#,
  ]

  /// To an open channel, over a web socket and by polling; a loss; and a page that is reloaded, leaves, and comes twice.
  private static let signaling: [[UInt8]] = [
    [0, 0, 0, 0, 2, 0, 0, 2, 1, 0, 8, 0, 2, 3, 0, 2, 4, 0, 10, 0],
    [0, 0, 3, 0, 0, 12, 2, 0, 5, 9, 0, 7, 1, 0, 8, 0, 9, 0, 5, 3],
    [0, 0, 0, 0, 2, 0, 0, 2, 1, 0, 8, 0, 3, 0, 0, 12, 4, 0, 12, 6],
    [
      1, 0, 0, 0, 2, 0, 0, 2, 1, 0, 2, 11, 0, 8, 0, 2, 3, 0, 10, 0, 0, 10, 2, 0, 2, 10, 0, 2, 11, 0, 2, 10, 0, 12, 3,
      0, 2, 12, 0, 11, 1, 0, 12, 3, 0, 8, 0, 2, 3, 0, 10, 0, 0, 10, 3,
    ],
  ]

  private static let handshake =
    #"0{"sid":"a","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#

  private static let words =
    PasskeyFileTargets.json + [
      "\u{1E}", "0{", "40", "42[", "2probe", "\"sid\"", "\"pingInterval\":", "\"pingTimeout\":", "\"maxPayload\":",
      "offer-description", "answer-description", "answer-candidate", "candidate", "\"sdp\"", "\"type\"", "\"sdpMid\"",
      "\"sdpMLineIndex\"", "candidate:", "presence", "\"requestId\":\"r\"", "\"deviceCount\":",
    ]

  // MARK: - WebRTC

  private static func readDescription(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    guard let description = try? SessionDescription(text) else { return }
    expect(description.sectionCount >= 1 && description.maximumMessageSize > 0, "no section, or no size")
    let fingerprints = try CertificateFingerprints(in: text)
    expect(fingerprints == description.fingerprints && !fingerprints.digests.isEmpty, "other fingerprints")
    expect(fingerprints.digests.allSatisfy { $0.count == fingerprints.function.size }, "a digest of a wrong size")
  }

  private static func readCandidate(_ input: [UInt8]) throws {
    if let payload = try? JSONCoding.decode(CandidatePayload.self, from: input),
      let candidate = payload.candidate(sections: 2)
    {
      expect(!payload.isLast, "a candidate that is the end of the candidates")
      let again = try JSONCoding.decode(CandidatePayload.self, from: JSONCoding.encode(CandidatePayload(candidate)))
      expect(again.candidate(sections: 2) == candidate, "another candidate")
    }
    _ = try? JSONCoding.decode(AnswerPayload.self, from: input)
  }

  private static let description =
    [
      "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
      "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=ice-ufrag:uS2k",
      "a=ice-pwd:Qx3mTnTqZ2v0aW1yKoLpRsTu",
      "a=fingerprint:sha-256 " + [String](repeating: "A7", count: 32).joined(separator: ":"), "a=setup:active",
      "a=mid:0", "a=sctp-port:5000", "a=max-message-size:262144",
    ].map { $0 + "\r\n" }.joined()

  private static let sdpWords = [
    "v=0\r\n", "m=application 9 ", "m=audio 9 ", "UDP/DTLS/SCTP", "TCP/DTLS/SCTP", " webrtc-datachannel",
    "a=fingerprint:",
    "sha-256 ", "sha-384 ", "sha-512 ", "sha-1 ", "a=max-message-size:", "A7:A7:A7:A7", "\r\n",
  ]

  // MARK: - JSON

  private static func readServerAnswer(_ input: [UInt8]) throws {
    if let options = try? JSONCoding.decode(AttestationOptions.self, from: input) {
      _ = options.excludeCredentials?.map(\.id.bytes)
    }
    _ = try? JSONCoding.decode(AssertionOptions.self, from: input)
    if let pairing = (try? JSONCoding.decode(User.self, from: input))?.pairing {
      expect(try JSONCoding.decode(DurablePairing.self, from: pairing.auth().utf8) == pairing, "another pairing")
      expect("\(pairing)" == "DurablePairing(\(pairing.pairingID))", "a description with the token")
    }
    _ = try? JSONCoding.decode(ErrorBody.self, from: input)
  }

  private static func readKeyriSession(_ input: [UInt8]) throws {
    let link = try KeyriLink("https://acme.onekey.to?sessionId=abc", otherOrigins: [])
    _ = try? KeyriJSON.decode(KeyriFault.self, from: input)
    guard let session = try? KeyriSession(input, answering: link, mobileID: "m") else { return }
    expect(session.id == link.sessionID, "another session")
    expect(session.browserKey.raw.count == 64, "a key of \(session.browserKey.raw.count) bytes")
    _ = (session.asks(for: try KeyriEmail("alice@example.com")), session.risk?.isDenied)
  }

  /// A server that always gives the same answer.
  private struct OneAnswer: HTTPPort {
    let response: HTTPResponse

    func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse { response }
  }

  private static func readAlgodAnswer(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let status = choices.one(of: [200, 200, 400, 500])
    let node = AlgodClient(
      url: "https://node.example", http: OneAnswer(response: HTTPResponse(status: status, body: choices.remainder())))
    let account = AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32))
    let key = AlgorandAddress(publicKey: [UInt8](repeating: 2, count: 32))
    try wait {
      do throws(PortError) {
        let parameters = try await node.transactionParameters()
        expect(parameters.genesisHash.count == 32, "a hash of \(parameters.genesisHash.count) bytes")
        expect(parameters.firstValid < parameters.lastValid, "no round is valid")
        if let made = try? Transaction(rekeying: account, to: key, parameters) {
          expect(made.isRekeying(account, to: key), "a transaction that does something else")
        }
      } catch {
        expectLine(error)
      }
      do throws(PortError) {
        let state = try await node.state(of: account)
        let signer = try await node.signer(of: account)
        expect(signer == state.signer, "two signers")
      } catch {
        expectLine(error)
      }
      do throws(PortError) {
        try await node.post([1])
        expect(status == 200, "status \(status) counts as accepted")
      } catch {
        expectLine(error)
      }
    }
  }

  private static func expectLine(_ error: PortError) {
    expect(!error.description.unicodeScalars.contains("\n"), "an error on two lines: \(error)")
  }

  private static let keyriSession = """
    {"sessionId":"abc","WidgetOrigin":"app.example","WidgetUserAgent":{"os":"Linux","browser":"Firefox","issue":"none"},\
    "IPAddressWidget":"192.0.2.1","riskAnalytics":{"riskStatus":"allow","riskFlagString":"","geoData":{"browser":\
    {"city":"Oakland","country_code":"US"}}},"publicUserId":"alice@example.com","browserPublicKey":\
    "b36mu3VOqEHlGV/Ker1veLfsdUeLbwLVlIL3g6gEM3GCS9tJE5MUT8B2CixPFiXTdKc/6DfYwl2jWkYKjQGtmA==","__hash":"h","__salt":"s"}
    """

  // MARK: - Cookies

  private static func readCookies(_ input: [UInt8]) throws {
    var jar = CookieJar(origin: try WebOrigin("https://auth.example.com"))
    let headers = String(decoding: input, as: UTF8.self).split(separator: "\n").map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return HTTPHeader(String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
    }
    jar.store(HTTPResponse(status: 200, headers: headers), forPath: "/auth/session")
    for path in ["/", "/auth", "/auth/session", "/x/y"] {
      guard let header = jar.header(forPath: path) else { continue }
      expect(header.name == "Cookie" && !header.value.isEmpty, "another header")
      expect(header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in a header")
      let limit = CookieJar.maximumCount * (CookieJar.maximumSize + 2)
      expect(header.value.utf8.count <= limit, "a header of \(header.value.utf8.count) bytes")
    }
    expect(!jar.description.contains("\n"), "a description on two lines")
  }
}
