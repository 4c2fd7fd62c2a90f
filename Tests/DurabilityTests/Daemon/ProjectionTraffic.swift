import Foundation
import Simulator
import StrictJSON
import Support
import Synchronization

/// Connections that post and readers that poll, and what each may rely on: an event that was
/// answered is in its customer's row, and no row goes back, whatever becomes of the files.
final class ProjectionTraffic: Sendable {
  static let connections = 64
  private static let customersEach = 3
  private static let readers = 4

  private struct State {
    /// How many events of a customer were answered.
    var events: [String: Int64] = [:]
    /// The least `event_count` a read that begins now may show: what was answered or shown.
    var floors: [String: Int64] = [:]
    var answered: [String: Int64] = [:]
    var troubles: [String] = []
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

  /// An event that was answered, now or before this began.
  func know(_ uuid: String, _ seq: Int64, of customer: String) {
    state.withLock { state in
      state.answered[uuid] = seq
      let count = (state.events[customer] ?? 0) + 1
      state.events[customer] = count
      state.floors[customer] = max(state.floors[customer] ?? 0, count)
    }
  }

  /// What was seen that must not be, at most a few.
  var troubles: [String] { state.withLock { $0.troubles } }
  /// Answered with 200: uuid and seq.
  var answered: [String: Int64] { state.withLock { $0.answered.own } }
  var reads: Int { state.withLock { $0.reads } }
  var customers: [String] { state.withLock { $0.floors.keys.sorted() } }

  private func note(_ trouble: String) {
    state.withLock { state in
      if state.troubles.count < 10 { state.troubles.append(trouble) }
    }
  }

  // MARK: Life

  /// Starts all threads. One of them ends where the daemon is gone.
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

  /// Waits until all threads have seen that the daemon is gone.
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
        know(Sample.uuid(number), seq, of: customer)
        guard ask(client, customer) else { return }
      } else {
        note("a notification was answered with \(answer.status): \(answer.text)")
      }
      usleep(UInt32.random(in: 500_000...1_500_000))
    }
  }

  // MARK: Reading

  private func read(_ port: UInt16, _ number: Int) {
    let client = Client(port: port)
    while !isOver.isSet {
      if let customer = customers.randomElement() {
        guard ask(client, customer) else { return }
      }
      usleep(20_000)
    }
  }

  /// False where the daemon is gone.
  private func ask(_ client: Client, _ customer: String) -> Bool {
    let floor = state.withLock { $0.floors[customer] ?? 0 }
    guard let answer = client.get("/v1/entitlements/\(customer)") else { return false }
    guard answer.status == 200, let row = answer.json else {
      note("\(customer) was answered with \(answer.status): \(answer.text)")
      return true
    }
    check(row, customer, floor)
    return true
  }

  private func check(_ row: JSONElement, _ customer: String, _ floor: Int64) {
    guard let count = row["event_count"]?.integer, row["last_event"]?["seq"]?.integer != nil,
      row["original_transaction_id"]?.string == customer,
      row["product_id"]?.string == "pro.monthly", row["expires_at"]?.integer != nil,
      row["transaction_id"]?.string?.hasPrefix(customer) == true
    else { return note("half a row: \(row.value.text)") }
    if count < floor { note("\(customer) shows \(count) events after \(floor)") }
    state.withLock { state in
      state.reads += 1
      state.floors[customer] = max(state.floors[customer] ?? 0, count)
    }
  }

  /// Goes through all rows in pages: nobody who was there before is left out.
  private func list(_ port: UInt16) {
    let client = Client(port: port)
    while !isOver.isSet {
      let before = state.withLock { $0.floors }
      var missing = Set(before.keys)
      var after: String?
      repeat {
        let path = "/v1/entitlements?limit=50" + (after.map { "&after=\($0)" } ?? "")
        guard let answer = client.get(path) else { return }
        guard answer.status == 200, let page = answer.json else {
          note("a list was answered with \(answer.status): \(answer.text)")
          return
        }
        for row in page["items"]?.elements ?? [] {
          guard let customer = row["original_transaction_id"]?.string else { continue }
          missing.remove(customer)
          check(row, customer, before[customer] ?? 0)
        }
        after = page["next_page"]?.string
      } while after != nil
      if !missing.isEmpty { note("not in the list: \(missing.sorted().prefix(3))") }
      usleep(300_000)
    }
  }
}
