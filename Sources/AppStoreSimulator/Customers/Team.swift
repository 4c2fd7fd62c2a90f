import StrictJSON

/// A subscription of several seats. Those of one period are bought in one transaction, and further
/// ones in transactions of their own.
struct Team {
  /// Apple's invitationManagement: who invites the members.
  enum Mode: String, Sendable {
    /// Members have transactions of their own.
    case apple = "APPLE"
    /// The developer keeps a record of who has a seat.
    case developer = "DEVELOPER"
  }

  let mode: Mode
  /// The seats of the next renewal.
  var renewalSeats: Int64
  /// Those of the current period.
  var purchases: [Purchase] = []
  /// The ids of the seats that are taken, by the record of the developer.
  var claims: [String] = []
}

extension Purchase {
  struct Seats: Equatable {
    struct Tier: Equatable {
      let price: Int64
      let quantity: Int64
    }

    let tiers: [Tier]
    var refunded: Int64 = 0

    var total: Int64 { tiers.reduce(0) { $0 + $1.price * $1.quantity } }

    /// Five seats at the usual price, and further ones at four fifths of it.
    init(_ count: Int64, price: Int64) {
      tiers = [
        Tier(price: price, quantity: min(count, 5)),
        Tier(price: price * 4 / 5, quantity: max(0, count - 5)),
      ].filter { $0.quantity > 0 }
    }

    var json: JSONValue { Self.json(tiers) }

    static func json(_ tiers: [Tier]) -> JSONValue {
      .array(
        tiers.map {
          .object([("price", .integer($0.price)), ("quantity", .integer($0.quantity))])
        })
    }
  }
}

extension Customer {
  /// Makes the current purchase, whose price is that of one seat, one of the team's seats.
  mutating func sellSeats() {
    guard let count = team?.renewalSeats, let price = current?.price else { return }
    current?.sellSeats(count, price)
    team?.purchases = [current].compactMap(\.self)
  }

  /// Seats for the rest of the period. Nobody knows whether they have its webOrderLineItemId: here
  /// those of the developer's teams have.
  mutating func addSeats(_ count: Int64) {
    guard state == .active, var added = current, let price = added.seats?.tiers.first?.price,
      let mode = team?.mode, max(now, added.purchaseDate) < added.expiresDate ?? 0
    else { return }
    now = max(now, added.purchaseDate) + 60_000
    added.id = makeId()
    if mode == .apple { added.webOrderLineItemId = makeId() }
    (added.purchaseDate, added.reason, added.revocation) = (now, .purchase, nil)
    added.sellSeats(count, price)
    newest = added
    team?.purchases.append(added)
    team?.renewalSeats += count
    claimSeats(count)
    announce("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY", about: newest)
  }

  /// Fewer seats, at least one, from the next renewal.
  mutating func dropSeats(_ count: Int64) {
    guard state == .active, let seats = team?.renewalSeats, seats > count else { return }
    team?.renewalSeats -= count
    announce("DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY", about: current)
  }

  /// Gives back some seats of the newest purchase, at least one of which stays.
  mutating func refundSeats(_ count: Int64) {
    guard newest?.revocation == nil, let seats = newest?.seats,
      seats.refunded + count < newest?.quantity ?? 0
    else { return }
    newest?.seats?.refunded += count
    keepSeats()
    announce("REFUND", "SEATS", about: newest)
  }

  mutating func claimSeats(_ count: Int64) {
    guard team?.mode == .developer else { return }
    for _ in 0..<count { team?.claims.append(generator.uuid()) }
  }

  /// The developer is to take access from those who hold some seats.
  mutating func unclaimSeats(_ count: Int64) {
    guard team?.mode == .developer, let ids = team?.claims.suffix(Int(count)), !ids.isEmpty else {
      return
    }
    team?.claims.removeLast(ids.count)
    var members = Members(list: app.members)
    members.add("originalTransactionId", current?.originalId)
    members.list.append(("unclaimSeatIds", .array(ids.map(JSONValue.string))))
    announce("UNCLAIM_SEATS", content: ("unclaimInfo", .object(members.list)))
  }

  /// Takes over a change of the newest purchase.
  mutating func keepSeats() {
    guard let newest, let index = team?.purchases.firstIndex(where: { $0.id == newest.id }) else {
      return
    }
    team?.purchases[index] = newest
    if current?.id == newest.id { current = newest }
  }

  /// Whether the newest purchase is the only one by which the subscription runs.
  var isLastPurchase: Bool {
    guard let team else { return newest?.id == current?.id }
    return team.purchases.allSatisfy { $0.id == newest?.id || $0.revocation != nil }
  }

  /// The purchases by which a team has access at a time, milliseconds since 1970: its purchaser,
  /// and by the developer's record whoever has one of `claims`.
  func paidSeats(at time: Int64) -> [Purchase] {
    team?.purchases.filter { $0.revocation == nil && time < $0.expiresDate ?? 0 } ?? []
  }
}

extension Purchase {
  fileprivate mutating func sellSeats(_ count: Int64, _ price: Int64) {
    let sold = Seats(count, price: price)
    (seats, quantity, self.price) = (sold, count, sold.total / count)
  }
}
