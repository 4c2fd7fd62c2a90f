import AppStoreSimulator
import Platform
import StrictJSON
import Synchronization

/// `simulate serve` on a thread of this process, until `stop`.
final class DemoAppStore: Sendable {
  /// The line that it prints: addresses, key and names.
  private let line = Mutex<JSONValue?>(nil)
  private let began = WakeupEvent()
  private let isStopRequested = Atomic<Bool>(false)
  private let thread = Mutex<Thread?>(nil)

  private static let startTimeout: Int32 = 60_000

  /// - Parameter arguments: those after `simulate serve`.
  /// - Throws: `LedgerError.unavailable` if it does not listen.
  static func start(_ arguments: [String]) throws(LedgerError) -> DemoAppStore {
    let store = DemoAppStore()
    let thread = try mapError(
      { (error: LedgerError) in LedgerError.unavailable(error.detail) },
      try Thread.start("demo-store") {
        _ = StandInCommand.run(
          arguments: arguments, output: { store.begin($0) }, progress: { _ in },
          shouldStop: { store.isStopRequested.load(ordering: .relaxed) })
        store.began.signal()
      })
    store.thread.withLock { $0 = thread }
    store.began.wait(milliseconds: startTimeout)
    guard store.line.withLock({ $0 != nil }) else {
      store.stop()
      throw .unavailable("the simulated App Store did not start")
    }
    return store
  }

  private func begin(_ text: String) {
    let value = try? JSONDocument(parsing: Array(text.utf8)).root.value
    line.withLock { $0 = value }
    began.signal()
  }

  private func text(_ name: String) -> String {
    guard case .string(let text) = line.withLock({ $0?[name] }) else { return "" }
    return text
  }

  /// The value of `appStore` in the configuration of a daemon that asks it.
  var access: JSONValue {
    let members = ["issuerId", "keyId", "keyFile", "production", "sandbox"]
    return .object(members.map { ($0, .string(text($0))) } + [("limitShare", .integer(1))])
  }

  /// Moves the simulated clock, and sends what is then due.
  ///
  /// - Returns: how many notifications of both environments together have not been delivered.
  /// - Throws: `LedgerError.unavailable` if there is no usable answer.
  func advance(_ milliseconds: Int64) throws(LedgerError) -> Int64 {
    let body = JSONValue.object([("advance", .integer(milliseconds))]).bytes
    guard let address = ServiceAddress(text("production") + "/control"),
      let answer = try? ServiceConnection(address).post(body), answer.status == 200,
      let report = try? JSONDocument(parsing: answer.body).root
    else { throw .unavailable("the simulated App Store did not answer") }
    return ["production", "sandbox"].reduce(0) { $0 + (report[$1]?["failures"]?.integer ?? 0) }
  }

  /// Ends both servers and the thread that sends.
  func stop() {
    isStopRequested.store(true, ordering: .relaxed)
    thread.withLock { $0.take() }?.join()
  }
}
