import Platform
import StrictJSON

/// What the App Store knows of one app in one environment: its customers, its notifications and
/// the attempts to send them.
struct AppFacts: Sendable {
  let app: SimulatedApp
  private let households: Households
  /// By the numbers of transactions, original transactions and app transactions: the household.
  private let owners: [Int64: Int]
  private(set) var sent: [SentNotification] = []
  /// Indices of `sent` in ascending order of signedDate.
  private(set) var order: [Int] = []
  /// Those that a request caused.
  private var caused: [SimulatedNotification] = []
  /// Indices of `caused` by the household that they are about, oldest first.
  private var causedOf: [Int: [Int]] = [:]
  /// In descending order of time, so that the next one is the last.
  private(set) var pending: [PendingAttempt] = []
  /// By original transaction id: the identifiers of extensions, and when each was asked for.
  var extensions: [String: [String: Int64]] = [:]
  /// By their identifier.
  var massExtensions: [String: MassExtension] = [:]

  var isProduction: Bool { app.environment == "Production" }
  var customers: Int { households.all.count }
  var householdNumbers: Range<Int> { households.all.indices }

  /// - Parameters:
  ///   - start: what was signed before was sent before; milliseconds since 1970.
  ///   - result: how the attempts before `start` ended, Apple's sendAttemptResult.
  init(_ households: Households, start: Int64, before result: String) {
    self.households = households
    app = households.app
    var owners: [Int64: Int] = [:]
    for index in households.all.indices {
      for (number, notification) in households.notifications(of: index).enumerated() {
        for id in Self.ids(of: notification) { owners[id] = index }
        sent.append(
          SentNotification(
            source: .household(index, number), signedDate: notification.signedDate,
            type: notification.type, subtype: notification.subtype))
      }
    }
    self.owners = owners
    let dates = sent.map(\.signedDate)
    order = sent.indices.sorted { (dates[$0], $0) < (dates[$1], $1) }
    for index in sent.indices { addPast(index, start, result) }
    pending.sort { $0.due > $1.due }
  }

  private static func ids(of notification: SimulatedNotification) -> [Int64] {
    guard let transaction = notification.payload["data"]?["transaction"] else { return [] }
    return ["transactionId", "originalTransactionId", "appTransactionId"]
      .compactMap { transaction.text($0).flatMap { Int64($0) } }
  }

  /// Adds the attempts before the start, and the first one after it.
  private mutating func addPast(_ index: Int, _ start: Int64, _ result: String) {
    let hours = isProduction ? Delivery.attemptHours : [0]
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
    case .household(let household, let number):
      households.notifications(of: household)[number]
    case .caused(let number, _): caused[number]
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

  /// Adds a TEST notification that is due at once.
  ///
  /// - Returns: its index; nil if none could be made.
  mutating func addTest(at moment: Int64) -> Int? {
    guard
      let test = Lifecycle.named("test")?.notifications(
        app: app, seed: .random(in: 0...UInt64.max), endingAt: moment
      ).last
    else { return nil }
    return add(test, due: moment)
  }

  /// Adds a notification that a request caused.
  ///
  /// - Parameters:
  ///   - household: whom it is about; nil if it names no customer.
  ///   - due: when it is sent first, milliseconds since 1970.
  /// - Returns: its index.
  @discardableResult
  mutating func add(
    _ notification: SimulatedNotification, about household: Int? = nil, due: Int64
  ) -> Int {
    caused.append(notification)
    if let household { causedOf[household, default: []].append(caused.count - 1) }
    sent.append(
      SentNotification(
        source: .caused(caused.count - 1, household: household),
        signedDate: notification.signedDate, type: notification.type,
        subtype: notification.subtype))
    let index = sent.count - 1
    order.insert(index, at: position(after: notification.signedDate))
    schedule(PendingAttempt(due: due, notification: index, number: 0))
    return index
  }

  /// The first position in `order` of a notification that was signed after `date`.
  private func position(after date: Int64) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if sent[order[middle]].signedDate <= date { low = middle + 1 } else { high = middle }
    }
    return low
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
    guard result != SendAttempt.success, isProduction, next < Delivery.attemptHours.count
    else { return }
    let gap = Delivery.attemptHours[next] - Delivery.attemptHours[attempt.number]
    schedule(
      PendingAttempt(
        due: attempt.due + gap * CivilTime.hour, notification: attempt.notification,
        number: next))
  }

  private mutating func schedule(_ attempt: PendingAttempt) {
    var (low, high) = (0, pending.count)
    while low < high {
      let middle = (low + high) / 2
      if pending[middle].due >= attempt.due { low = middle + 1 } else { high = middle }
    }
    pending.insert(attempt, at: low)
  }

  // MARK: Customers

  /// - Parameter moment: what was signed later is not known yet; milliseconds since 1970.
  /// - Returns: nil if no customer has the id at that moment.
  func account(with id: String, at moment: Int64) -> CustomerAccount? {
    guard let household = Int64(id).flatMap({ owners[$0] }) else { return nil }
    return CustomerAccount(notifications(of: household), with: id, at: moment)
  }

  /// The app transaction ids of all customers whom a notification has told of by a moment.
  func appTransactionIds(at moment: Int64) -> [String] {
    var ids: Set<String> = []
    for household in householdNumbers {
      for notification in notifications(of: household) where notification.signedDate <= moment {
        let transaction = notification.payload["data"]?["transaction"]
        if let id = transaction?.text("appTransactionId") { ids.insert(id) }
      }
    }
    return ids.sorted()
  }

  /// All notifications about a household, in the order Apple signed them.
  func notifications(of household: Int) -> [SimulatedNotification] {
    let own = households.notifications(of: household)
    guard let more = causedOf[household] else { return own }
    return (own + more.map { caused[$0] }).sorted(by: SimulatedNotification.precedes)
  }

  /// Whether a notification is about that customer.
  func isNotification(_ index: Int, of account: CustomerAccount) -> Bool {
    let household: Int? =
      switch sent[index].source {
      case .household(let number, _): number
      case .caused(_, let number): number
      }
    guard let household, Int64(account.appTransactionId).flatMap({ owners[$0] }) == household
    else { return false }
    let transaction = notification(index).payload["data"]?["transaction"]
    return transaction?.text("appTransactionId") == account.appTransactionId
  }
}
