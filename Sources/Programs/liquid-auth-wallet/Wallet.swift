import AlgorandTransaction
import CTAPHID
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import LiquidAuth

/// The wallet while it serves one link.
struct Wallet: Sendable {
  let ports: WalletPorts
  let configuration: WalletConfiguration
  let output: EventOutput
  /// Whether the user must confirm a host that this machine does not know.
  let isAskedAboutHosts: Bool
  /// Whether the prompts show long fields of transactions whole.
  let showsAll: Bool

  /// Proves passkey and account to the link's server.
  ///
  /// - Parameter ceremony: `nil` for the one that the server needs.
  func signIn(_ link: LiquidURI, by ceremony: LiquidCeremony?) async throws(WalletFailure) -> LiquidAuthResult {
    let isAsked = try await !isMeantBeforeVaultOpens(link.origin.host) && isAskedAboutHosts
    let gate = FirstUseGate(ports.http) { host in await refusal(of: host) }
    let (output, isFirstUse) = (output, Latch())
    let client = LiquidAuthClient(
      http: gate, authenticator: ports.socket, publicSuffixes: ports.publicSuffixes,
      userAgent: Self.userAgent, device: "Linux"
    ) { progress in
      gate.report { output.report(.signIn(progress)) }
      guard case .firstUse(let host) = progress else { return }
      isFirstUse.set()
      if isAsked { gate.close(for: host) }
    }
    do throws(LiquidAuthError) {
      let result = try await Self.result(of: link, by: ceremony, client)
      output.report(.signedIn(result.ceremony, rpID: result.rpID, address: result.address.text))
      return result
    } catch {
      if let refusal = gate.refusal { throw WalletFailure(refusal, code: .refused) }
      if ports.socket.isNotRunning { throw WalletFailure(error.description, code: .notRunning) }
      throw WalletFailure(error, ceremony: ceremony, isFirstUse: isFirstUse.isSet)
    }
  }

  /// Asks the authenticator to remember the dApp, if its server gave a pairing.
  func remember(_ signedIn: LiquidAuthResult) async {
    guard let pairing = signedIn.pairing else {
      return output.report(.notRemembered("the server gives no pairings, so each connection needs a link"))
    }
    do throws(PortError) {
      _ = try await ports.socket.ask(
        KeepPairing(
          origin: signedIn.origin.serialized, path: signedIn.path, rpID: signedIn.rpID, pairingID: pairing.pairingID,
          credential: Array(pairing.credential.utf8).withUnsafeBytes { SecretBytes(copying: $0) }))
      output.report(.remembered(origin: signedIn.origin.serialized))
    } catch {
      output.report(.notRemembered(error.reason))
    }
  }

  /// The connection to a remembered dApp, after the authenticator has asked the user.
  func again(at site: String) async throws(WalletFailure) -> DAppConnection {
    let kept: GetPairing.Answer
    let account: String
    do throws(PortError) {
      kept = try await ports.socket.ask(GetPairing(site: site))
      account = try await ports.socket.account()
    } catch {
      let failure = WalletFailure(authenticator: error)
      throw ports.socket.isNotRunning ? WalletFailure(failure.problem, code: .notRunning) : failure
    }
    guard let origin = try? WebOrigin(kept.origin), LiquidURI.isPath(kept.path),
      let requestID = RequestID(kept.pairingID),
      let credential = kept.credential.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }),
      let pairing = DurablePairing(pairingID: kept.pairingID, credential: credential),
      let address = AlgorandAddress(text: Array(account.utf8))
    else { throw WalletFailure("the authenticator returned an invalid pairing; connect with the dApp's link") }
    output.report(.link(origin: origin.serialized, requestID: requestID.text))
    return DAppConnection(
      origin: origin, path: kept.path, requestID: requestID, address: address, headers: [Self.userAgent.header],
      pairing: pairing)
  }

  private static let userAgent = UserAgent(version: DeviceIdentity(capabilities: []).version)

  private static func result(
    of link: LiquidURI, by ceremony: LiquidCeremony?, _ client: LiquidAuthClient
  ) async throws(LiquidAuthError) -> LiquidAuthResult {
    switch ceremony {
    case .registration: try await client.registration(origin: link.origin, path: link.path, requestID: link.requestID)
    case .authentication:
      try await client.authentication(origin: link.origin, path: link.path, requestID: link.requestID)
    case nil: try await client.connect(origin: link.origin, path: link.path, requestID: link.requestID)
    }
  }

  /// Whether the user was asked about the host while the vault was locked, and agreed.
  ///
  /// Only an unlocked vault shows which hosts are known, and it stays locked for a host that the user refuses. So a
  /// locked vault requires the question for every host, and a new host is not asked about again. Without a terminal
  /// this returns `false`, and the question at first use then refuses.
  private func isMeantBeforeVaultOpens(_ host: String) async throws(WalletFailure) -> Bool {
    guard isAskedAboutHosts, try await isVaultLocked, let question = TerminalQuestion() else { return false }
    let isMeant = await question.ask(
      "The vault is locked, so this machine cannot check whether you have signed in at \(host) before.\n"
        + "Unlock it to sign in there? \(host) learns your account's address. [y/N] ")
    guard isMeant else {
      throw WalletFailure("you refused; nothing was sent to \(host), and the vault stays locked", code: .refused)
    }
    return true
  }

  private var isVaultLocked: Bool {
    get async throws(WalletFailure) {
      do throws(PortError) { return try await ports.socket.ask(GetStatus()).vault.condition == .locked } catch {
        throw WalletFailure(error.reason, code: ports.socket.isNotRunning ? .notRunning : .failed)
      }
    }
  }

  /// Asks about a host; returns the reason against it, or `nil`.
  private func refusal(of host: String) async -> String? {
    guard let question = TerminalQuestion() else {
      return "nothing was sent to \(host): this machine has no passkey for it, and there is no terminal to ask you on; "
        + "to sign in there, give --yes"
    }
    let isMeant = await question.ask(
      "Sign in at \(host)? It learns your account's address. [y/N] ")
    return isMeant ? nil : "you refused; nothing was sent to \(host)"
  }
}

