import Platform
import StrictJSON

/// What the App Store knows of one app in one environment: its customers, its notifications and
/// the attempts to send them.
struct AppFacts: Sendable {
  private(set) var fleet: Fleet
  /// By the numbers of transactions, original transactions and app transactions: the customer, as
  /// an index of the fleet; a member has that of its purchaser.
  private var owners: [Int64: Int] = [:]
  private(set) var sent: [SentNotification] = []
  /// Indices of `sent` in ascending order of signedDate.
  private var order: [Int] = []
  /// Indices of `sent` that a request caused, by the customer that they are about, oldest first.
  private var caused: [Int: [Int]] = [:]
  /// In descending order of time, so that the next one is the last.
  private(set) var pending: [PendingAttempt] = []
  /// By original transaction id: the identifiers of extensions, and when each was asked for.
  var extensions: [String: [String: Int64]] = [:]
  /// By their identifier.
  var massExtensions: [String: MassExtension] = [:]
  private var counts = RequestCounts()
  private var limits: RateLimits

  var app: SimulatedApp { fleet.app }

  /// - Parameters:
  ///   - start: what was signed before was sent before; milliseconds since 1970.
  ///   - result: how the attempts before `start` ended, Apple's sendAttemptResult.
  init(_ fleet: Fleet, start: Int64, before result: String) {
    self.fleet = fleet
    limits = RateLimits(fleet.app.isProduction ? .production : .sandbox)
    for customer in 0..<fleet.count {
      for (number, notification) in fleet.notifications(of: customer).enumerated() {
        enter(notification, of: customer, number)
      }
    }
    let dates = sent.map(\.signedDate)
    order = sent.indices.sorted { (dates[$0], $0) < (dates[$1], $1) }
    for index in sent.indices { addPast(index, start, result) }
    pending.sort { $0.due > $1.due }
  }

  /// Adds a notification of a life, with its number in it.
  private mutating func enter(
    _ notification: SimulatedNotification, of customer: Int, _ number: Int
  ) {
    for name in ["transactionId", "originalTransactionId", "appTransactionId"] {
      let id = notification.transaction?.text(name).flatMap { Int64($0) }
      if let id { owners[id] = customer }
    }
    sent.append(SentNotification(notification, customer: customer, source: .life(number)))
  }

  /// Adds the attempts before the start, and the first one after it.
  private mutating func addPast(_ index: Int, _ start: Int64, _ result: String) {
    let hours = app.isProduction ? Delivery.attemptHours : [0]
    for (number, hour) in hours.enumerated() {
      let date = sent[index].signedDate + hour * CivilTime.hour
      guard date <= start else {
        return pending.append(PendingAttempt(due: date, notification: index, number: number))
      }
      sent[index].attempts.append(SendAttempt(date: date, result: result))
      if result == SendAttempt.success { return }
    }
  }

  // MARK: Notifications

  func notification(_ index: Int) -> SimulatedNotification {
    switch sent[index].source {
    case .life(let number): fleet.notifications(of: sent[index].customer ?? 0)[number]
    case .request(let notification): notification
    }
  }

  /// The notification's JWS, with the same bytes at every call.
  ///
  /// - Throws: `APIError.internalError` if it cannot be signed.
  mutating func signedPayload(
    _ index: Int, _ authority: SimulatedAuthority
  ) throws(APIError) -> String {
    let payload = notification(index).payload
    do {
      let text = try authority.signedPayload(payload, memory: &sent[index].signatures)
      return String(decoding: text, as: UTF8.self)
    } catch { throw .internalError }
  }

  /// Adds a notification that a request caused.
  ///
  /// - Parameters:
  ///   - customer: whom it is about; nil if it names nobody.
  ///   - due: when it is sent first, milliseconds since 1970.
  /// - Returns: its index.
  @discardableResult
  mutating func add(
    _ notification: SimulatedNotification, about customer: Int? = nil, due: Int64
  ) -> Int {
    let index = sent.count
    sent.append(
      SentNotification(notification, customer: customer, source: .request(notification)))
    if let customer { caused[customer, default: []].append(index) }
    enqueue(index, due: due)
    return index
  }

  /// Puts the last notification of `sent` into its order, and makes its first attempt due.
  private mutating func enqueue(_ index: Int, due: Int64) {
    order.insert(index, at: position(after: sent[index].signedDate))
    schedule(PendingAttempt(due: due, notification: index, number: 0))
  }

  /// The first position in `order` of a notification that was signed after `date`.
  private func position(after date: Int64) -> Int {
    order.firstPosition { sent[$0].signedDate > date }
  }

  /// Those signed from `start` and before `end`, oldest first.
  func signed(from start: Int64, before end: Int64) -> ArraySlice<Int> {
    let first = position(after: start - 1)
    return order[first..<max(first, position(after: end - 1))]
  }

  // MARK: Attempts

  /// Removes the next attempt that is due by `moment`, and returns it.
  mutating func takeDue(by moment: Int64) -> PendingAttempt? {
    guard let next = pending.last, next.due <= moment else { return nil }
    return pending.removeLast()
  }

