import AppStore
import Testing

@testable import Clients

/// The share of Apple's limits is never exceeded.
@Suite struct RequestBudgetTests {
  /// The requests that pass in `hours`, for a caller that waits as it is told.
  private func passed(
    _ endpoint: Endpoint, _ environment: Environment, share: Double, hours: Int64 = 1,
    from: Int64 = 0, _ budget: RequestBudget? = nil
  ) -> Int64 {
    let budget = budget ?? RequestBudget(environment, share: share)
    var (elapsed, count) = (from, Int64(0))
    while elapsed < from + hours * 3_600_000 {
      let wait = budget.take(endpoint, at: elapsed) ?? .max
      if wait == 0 { count += 1 } else { elapsed += wait }
    }
    return count
  }

  @Test(arguments: Endpoint.allCases, [Environment.production, .sandbox])
  func `in an hour at most the share passes, and nearly all of it`(
    endpoint: Endpoint, environment: Environment
  ) {
    for share in [1, 0.5, 0.01] {
      guard let limit = endpoint.hourlyLimit(in: environment) else {
        #expect(RequestBudget(environment, share: share).take(endpoint, at: 0) == nil)
        continue
      }
      let most = Double(limit) * share
      let count = Double(passed(endpoint, environment, share: share))
      #expect(count <= most && count >= most * 0.98 - 1, "\(endpoint) \(count) of \(most)")
    }
  }

  @Test func `an hour after an idle one passes no more`() {
    let budget = RequestBudget(.production, share: 0.5)
    #expect(budget.take(.transactionInfo, at: 0) == 0)
    let count = passed(
      .transactionInfo, .production, share: 0.5, from: 3_600_000, budget)
    #expect(count <= 90_000)
  }

  @Test func `the limits are those that Apple documents`() {
    let all = Endpoint.allCases.map { $0.hourlyLimit(in: .production) }
    #expect(all == [180_000, 3_600, 3_600, 180_000, 180_000, 180_000, 180_000, 36_000, 180_000])
    let sandbox = Endpoint.allCases.map { $0.hourlyLimit(in: .sandbox) }
    #expect(sandbox == [18_000, 360, 360, 18_000, 18_000, 18_000, 18_000, nil, 18_000])
  }

  @Test func `endpoints have budgets of their own, and a blocked one waits`() {
    let budget = RequestBudget(.sandbox, share: 0.5)
    #expect(budget.take(.requestTestNotification, at: 0) == 0)
    #expect(budget.take(.requestTestNotification, at: 0) ?? 0 > 19_000)
    #expect(budget.take(.testNotificationStatus, at: 0) == 0)
    #expect(budget.take(.transactionInfo, at: 0) == 0)
    budget.block(.transactionInfo, until: 50_000)
    budget.block(.transactionInfo, until: 10_000)
    #expect(budget.take(.transactionInfo, at: 20_000) == 30_000)
    #expect(budget.take(.transactionHistory, at: 20_000) == 0)
    #expect(budget.take(.transactionInfo, at: 50_000) == 0)
  }

  @Test func `a clock that stands still gives nothing away`() {
    let budget = RequestBudget(.production, share: 0.5)
    var count = 0
    while budget.take(.transactionInfo, at: 5) == 0 { count += 1 }
    #expect(count == 25)
  }
}