// MARK: - The channel

/// What a connection to a dApp needs: the result of a sign-in, or a pairing that was kept.
struct DAppConnection: Sendable {
  /// The dApp's server.
  let origin: WebOrigin
  /// The path below which it is; empty for the root.
  let path: String
  /// The dApp's request.
  let requestID: RequestID
  /// The account that signs.
  let address: AlgorandAddress
  /// The fields of each exchange with the server.
  let headers: [HTTPHeader]
  /// What the server gave for later connections.
  let pairing: DurablePairing?
}

extension DAppConnection {
  init(_ signedIn: LiquidAuthResult) {
    self.init(
      origin: signedIn.origin, path: signedIn.path, requestID: signedIn.requestID, address: signedIn.address,
      headers: signedIn.signalingHeaders, pairing: signedIn.pairing)
  }
}

extension Wallet {
  /// Opens the channel to the dApp, and answers its requests until the channel is closed and the dApp does not come
  /// back.
  func talk(
    with dApp: DAppConnection, iceServers: [ICEServer], timeout: Duration, isOnce: Bool
  ) async throws {
    let conversations = Conversations(isOnce: isOnce)
    let ending: SignalingEnding
    do throws(LiquidAuthError) {
      ending = try await serveChannels(of: dApp, iceServers, timeout, conversations)
    } catch {
      // A signal ends a wait for the dApp as it ends a conversation.
      guard error.kind == .cancelled, conversations.hasBegun else { throw error }
      return output.report(.closed(.byThisSide))
    }
    switch try conversations.last(before: ending) {
    case .byDApp: output.report(.closed(ChannelEnd(ending)))
    case .asWanted: output.report(.closed(.byThisSide))
    case .refused(let error):
      output.report(.closed(.byThisSide))
      throw WalletFailure(refused: error)
    }
  }

  private func serveChannels(
    of dApp: DAppConnection, _ iceServers: [ICEServer], _ timeout: Duration, _ conversations: Conversations
  ) async throws(LiquidAuthError) -> SignalingEnding {
    let (output, ports, networks) = (output, ports, networks)
    let (isAsked, showsAll) = (isAskedAboutHosts, showsAll)
    let status = ports.dAppReport()
    defer { status.end() }
    // A shorter wait is not reported.
    let cancelAlarm = ports.timer.wake(after: .seconds(1)) {
      if !ports.peerConnections.isLoaded.isSet { output.report(.startingGStreamer) }
    }
    defer { cancelAlarm() }
    // The first peer connection would wait for GStreamer on the loop, where the alarm must ring meanwhile.
    await ports.loaded()
    return try await LiquidAuth.serveChannels(
      origin: dApp.origin, path: dApp.path, requestID: dApp.requestID, headers: dApp.headers, pairing: dApp.pairing,
      iceServers: iceServers, timeout: timeout,
      ports: SignalingPorts(
        http: ports.http, webSockets: ports.webSockets, peerConnections: ports.peerConnections, timer: ports.timer,
        randomness: SystemRandomNumberGenerator()),
      progress: { progress in
        output.report(.signaling(progress.event))
        switch progress.event {
        case .stage(.open): status.set(isOpen: true)
        case .away: status.set(isOpen: false)
        default: break
        }
      },
      isMeant: {
        guard isAsked else { return true }
        return await TerminalQuestion()?.ask(
          "The device or page that is connected for the request of \(dApp.origin.host) may be another one than before. "
            + "Give it the channel? [y/N] ") ?? false
      },
      serve: { channel in
        defer { channel.close() }
        let provider = Provider(
          Provider.Configuration(
            name: "Liquid Auth for Linux", account: dApp.address, networks: networks,
            origin: dApp.origin.serialized),
          signer: ControlSocketSigner(socket: ports.socket, output: output, showsAll: showsAll),
          randomness: SystemRandomNumberGenerator())
        return await conversations.hold(
          Conversation(channel: channel, report: output.report, isOnce: conversations.isOnce), by: provider)
      })
  }

  private var networks: [Provider.Network] {
    AlgorandTransaction.Network.allCases.map { network in
      Provider.Network(network, algod: configuration.nodes[network.genesisID]?.client(over: ports.http))
    }
      + configuration.networks.map { network in
        Provider.Network(
          genesisHash: network.genesisHash, genesisID: network.genesisID,
          algod: network.node?.client(over: ports.http))
      }
  }
}
