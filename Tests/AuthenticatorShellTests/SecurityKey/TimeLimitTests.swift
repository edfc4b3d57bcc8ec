import CTAP2
import CTAPHID
import Testing

@testable import liquid_authenticator

struct TimeLimitTests {
  /// A person who answers when the test says so, and whose prompt is withdrawn by cancellation.
  struct Person: UserInteraction {
    let canVerify = true
    var verificationTriesLeft: Int { 8 }
    let answers: AsyncStream<Bool>

    func confirm(_ prompt: UserPrompt, verification: Bool) async throws(UserInteractionError) -> CTAP2.Confirmation {
      for await agrees in answers {
        guard agrees else { throw .declined }
        return CTAP2.Confirmation(userVerified: verification)
      }
      throw .cancelled
    }
  }

  let timepiece = ManualTimepiece()
  let answers: AsyncStream<Bool>
  let answer: AsyncStream<Bool>.Continuation

  init() { (answers, answer) = AsyncStream.makeStream(of: Bool.self) }

  var limited: TimeLimitedInteraction {
    TimeLimitedInteraction(base: Person(answers: answers), timepiece: timepiece, workers: globalConcurrentExecutor)
  }

  /// What became of a prompt, in a form that can be compared.
  func outcome(of purpose: UserPrompt.Purpose = .select, verification: Bool = false) async -> String {
    do throws(UserInteractionError) {
      let consent = try await limited.confirm(UserPrompt(purpose: purpose), verification: verification)
      return consent.userVerified ? "verified" : "present"
    } catch {
      return "\(error)"
    }
  }

  @Test func `a person who answers in time is heard, and nothing is left that would wake`() async {
    answer.yield(true)
    #expect(await outcome() == "present")
    answer.yield(true)
    #expect(await outcome(verification: true) == "verified")
    answer.yield(false)
    #expect(await outcome() == "declined")
    #expect(timepiece.sleeperCount == 0)
  }

  private static func signing(lines: Int) -> UserPrompt.Purpose {
    let text = UserPrompt.TransactionText(
      kind: "payment", lines: Array(repeating: "Label: value", count: lines), isToBeSigned: true)
    return .wallet(.signTransactions(.init(each: NonEmpty(last: text), isGroup: false, common: [], inShort: [])))
  }

  static let ofWallets: [UserPrompt.Purpose] = [
    signing(lines: 1), .wallet(.signMessage("a")), .wallet(.tellPasskey),
    .wallet(.signAssociation(publicUserID: "a", data: "d", service: "s")),
  ]

  @Test(arguments: ofWallets)
  func `who reads what a wallet wants has ten minutes for all of it`(_ purpose: UserPrompt.Purpose) async {
    let asked = Task { await outcome(of: purpose, verification: true) }
    await timepiece.sleepers(1)
    timepiece.advance(by: .milliseconds(599_999))
    #expect(timepiece.sleeperCount == 1)
    answer.yield(true)
    #expect(await asked.value == "verified")
    #expect(timepiece.sleeperCount == 0)
    let left = Task { await outcome(of: purpose) }
    await timepiece.sleepers(1)
    timepiece.advance(by: .seconds(600))
    #expect(await left.value == "timedOut")
  }

  /// 13 lines a page beside the dApp's, the first of them the kind; and a last page, of what it comes to.
  @Test(arguments: [(13 * 19 - 1, 20), (13 * 19, 21), (13 * 39 - 1, 40)])
  func `who has more than twenty pages to read has half a minute for each`(lines: Int, pages: Int) async {
    #expect(PromptPages(UserPrompt(purpose: Self.signing(lines: lines))).count == pages)
    let asked = Task { await outcome(of: Self.signing(lines: lines)) }
    await timepiece.sleepers(1)
    timepiece.advance(by: .seconds(30 * pages) - .milliseconds(1))
    #expect(timepiece.sleeperCount == 1)
    timepiece.advance(by: .milliseconds(1))
    #expect(await asked.value == "timedOut")
  }

  @Test func `a prompt that nobody answers ends after 30 s as timed out`() async {
    let asked = Task { await outcome() }
    await timepiece.sleepers(1)
    timepiece.advance(by: .milliseconds(29_999))
    #expect(timepiece.sleeperCount == 1)
    timepiece.advance(by: .milliseconds(1))
    #expect(await asked.value == "timedOut")
  }

  @Test func `a request that is withdrawn ends as cancelled, not as timed out`() async {
    let asked = Task { await outcome() }
    await timepiece.sleepers(1)
    asked.cancel()
    #expect(await asked.value == "cancelled")
    #expect(timepiece.sleeperCount == 0)
  }

  @Test func `the status is "waiting for the person" exactly while a prompt is open`() async {
    let (statuses, report) = AsyncStream.makeStream(of: KeepaliveStatus.self)
    let interaction = StatusReportingInteraction(base: Person(answers: answers))
    answer.yield(true)
    answer.yield(false)
    let status = RequestStatus { report.yield($0) }
    await RequestStatus.$current.withValue(status) {
      for _ in 0..<2 {
        do throws(UserInteractionError) {
          let consent = try await interaction.confirm(UserPrompt(purpose: .select), verification: false)
          let userPresent = consent.userPresent
          #expect(userPresent)
        } catch {
          #expect(error == .declined)
        }
      }
    }
    report.finish()
    var told: [KeepaliveStatus] = []
    for await status in statuses { told.append(status) }
    #expect(told == [.upNeeded, .processing, .upNeeded, .processing])
  }
}
