public import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Synchronization

/// A purchase that Apple names for an order id, from the mail that it sends to a customer.
public struct OrderPurchase: Sendable {
  let key: StreamKey
  let productIds: [String]
  /// How many of its transactions belong to the order.
  let transactions: Int
  fileprivate(set) var isJournaled = false

  public init(key: StreamKey, productIds: [String], transactions: Int) {
    (self.key, self.productIds, self.transactions) = (key, productIds, transactions)
  }

  static let object = JSONObject<OrderPurchase>(
    "OrderPurchase",
    [
      .type("order_purchase"),
      JSONMember("environment", .environment) { $0.key.environment.rawValue },
      JSONMember("bundle_id", .bundleId) { $0.key.bundleId },
      JSONMember("original_transaction_id", .text()) { $0.key.originalTransactionId },
      JSONMember("product_ids", .list(.text("A product of the order."))) { $0.productIds },
      JSONMember("transactions", .integer("How many transactions the order has of it.")) {
        $0.transactions
      },
      JSONMember(
        "journaled", .boolean("Whether this ledger has the purchase; if not, import it.")
      ) { $0.isJournaled },
    ])
}

/// Asks Apple for orders, one at a time: a person waits for each, and whoever asks for many would
/// use up what Apple allows (Look Up Order ID: 10 requests a second).
final class OrderLookup: Sendable {
  /// Asks about these apps. Throws `.usage` if none of them can be asked about, and
  /// `.unavailable` or `.findings` if Apple does not answer, or not with what it signed.
  typealias Ask =
    @Sendable (_ order: String, _ bundleIds: Set<String>) throws(LedgerError) -> [OrderPurchase]

  private let ask: Ask
  private let thread = Mutex<Platform.Thread?>(nil)
  private let isBusy = Atomic<Bool>(false)

  init(_ ask: @escaping Ask) { self.ask = ask }

  /// Asks on a thread of its own, because Apple may take seconds.
  ///
  /// - Returns: false if another order is being asked for, or the kernel refuses the thread.
  func start(
    _ order: String, _ bundleIds: Set<String>,
    completion: @escaping @Sendable (Result<[OrderPurchase], LedgerError>) -> Void
  ) -> Bool {
    guard isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    else { return false }
    let started = try? Thread.start("order") { [self] in
      let found = Result { () throws(LedgerError) in try ask(order, bundleIds) }
      isBusy.store(false, ordering: .releasing)
      completion(found)
    }
    guard let started else {
      isBusy.store(false, ordering: .releasing)
      return false
    }
    thread.withLock { $0 = started }
    return true
  }

  /// Waits until the last one is answered.
  func stop() { thread.withLock { $0.take() }?.join() }
}

extension Route {
  static let order = Route(
    "lookUpOrder", .entitlements, "GET", "/v1/orders/{order}", .token(.lookup),
    "Asks Apple for the purchases of an order id, as a customer's mail has it.", [.order],
    replies: .usual(
      "What Apple knows of the order; empty if nothing.", "OrderPurchaseList", .absent),
    answer: LedgerHandler.lookUpOrder)
}

extension LedgerHandler {
  /// What Apple says of an order, and whether it is journaled.
  fileprivate func lookUpOrder(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    guard Self.isOrder(call.id) else { throw ParameterFault(.invalid, .order) }
    let apps = configuration.apps.keys.filter {
      call.token.covers(environment: .production, bundleId: $0)
    }
    guard let lookup = service.orderLookup else { return Problem.noKey }
    let isStarted = lookup.start(call.id.uppercased(), Set(apps)) { [service] found in
      service.answer(found, call)
    }
    return isStarted ? nil : service.finished(Problem.response(.unavailable("order_busy")))
  }

  /// An order id has letters, the id of a transaction digits alone.
  private static func isOrder(_ id: String) -> Bool {
    id.utf8.count <= 64 && id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
      && id.contains(where: \.isLetter)
  }
}

extension LedgerService {
  fileprivate func answer(_ found: Result<[OrderPurchase], LedgerError>, _ call: Call) {
    let outcome = (try? found.get()).map { $0.isEmpty ? "unknown" : "found" } ?? "failed"
    Log.write(
      .info, "order_lookup", [("outcome", .string(outcome)), ("token", .string(call.token.name))])
    switch found {
    case .failure(let error):
      call.sender.send(
        finished(
          error.code == .usage
            ? Problem.noKey : Problem.response(503, "apple", error.detail, retryAfter: 30)))
    case .success(let asked):
      answerJournaled(call) { reader throws(LedgerError) in
        var purchases = asked
        for index in purchases.indices {
          let key = purchases[index].key
          purchases[index].isJournaled = try reader.hasPurchase(key)
        }
        return Answers.all(of: OrderPurchase.object).json(purchases)
      }
    }
  }
}
