/// One customer with the members who share its purchases.
enum Household: Sendable {
  /// The customer of a fleet with that number.
  case fleet(Int)
  /// The customer of a lifecycle with that number.
  case lifecycle(Lifecycle, Int)
}

/// Makes the notifications of households; the same household always gives the same ones.
struct Households: Sendable {
  let app: SimulatedApp
  let days: Int64
  /// When the lives end, milliseconds since 1970.
  let end: Int64
  let seed: UInt64
  let all: [Household]

  /// - Parameter lifecycles: each is played by one more customer.
  init(
    app: SimulatedApp, customers: Int, lifecycles: [Lifecycle], days: Int64, end: Int64,
    seed: UInt64
  ) {
    (self.app, self.days, self.end, self.seed) = (app, days, end, seed)
    all =
      (0..<customers).map { .fleet($0) }
      + lifecycles.enumerated().map { .lifecycle($1, customers + $0) }
  }

  /// All notifications of a household, in the order Apple signed them.
  func notifications(of index: Int) -> [SimulatedNotification] {
    switch all[index] {
    case .fleet(let number):
      var fleet = Fleet(app: app, customers: 1, days: days, end: end, seed: seed)
      fleet.first = number
      return fleet.notifications()
    case .lifecycle(let lifecycle, let number):
      return lifecycle.notifications(app: app, seed: seed, endingAt: end, customer: number)
    }
  }
}
