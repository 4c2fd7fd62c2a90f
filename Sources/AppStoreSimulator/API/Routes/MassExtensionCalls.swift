import HTTPServer
import Platform
import StrictJSON

/// Extend Subscription Renewal Dates for All Active Subscribers, and Get Status of Subscription
/// Renewal Date Extensions.
///
/// The running period of each active subscriber of the product ends later from now on, with a
/// RENEWAL_EXTENDED; whoever cannot be extended has a RENEWAL_EXTENSION / FAILURE. What the
/// customer's life brings after that is as it was made. The RENEWAL_EXTENSION / SUMMARY follows a
/// minute later by the simulated clock, with which the request is complete; Apple takes hours.
extension APIRoutes {
  /// Milliseconds until a request is complete.
  private static let duration: Int64 = 60_000

  /// - Throws: `APIError` for the first member that Apple refuses.
  func extendAll(
    _ root: JSONElement, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    let days = try Self.days(root)
    guard let identifier = root["requestIdentifier"]?.string, Self.isUUID(identifier) else {
      throw .invalidRequestIdentifier
    }
    guard let product = root["productId"]?.string, !product.isEmpty else {
      throw .invalidProductId
    }
    let answer = HTTPResponse.json([("requestIdentifier", .string(identifier))])
    // Each identifier is used once: told again, the request is only answered.
    guard facts.massExtensions[identifier] == nil else { return answer }
    var request = MassExtension(
      identifier: identifier, productId: product, countries: try Self.countries(root),
      completeDate: moment + Self.duration)
    for customer in 0..<facts.fleet.count {
      extend(customer, by: days, &request, &facts)
    }
    facts.massExtensions[identifier] = request
    let done = request.completeDate
    facts.add(notification("SUMMARY", ("summary", summary(request, facts)), done), due: done)
    return answer
  }

  /// - Throws: `APIError.invalidRequestIdentifier`, `.statusRequestNotFound`.
  func massExtensionStatus(
    _ operation: Operation, _ facts: AppFacts
  ) throws(APIError) -> HTTPResponse {
    let (product, identifier) = (operation.id, operation.ids.last ?? "")
    guard 1...128 ~= identifier.utf8.count else { throw .invalidRequestIdentifier }
    guard let request = facts.massExtensions[identifier], request.productId == product else {
      throw .statusRequestNotFound
    }
    let isComplete = request.completeDate <= moment
    let counts: [(String, JSONValue)] = [
      ("completeDate", .integer(request.completeDate)),
      ("succeededCount", .integer(request.succeeded)), ("failedCount", .integer(request.failed)),
    ]
    return .json(
      [("requestIdentifier", .string(identifier)), ("complete", .boolean(isComplete))]
        + (isComplete ? counts : []))
  }

  /// - Throws: `APIError.emptyStorefronts`, `.invalidStorefront`.
  private static func countries(_ root: JSONElement) throws(APIError) -> [String]? {
    guard let list = root["storefrontCountryCodes"], list.kind != .null else { return nil }
    guard list.kind == .array else { throw .invalidStorefront }
    if list.elements.isEmpty { throw .emptyStorefronts }
    var countries: [String] = []
    for element in list.elements {
      guard let country = element.string, country.utf8.count == 3,
        country.utf8.allSatisfy({ 0x41...0x5A ~= $0 })
      else { throw .invalidStorefront }
      countries.append(country)
    }
    return countries
  }

  // MARK: One customer

  /// Extends the active subscriptions of a customer, not those of its members.
  private func extend(
    _ customer: Int, by days: Int64, _ request: inout MassExtension, _ facts: inout AppFacts
  ) {
    for account in facts.accounts(of: customer, at: moment) {
      for own in account.subscriptions where isMeant(own, request) {
        let isExtended =
          behaviour.extends && isExtensible(own.originalId, request.identifier, facts)
        if isExtended {
          facts.extensions[own.originalId, default: [:]][request.identifier] = moment
          request.succeeded += 1
        } else {
          request.failed += 1
        }
        facts.add(
          notification(own, extendedBy: isExtended ? days : nil, facts), about: customer,
          due: moment)
      }
    }
  }

  private func isMeant(_ own: CustomerAccount.Subscription, _ request: MassExtension) -> Bool {
    own.status(at: moment) == 1 && own.transaction.text("productId") == request.productId
      && own.transaction.text("inAppOwnershipType") == "PURCHASED"
      && request.countries?.contains(own.transaction.text("storefront") ?? "") ?? true
  }

  // MARK: Notifications

  /// RENEWAL_EXTENDED with later dates, or RENEWAL_EXTENSION / FAILURE with the dates as they are.
  private func notification(
    _ own: CustomerAccount.Subscription, extendedBy days: Int64?, _ facts: AppFacts
  ) -> SimulatedNotification {
    var transaction = own.transaction.signed(at: moment)
    var renewal = own.renewal.signed(at: moment)
    if let days, let end = transaction.number("expiresDate") {
      let later = JSONValue.integer(end + days * CivilTime.day)
      transaction = transaction.replacing("expiresDate", later)
      renewal = renewal.replacing("renewalDate", later)
    }
    let data = JSONValue.object(
      facts.app.members + [
        ("bundleVersion", .string(facts.app.bundleVersion)), ("transaction", transaction),
        ("renewalInfo", renewal), ("status", .integer(own.status(at: moment))),
      ])
    return notification(days == nil ? "FAILURE" : nil, ("data", data), moment)
  }

  /// - Parameter subtype: of RENEWAL_EXTENSION; nil for RENEWAL_EXTENDED.
  private func notification(
    _ subtype: String?, _ content: (String, JSONValue), _ signed: Int64
  ) -> SimulatedNotification {
    var generator = SeededGenerator(seed: .random(in: 0...UInt64.max))
    return SimulatedNotification(
      subtype == nil ? "RENEWAL_EXTENDED" : "RENEWAL_EXTENSION", subtype,
      uuid: generator.uuid(), signed: signed, content)
  }

  /// The `summary` object, which names no customer.
  private func summary(_ request: MassExtension, _ facts: AppFacts) -> JSONValue {
    let countries = request.countries.map {
      [("storefrontCountryCodes", JSONValue.array($0.map(JSONValue.string)))]
    }
    return .object(
      [("requestIdentifier", .string(request.identifier))] + facts.app.members
        + [("productId", .string(request.productId))] + (countries ?? [])
        + [
          ("succeededCount", .integer(request.succeeded)),
          ("failedCount", .integer(request.failed)),
        ])
  }
}

/// A request to extend the renewal dates of all active subscribers, and what came of it.
struct MassExtension: Sendable {
  let identifier: String
  let productId: String
  /// Alpha-3 codes; nil for all.
  let countries: [String]?
  /// When the App Store is done, milliseconds since 1970.
  let completeDate: Int64
  var succeeded: Int64 = 0
  var failed: Int64 = 0
}
