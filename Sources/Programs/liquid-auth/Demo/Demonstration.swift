import CBOR
import CTAP2
import CTAPHID
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// The demo's course: register, sign in, and again on a second key that has only the phrase.
final class Demonstration: Sendable {
  /// What happened, in order.
  enum Event: Equatable, Sendable {
    /// A step begins.
    case step(String)
    /// A fact about the step.
    case note(String)
    /// The result of a check.
    case check(String, holds: Bool)
  }

  private let report: @Sendable (Event) -> Void
  private static let userID = Array("alice".utf8)

  /// - Parameter report: takes each event as it happens.
  init(report: @escaping @Sendable (Event) -> Void) { self.report = report }

  /// Runs the whole demo.
  ///
  /// - Returns: whether every check held.
  /// - Throws: if a step could not run.
  func run() async throws -> Bool {
    report(.step("a temporary phrase"))
    let phrase = BIP39Phrase.generate()
    report(.note("24 words, in locked memory; the demo does not show them, and forgets them at its end"))

    var key = try await plugIn(phrase, "a security key in this process, with the protocol of USB keys")
    var results = [try await describe(&key)]
    let passkey = try await register(&key, isDiscoverable: true, "register a passkey, with verification", &results)
    results.append(try await signIn(&key, passkey, listed: false, "sign in without a user name"))
    results.append(try await registerAgain(&key, passkey))
    let factor = try await register(&key, isDiscoverable: false, "register a second factor", &results)
    results.append(try await signIn(&key, factor, listed: true, "sign in with the second factor"))

    var other = try await plugIn(phrase, "another machine: the same phrase, and nothing stored")
    results.append(try await signIn(&other, factor, listed: true, "the second factor is back"))
    results.append(try await signIn(&other, passkey, listed: true, "the passkey is back, as the site sends its id"))
    results.append(try await signIn(&other, passkey, listed: false, "and from now on without a user name"))

    var stranger = try await plugIn(.generate(), "a third machine: another phrase")
    results.append(try await refuse(&stranger, passkey))
    return results.allSatisfy { $0 }
  }

  /// A passkey as the site knows it.
  private struct Passkey {
    let account: DemoRelyingParty.Account
    let isDiscoverable: Bool
  }

  private func plugIn(_ phrase: BIP39Phrase, _ title: String) async throws -> DemoClient {
    report(.step(title))
    let device = try DemoDevice(phrase: phrase) { [report] in report(.note($0)) }
    var client = DemoClient(device)
    report(.note("CTAPHID allocates channel \(try await client.open().rawValue.hexadecimal)"))
    return client
  }

  private func describe(_ client: inout DemoClient) async throws -> Bool {
    let info = try await client.getInfo()
    report(.note("it supports \(try info.requiredArray(0x01).compactMap(\.text).joined(separator: ", "))"))
    return check("getInfo returns the AAGUID of Liquid Auth", try info.requiredBytes(0x03) == AAGUID.liquidAuth.bytes)
  }

  private func register(
    _ client: inout DemoClient, isDiscoverable: Bool, _ title: String, _ results: inout [Bool]
  ) async throws -> Passkey {
    report(.step(title))
    let request = DemoRelyingParty.CreationRequest(userID: Self.userID, isDiscoverable: isDiscoverable)
    let answer = try await counted(&client) { client async throws(CommandFailure) in
      try await client.create(request)
    }
    let (account, checks) = try DemoRelyingParty.verify(answer, of: request)
    report(.note("public key \(account.publicKey.bytes.hexadecimal)"))
    report(
      .note("credential id of \(account.credentialID.count) bytes, \(account.credentialID.hexadecimal.prefix(24))…"))
    results += checks.map { check($0.name, $0.holds) }
    return Passkey(account: account, isDiscoverable: isDiscoverable)
  }

  private func signIn(
    _ client: inout DemoClient, _ passkey: Passkey, listed: Bool, _ title: String
  ) async throws -> Bool {
    report(.step(title))
    let request = DemoRelyingParty.SignInRequest(
      allowed: listed ? [passkey.account.credentialID] : [], needsVerification: passkey.isDiscoverable)
    let answer = try await counted(&client) { client async throws(CommandFailure) in
      try await client.get(request)
    }
    let checks = try DemoRelyingParty.verify(
      answer, of: request, with: passkey.account, userID: passkey.isDiscoverable ? Self.userID : nil)
    return checks.map { check($0.name, $0.holds) }.allSatisfy { $0 }
  }

  private func registerAgain(_ client: inout DemoClient, _ passkey: Passkey) async throws -> Bool {
    report(.step("register again, and the site excludes its passkeys"))
    var request = DemoRelyingParty.CreationRequest(userID: Self.userID, isDiscoverable: true)
    request.excluded = [passkey.account.credentialID]
    do {
      _ = try await client.create(request)
      return check("the second registration is refused", false)
    } catch {
      let refusal = DemoClient.refusal(CTAPStatus.credentialExcluded.rawValue)
      return check("the second registration is refused", error == refusal)
    }
  }

  private func refuse(_ client: inout DemoClient, _ passkey: Passkey) async throws -> Bool {
    let request = DemoRelyingParty.SignInRequest(allowed: [passkey.account.credentialID], needsVerification: false)
    do {
      _ = try await client.get(request)
      return check("it does not know the passkey", false)
    } catch {
      let refusal = DemoClient.refusal(CTAPStatus.noCredentials.rawValue)
      return check("it does not know the passkey", error == refusal)
    }
  }

  /// Runs one command, and notes how many reports went over the transport.
  private func counted(
    _ client: inout DemoClient, _ command: (inout DemoClient) async throws(CommandFailure) -> CBORMap
  ) async throws -> CBORMap {
    let before = (client.reportsSent, client.reportsReceived)
    let answer = try await command(&client)
    let (sent, received) = (client.reportsSent - before.0, client.reportsReceived - before.1)
    report(.note("reports of 64 bytes: \(sent) to the key, \(received) back"))
    return answer
  }

  private func check(_ name: String, _ holds: Bool) -> Bool {
    report(.check(name, holds: holds))
    return holds
  }
}