  /// Records how an attempt ended; after a failure the next is scheduled by Apple's times, in
  /// production only.
  mutating func record(_ attempt: PendingAttempt, _ result: String) {
    sent[attempt.notification].attempts.append(SendAttempt(date: attempt.due, result: result))
    let next = attempt.number + 1
    guard result != SendAttempt.success, app.isProduction, next < Delivery.attemptHours.count
    else { return }
    let gap = Delivery.attemptHours[next] - Delivery.attemptHours[attempt.number]
    schedule(
      PendingAttempt(
        due: attempt.due + gap * CivilTime.hour, notification: attempt.notification,
        number: next))
  }

  private mutating func schedule(_ attempt: PendingAttempt) {
    pending.insert(attempt, at: pending.firstPosition { $0.due < attempt.due })
  }

  // MARK: Customers

  /// - Parameter moment: what was signed later is not known yet; milliseconds since 1970.
  /// - Returns: nil if no customer has the id at that moment.
  func account(with id: String, at moment: Int64) -> CustomerAccount? {
    guard let customer = Int64(id).flatMap({ owners[$0] }) else { return nil }
    return CustomerAccount(notifications(of: customer), with: id, at: moment)
  }

  /// The accounts of a customer and its members whom a notification has told of by a moment, in
  /// that order.
  func accounts(of customer: Int, at moment: Int64) -> [CustomerAccount] {
    let known = notifications(of: customer)
    var ids: [String] = []
    for notification in known where notification.signedDate <= moment {
      guard let id = notification.appTransactionId, !ids.contains(id) else { continue }
      ids.append(id)
    }
    return ids.compactMap { CustomerAccount(known, with: $0, at: moment) }
  }

  /// All notifications about a customer and its members, in the order Apple signed them.
  private func notifications(of customer: Int) -> [SimulatedNotification] {
    let own = fleet.notifications(of: customer)
    guard let more = caused[customer] else { return own }
    return (own + more.map { notification($0) }).sorted(by: SimulatedNotification.precedes)
  }

  /// Whether a notification is about that customer.
  func isNotification(_ index: Int, of account: CustomerAccount) -> Bool {
    guard let customer = sent[index].customer,
      Int64(account.appTransactionId).flatMap({ owners[$0] }) == customer
    else { return false }
    return notification(index).appTransactionId == account.appTransactionId
  }

  // MARK: Refunds

  /// Keeps what was told of a purchase. Its customer's life goes on by it: what had not been signed
  /// yet is made again.
  mutating func tell(_ answer: RefundAnswer, about transactionId: String) {
    fleet.answers[transactionId, default: []].append(answer)
    guard let customer = Int64(transactionId).flatMap({ owners[$0] }) else { return }
    let later = Set(
      order[position(after: answer.received)...].filter {
        if case .life = sent[$0].source { sent[$0].customer == customer } else { false }
      })
    // They stay in `sent`, so that the others keep their indices, but nothing names them any more.
    order.removeAll { later.contains($0) }
    pending.removeAll { later.contains($0.notification) }
    let life = fleet.notifications(of: customer)
    for (number, notification) in life.enumerated()
    where notification.signedDate > answer.received {
      let index = sent.count
      enter(notification, of: customer, number)
      enqueue(index, due: notification.signedDate)
    }
  }

  /// The requests for refunds that were signed by a moment, customer by customer.
  func refundRequests(at moment: Int64) -> [RefundRequest] {
    let asked = signed(from: 0, before: moment + 1).filter {
      sent[$0].type == "CONSUMPTION_REQUEST"
    }
    let customers = Set(asked.compactMap { sent[$0].customer }).sorted()
    return customers.flatMap { fleet.refundRequests(of: $0, at: moment) }
  }

  // MARK: Requests

  /// Counts a request.
  ///
  /// - Parameters:
  ///   - operation: the call that it is; nil for any other request.
  ///   - now: milliseconds since 1970.
  /// - Returns: when the next request may be sent, if this one is one too many.
  mutating func count(
    _ endpoint: String, _ operation: Operation?, at now: Int64, _ window: RateLimits.Window
  ) -> Int64? {
    counts.add(endpoint, at: now)
    return operation.flatMap { limits.add($0.kind, at: now, window) }
  }

  /// How many of the notifications that were signed by a moment have not reached the service.
  func failures(at moment: Int64) -> Int {
    signed(from: 0, before: moment + 1).count { sent[$0].isFailure }
  }

  /// What `GET /control` shows.
  func report(at moment: Int64) -> JSONValue {
    .object([
      ("customers", .integer(Int64(fleet.count))),
      ("notifications", .integer(Int64(signed(from: 0, before: moment + 1).count))),
      ("failures", .integer(Int64(failures(at: moment)))),
      ("pendingAttempts", .integer(Int64(pending.count))),
      ("requests", counts.json), ("limits", limits.json),
    ])
  }
}

extension Array {
  /// The first index whose element fits; none before an element that fits may follow one that
  /// does not.
  fileprivate func firstPosition(where fits: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if fits(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
