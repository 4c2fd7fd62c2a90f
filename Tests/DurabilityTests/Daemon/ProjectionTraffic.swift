import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Synchronization

/// Connections that post and readers that poll, and the guarantees they check: an event that was
/// answered is in its customer's row, and no row goes back, whatever happens to the files.
final class ProjectionTraffic: Sendable {
  static let connections = 64
  private static let customersEach = 3
  private static let readers = 4

  private struct State {
    /// How many events of a customer were answered.
    var events: [String: Int64] = [:]
    /// By customer, the least `event_count` that a read may show from now on: what was answered or
    /// shown before.
    var minimumCounts: [String: Int64] = [:]
    var answered: [String: Int64] = [:]
    var violations: [String] = []
    var reads = 0
    var number = 0
  }

  private let state = Mutex(State())
  private let authority: SimulatedAuthority
  private let isOver = Flag()
  private let threads = DispatchGroup()

  /// - Parameter firstNumber: notifications are numbered after it.
  init(_ installation: Installation, firstNumber: Int = 0) {
    authority = installation.authority
    state.withLock { $0.number = firstNumber }
  }

  /// Records an event that was answered, now or before this began.
  func recordAnswered(_ uuid: String, _ seq: Int64, of customer: String) {
    state.withLock { state in
      state.answered[uuid] = seq
      let count = (state.events[customer] ?? 0) + 1
      state.events[customer] = count
      state.minimumCounts[customer] = max(state.minimumCounts[customer] ?? 0, count)
    }
  }

  /// Violated guarantees, the first ten.
  var violations: [String] { state.withLock { $0.violations } }
  /// Answered with 200: uuid and seq.
  var answered: [String: Int64] { state.withLock { $0.answered.detachedCopy } }
  var reads: Int { state.withLock { $0.reads } }
  var customers: [String] { state.withLock { $0.minimumCounts.keys.sorted() } }

  private func recordViolation(_ violation: String) {
    state.withLock { state in
      if state.violations.count < 10 { state.violations.append(violation) }
    }
  }

  // MARK: Threads

  /// Starts all threads. Each of them ends by itself when the daemon is gone.
  func start(_ port: UInt16) {
    for number in 0..<Self.connections { thread { self.post(port, number) } }
    for number in 0..<Self.readers { thread { self.read(port, number) } }
    thread { self.list(port) }
  }

  private func thread(_ body: @escaping @Sendable () -> Void) {
    threads.enter()
    Thread.detachNewThread {
      body()
      self.threads.leave()
    }
  }

  /// Waits until all threads have noticed that the daemon is gone.
  func waitForEnd() { threads.wait() }

  func end() {
    isOver.set()
    threads.wait()
  }

  // MARK: Posting

  private func post(_ port: UInt16, _ connection: Int) {
    let client = Client(port: port)
    var round = 0
    while !isOver.isSet {
      let customer = "61\(connection * Self.customersEach + round % Self.customersEach)"
      round += 1
      let number = state.withLock { state in
        state.number += 1
        return state.number
      }
      guard
        let body = try? authority.sign(notification: Sample.notification(number, otid: customer)),
        let answer = client.post(body)
      else { return }
      if answer.status == 200, let seq = answer.json?["seq"]?.integer {
        recordAnswered(Sample.uuid(number), seq, of: customer)
        guard readRow(client, customer) else { return }
      } else {
        recordViolation("a notification was answered with \(answer.status): \(answer.text)")
      }
      usleep(UInt32.random(in: 500_000...1_500_000))
    }
  }

  // MARK: Reading

  private func read(_ port: UInt16, _ number: Int) {
    let client = Client(port: port)
    while !isOver.isSet {
      if let customer = customers.randomElement() {
        guard readRow(client, customer) else { return }
      }
      usleep(20_000)
    }
  }

  /// Reads and checks a customer's row. Returns false if the daemon is gone.
  private func readRow(_ client: Client, _ customer: String) -> Bool {
    let minimum = state.withLock { $0.minimumCounts[customer] ?? 0 }
    guard let answer = client.get("/v1/entitlements/\(customer)") else { return false }
    guard answer.status == 200, let row = answer.json else {
      recordViolation("\(customer) was answered with \(answer.status): \(answer.text)")
      return true
    }
    check(row, customer, minimum)
    return true
  }

  private func check(_ row: JSONElement, _ customer: String, _ minimum: Int64) {
    guard let count = row["event_count"]?.integer, row["last_event"]?["seq"]?.integer != nil,
      row["original_transaction_id"]?.string == customer,
      row["product_id"]?.string == "pro.monthly", row["expires_at"]?.integer != nil,
      row["transaction_id"]?.string?.hasPrefix(customer) == true
    else { return recordViolation("an incomplete row: \(row.value.text)") }
    if count < minimum { recordViolation("\(customer) shows \(count) events after \(minimum)") }
    state.withLock { state in
      state.reads += 1
      state.minimumCounts[customer] = max(state.minimumCounts[customer] ?? 0, count)
    }
  }

  /// Lists all rows in pages. No customer who was there before may be missing.
  private func list(_ port: UInt16) {
    let client = Client(port: port)
    while !isOver.isSet {
      let before = state.withLock { $0.minimumCounts }
      var missing = Set(before.keys)
      var after: String?
      repeat {
        let path = "/v1/entitlements?limit=50" + (after.map { "&after=\($0)" } ?? "")
        guard let answer = client.get(path) else { return }
        guard answer.status == 200, let page = answer.json else {
          recordViolation("a list was answered with \(answer.status): \(answer.text)")
          return
        }
        for row in page["items"]?.elements ?? [] {
          guard let customer = row["original_transaction_id"]?.string else { continue }
          missing.remove(customer)
          check(row, customer, before[customer] ?? 0)
        }
        after = page["next_page"]?.string
      } while after != nil
      if !missing.isEmpty { recordViolation("not in the list: \(missing.sorted().prefix(3))") }
      usleep(300_000)
    }
  }
}
