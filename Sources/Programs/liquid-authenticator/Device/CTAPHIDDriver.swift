import CTAPHID
import ControlProtocol
import EventLoop
import HelperProcess
import Prompts

/// Drives the device: passes events of transport, clock and authenticator to the state machine in order, and decides
/// nothing.
///
/// An idle device has no timer and no task that wakes.
actor CTAPHIDDriver {
  /// The state of an attached device; it is lost when the device is detached.
  ///
  /// A class, because copying a struct would copy a message that is partly received.
  private final class Attachment {
    let number: UInt64
    let link: any DeviceLink
    let pluggedInAt: Instant
    var machine: CTAPHIDStateMachine
    var request: (transaction: CTAPHIDStateMachine.TransactionID, channel: ChannelID, task: Task<Void, Never>)?
    var node: DeviceNode?
    /// The only timer, and when it will fire; this may be too early, never too late.
    var alarm: (time: Instant, timer: Task<Void, Never>)?

    init(number: UInt64, link: any DeviceLink, pluggedInAt: Instant, machine: CTAPHIDStateMachine) {
      (self.number, self.link, self.pluggedInAt, self.machine) = (number, link, pluggedInAt, machine)
    }
  }

  /// When the device was last attached, and when it was last powered up: at the start, or by its owner.
  struct Times: Equatable, Sendable {
    /// Zero while the device is detached.
    var pluggedInAt: Instant
    var poweredUpAt: Instant
  }

  /// Answers a message of a channel, given the times of the device and the origin of the request; cancelling the task
  /// withdraws it.
  typealias Responder =
    @Sendable (
      _ kind: CTAPHIDStateMachine.Request.Kind, _ message: [UInt8], _ channel: ChannelID, _ times: Times,
      _ origin: RequestOrigin
    ) async -> [UInt8]
  /// Withdraws what stays open between the messages of a channel, at once unless the client may return; `nil` means
  /// every channel.
  typealias Withdrawer = @Sendable (_ channel: ChannelID?, _ mayReturn: Bool) async -> Void

  private static let identity = DeviceIdentity(capabilities: [.wink, .cbor])

  private let transport: any ReportTransport
  private let respond: Responder
  private let withdraw: Withdrawer
  private let clock: any MonotonicClock
  private let loop: EventLoop
  private let executor: EventLoop.Serial
  private let log: Log
  private var policy = AttachmentPolicy()
  private var poweredUpAt: Instant
  private var fault: Problem?
  private var attachment: Attachment?
  /// The attachment that is being made.
  private var attaching: Task<Result<Void, TransportError>, Never>?
  private var hasBegun = false
  /// Closes the previous device.
  private var closing: Task<Void, Never>?
  /// The number of the last attachment.
  private var lastNumber: UInt64 = 0

  /// Makes a device that is not attached yet.
  init(
    transport: any ReportTransport, clock: any MonotonicClock, loop: EventLoop, log: Log,
    withdraw: @escaping Withdrawer, respond: @escaping Responder
  ) {
    self.transport = transport
    self.respond = respond
    self.withdraw = withdraw
    self.clock = clock
    self.loop = loop
    executor = EventLoop.Serial(loop)
    self.log = log
    poweredUpAt = clock.now
  }

  /// The loop's thread, so that an event is handled on the thread that reads it.
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  // MARK: Plugging

  var isAttached: Bool { attachment != nil }
  /// The node that clients open; `nil` until udev has handled it.
  var node: DeviceNode? { attachment?.node }
  /// The times of the device, also for requests of the control socket.
  var times: Times { Times(pluggedInAt: attachment?.pluggedInAt ?? Instant(nanoseconds: 0), poweredUpAt: poweredUpAt) }

  /// Why the device is not attached, if not by a command or for another key.
  var problem: Problem? {
    guard !isAttached else { return nil }
    if policy.waitsForSession { return Self.inBackground }
    return isSettled ? fault : Self.stillAttaching
  }

  /// Whether no attachment is being made, and the first one has succeeded or failed.
  private var isSettled: Bool { hasBegun && attaching == nil }

  static let stillAttaching = Problem(
    "the device is still being attached", hint: "check again in a few seconds", with: ["liquid-auth", "status"],
    kind: .detached)
  private static let inBackground = Problem("the device is detached while another user's session is in the foreground")

  /// The other key for which the device is detached.
  var steppedAsideFor: OtherKey? { policy.steppedAsideFor }

  /// Attaches the device, unless it must step aside for other keys.
  func begin(beside others: [OtherKey]) async throws(TransportError) {
    defer { hasBegun = true }
    policy.begin(beside: others)
    logDetaching()
    if policy.isWanted { try await appear() }
  }

  /// Records why the device is not attached, instead of ``begin(beside:)``.
  func failed(_ error: TransportError) {
    fault = error.problem
    hasBegun = true
  }

  /// Waits, for at most five seconds, until the first attachment, or one that is being made, has succeeded or failed.
  ///
  /// A client that has started the service asks at once, and the broker needs a moment to make the device.
  func settle() async {
    let limit = clock.now.advanced(by: .seconds(5))
    while !isSettled, clock.now < limit {
      try? await clock.sleep(until: clock.now.advanced(by: .milliseconds(20)))
    }
  }

  /// Attaches the device at the user's request.
  func attach() async throws(TransportError) {
    policy.plugIn()
    guard policy.isWanted else { throw TransportError(Self.inBackground) }
    try await appear()
  }

  /// Detaches the device at the user's request.
  func detach() async {
    policy.pullOut()
    await disappear()
  }

  /// Detaches the device and attaches it again.
  func replug() async throws(TransportError) {
    await detach()
    try await attach()
  }

  /// Detaches and attaches the device with a power cycle, which only the owner may request.
  func powerCycle() async throws(TransportError) {
    await detach()
    poweredUpAt = clock.now
    try await attach()
  }

  /// Handles a change of the other keys: the device steps aside for the first, and returns when the last one is gone.
  func see(_ others: [OtherKey]) async {
    guard others != policy.others else { return }
    let wasAside = policy.steppedAsideFor != nil
    policy.see(others)
    let isAside = policy.steppedAsideFor != nil
    guard isAside != wasAside else { return }
    guard !isAside else {
      logDetaching()
      return await disappear()
    }
    log.notice("the device is attached again: no other security key is plugged in")
    await appearIfWanted()
  }

  /// Detaches the device while the user's session is in the background; otherwise tries to attach it, unless a command
  /// or another key keeps it away.
  func see(isInBackground: Bool) async {
    policy.isInBackground = isInBackground
    if isInBackground, isAttached {
      log.notice(Self.inBackground.text)
      await disappear()
    } else {
      await appearIfWanted()
    }
  }

  private func appearIfWanted() async {
    guard policy.isWanted else { return }
    do throws(TransportError) { try await appear() } catch { log.error(error.problem) }
  }

  private func logDetaching() {
    guard let other = policy.steppedAsideFor else { return }
    log.notice("the device is detached while another security key is plugged in, \(other.description)")
  }

  /// Makes the device appear; waits for an attachment that another call has begun.
  private func appear() async throws(TransportError) {
    guard attachment == nil else { return }
    let attaching = attaching ?? Task(executorPreference: loop) { await self.makeAttachment() }
    self.attaching = attaching
    try await attaching.value.get()
  }

  private func makeAttachment() async -> Result<Void, TransportError> {
    defer { attaching = nil }
    await closing?.value
    do throws(TransportError) {
      await serve(try await transport.attach())
      return .success(())
    } catch {
      // An attachment that was cancelled is not wanted any more.
      if !Task.isCancelled { fault = error.problem }
      return .failure(error)
    }
  }

  /// Serves the clients of a new device, unless the device was detached while it was made.
  private func serve(_ link: any DeviceLink) async {
    fault = nil
    guard policy.isWanted else { return await OwnThread.run { link.close() } }
    lastNumber += 1
    let machine = CTAPHIDStateMachine(identity: Self.identity, firstChannel: .random(in: 1 ... .max - 1))
    attachment = Attachment(number: lastNumber, link: link, pluggedInAt: clock.now, machine: machine)
    link.events.receive { [loop, number = lastNumber] events in
      loop.perform { self.assumeIsolated { $0.receive(events, in: number) } }
    }
    Task(executorPreference: loop) { [number = lastNumber] in await self.found(await link.node(), in: number) }
  }

  /// Logs where the device is, once that is known.
  private func found(_ node: DeviceNode?, in number: UInt64) {
    guard attachment?.number == number else { return }
    attachment?.node = node
    if let node {
      log.notice("the device is \(node.path), which \(node.access) can open")
    } else {
      log.warning("the device exists, but has no hidraw node; see: ls -l /dev/hidraw*")
    }
  }

  /// Makes the device disappear, with all its volatile state; withdraws an open prompt.
  private func disappear() async {
    guard let attachment else {
      attaching?.cancel()
      _ = await attaching?.value
      await closing?.value
      return
    }
    let closing = end(attachment)
    await withdraw(nil, false)
    await attachment.request?.task.value
    await closing.value
  }

  /// Closes a device, and ends what its clients asked for; the next one is made only after that.
  private func end(_ attachment: Attachment) -> Task<Void, Never> {
    self.attachment = nil
    let closing = Task(executorPreference: loop) { [link = attachment.link] in
      await OwnThread.run { link.close() }
    }
    self.closing = closing
    attachment.request?.task.cancel()
    attachment.alarm?.timer.cancel()
    return closing
  }

  /// Handles the end of the transport.
  private func ended(_ number: UInt64) async {
    guard let attachment, attachment.number == number else { return }
    _ = end(attachment)
    log.error(
      Problem("the device is gone: \(transport.name) ended", hint: "run:", run: ["liquid-auth", "device", "attach"]))
    await withdraw(nil, false)
  }

  // MARK: Events

  /// Handles events in order; `nil` is the end.
  private func receive(_ events: [DeviceEvent?], in number: UInt64) {
    for event in events {
      switch event {
      case .report(let report): change(number) { machine, now in machine.receive(report, at: now) }
      case .left(let channel): dismiss(channel, in: number, mayReturn: true)
      case nil: Task(executorPreference: loop) { await self.ended(number) }
      }
    }
  }

  /// Withdraws the request that is being served, and every dialog, as CANCEL does.
  func withdrawRequests() {
    if let attachment { dismiss(nil, in: attachment.number, mayReturn: false) }
  }

  /// Withdraws the request and the dialogs of a client, or of all; one that has gone may return.
  private func dismiss(_ channel: ChannelID?, in number: UInt64, mayReturn: Bool) {
    guard let attachment, attachment.number == number else { return }
    if let request = attachment.request, request.channel == channel ?? request.channel { request.task.cancel() }
    Task(executorPreference: loop) { await self.withdraw(channel, mayReturn) }
  }

  private func ring(at time: Instant, in number: UInt64) {
    // A timer that had fired when another one replaced it has a later time.
    guard let attachment, attachment.number == number, attachment.alarm?.time == time else { return }
    attachment.alarm = nil
    change(number) { machine, now in machine.tick(at: now) }
  }

  private func setStatus(
    _ status: KeepaliveStatus, of transaction: CTAPHIDStateMachine.TransactionID, in number: UInt64
  ) {
    change(number) { machine, now in machine.setStatus(status, of: transaction, at: now) }
  }

  /// Whether another client's request was refused because of this one.
  private func isAwaited(_ transaction: CTAPHIDStateMachine.TransactionID, in number: UInt64) -> Bool {
    guard let attachment, attachment.number == number else { return false }
    return attachment.machine.isAwaited(transaction)
  }

  private func answer(_ answer: [UInt8], to transaction: CTAPHIDStateMachine.TransactionID, in number: UInt64) {
    guard attachment?.number == number else { return }
    if attachment?.request?.transaction == transaction { attachment?.request = nil }
    change(number) { machine, _ in machine.respond(answer, to: transaction) }
  }

  /// Passes an event to the state machine of an attachment, unless that is over, and performs the actions.
  private func change(
    _ number: UInt64, _ event: (inout CTAPHIDStateMachine, Instant) -> [CTAPHIDStateMachine.Action]
  ) {
    guard let attachment, attachment.number == number else { return }
    perform(event(&attachment.machine, clock.now))
    setAlarm()
  }

  // MARK: Actions

  private func perform(_ actions: [CTAPHIDStateMachine.Action]) {
    var reports: [Report] = []
    reports.reserveCapacity(actions.count)
    for action in actions {
      switch action {
      case .send(let report): reports.append(report)
      case .dispatch(let request): dispatch(request)
      case .cancel(let transaction):
        if attachment?.request?.transaction == transaction { attachment?.request?.task.cancel() }
      case .wink: log.notice("a program asks this key to identify itself (CTAPHID_WINK)")
      }
    }
    if !reports.isEmpty { attachment?.link.send(reports) }
  }

  private func dispatch(_ request: CTAPHIDStateMachine.Request) {
    guard let number = attachment?.number else { return }
    let transaction = request.transaction
    let (times, door) = (times, Door.device(node: node?.path))
    let task = Task(executorPreference: loop) { [respond] in
      let status = RequestStatus(
        report: { await self.setStatus($0, of: transaction, in: number) },
        isAwaited: { await self.isAwaited(transaction, in: number) })
      let origin = RequestOrigin(door: door, status: request.kind == .cbor ? status : nil)
      let answer = await respond(request.kind, request.payload, request.channel, times, origin)
      await self.answer(answer, to: transaction, in: number)
    }
    self.attachment?.request = (transaction, request.channel, task)
  }

  /// Sets the timer for the machine's deadline, unless it fires before.
  ///
  /// A timer that was replaced must not stay: each request would leave one.
  private func setAlarm() {
    guard let attachment, let deadline = attachment.machine.deadline else { return }
    if let alarm = attachment.alarm, alarm.time <= deadline { return }
    attachment.alarm?.timer.cancel()
    let timer = Task(executorPreference: loop) { [clock, number = attachment.number] in
      do throws(CancellationError) { try await clock.sleep(until: deadline) } catch { return }
      await self.ring(at: deadline, in: number)
    }
    attachment.alarm = (deadline, timer)
  }
}
