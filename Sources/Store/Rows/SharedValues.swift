import AppStore
import Entitlements
import Platform

/// Apps, products and offers, which many rows of a projection have in common: each is stored once
/// and found by its id. A cache of the tables, for one connection; rows of them never change.
final class SharedValues {
  struct Product: Sendable {
    var productId: String?
    var type: String?
    var subscriptionGroupId: String?
    var ownership: String?

    /// Compares bytes.
    func isSame(as other: Product) -> Bool {
      ByteSearch.areEqual(productId, other.productId) && ByteSearch.areEqual(type, other.type)
        && ByteSearch.areEqual(subscriptionGroupId, other.subscriptionGroupId)
        && ByteSearch.areEqual(ownership, other.ownership)
    }
  }

  /// A value and its sum. A class, because reading a row copies it for each span.
  final class Stored<Value> {
    let value: Value
    let sum: Int64

    init(_ value: Value, _ sum: Int64) {
      self.value = value
      self.sum = sum
    }
  }

  private let connection: SQLiteConnection
  private var apps: [Int64: AppKey] = [:]
  private var products: [Int64: Stored<Product>] = [:]
  private var offers: [Int64: Stored<Purchase.Offer>] = [:]
  private var appIds: [AppKey: Int64] = [:]
  /// By all members as bytes: `String` calls two encodings of one accented letter equal.
  private var ids: [[UInt8]: Int64] = [:]
  /// The product that was asked for last: the spans of one row mostly have the same.
  private var lastProduct: (product: Product, app: Int64, id: Int64)?

  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Forgets ids that were given within a transaction that was rolled back.
  func removeAll() {
    apps.removeAll()
    products.removeAll()
    offers.removeAll()
    appIds.removeAll()
    ids.removeAll()
    lastProduct = nil
  }

  // MARK: By id

  func app(_ id: Int64) throws(LedgerError) -> AppKey {
    if let app = apps[id] { return app }
    let found = try connection.statement("SELECT environment, bundle_id FROM app WHERE id = ?")
      .bind(1, id).first {
        AppKey(environment: Environment(rawValue: $0.text(0)), bundleId: $0.text(1))
      }
    guard let found else { throw .corrupt("the app of a row is missing") }
    apps[id] = found
    return found
  }

  /// A product and its sum.
  func product(_ id: Int64) throws(LedgerError) -> Stored<Product> {
    if let product = products[id] { return product }
    let found = try connection.statement(
      "SELECT product_id, product_type, subscription_group_id, ownership FROM product WHERE id = ?"
    ).bind(1, id).first {
      Product(
        productId: $0.optionalText(0), type: $0.optionalText(1),
        subscriptionGroupId: $0.optionalText(2), ownership: $0.optionalText(3))
    }
    guard let found else { throw .corrupt("the product of a span is missing") }
    let product = Stored(found, found.sum)
    products[id] = product
    return product
  }

  /// An offer and its sum.
  func offer(_ id: Int64) throws(LedgerError) -> Stored<Purchase.Offer> {
    if let offer = offers[id] { return offer }
    let found = try connection.statement(
      "SELECT type, identifier, discount_type, period FROM offer WHERE id = ?"
    ).bind(1, id).first {
      Purchase.Offer(
        type: $0.int(0), identifier: $0.optionalText(1), discountType: $0.optionalText(2),
        period: $0.optionalText(3))
    }
    guard let found else { throw .corrupt("the offer of a span is missing") }
    let offer = Stored(found, found.sum)
    offers[id] = offer
    return offer
  }

  // MARK: Ids

  /// The id of an app; nil if it has none and `adding` is false.
  func id(of app: AppKey, adding: Bool) throws(LedgerError) -> Int64? {
    if let id = appIds[app] { return id }
    var id = try connection.statement("SELECT id FROM app WHERE environment = ? AND bundle_id = ?")
      .bind(1, app.environment.rawValue).bind(2, app.bundleId).first { $0.int(0) }
    if id == nil && adding {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, app.environment.rawValue).bind(2, app.bundleId).run()
      id = connection.lastRowId
    }
    if let id { appIds[app] = id }
    return id
  }

  /// The id of a product, added if it is new.
  func id(of product: Product, app: Int64) throws(LedgerError) -> Int64 {
    if let last = lastProduct, last.app == app, last.product.isSame(as: product) { return last.id }
    let id = try knownId(of: product, app)
    lastProduct = (product, app, id)
    return id
  }

  private func knownId(of product: Product, _ app: Int64) throws(LedgerError) -> Int64 {
    let texts = [product.productId, product.type, product.subscriptionGroupId, product.ownership]
    let key = Self.key(app, texts)
    if let id = ids[key] { return id }
    let found = try connection.statement(
      """
      SELECT id FROM product WHERE product_id IS ?1 AND app_id = ?2 AND product_type IS ?3
      AND subscription_group_id IS ?4 AND ownership IS ?5
      """
    ).bind(1, texts[0]).bind(2, app).bind(3, texts[1]).bind(4, texts[2]).bind(5, texts[3])
      .first { $0.int(0) }
    if let found {
      ids[key] = found
      return found
    }
    try connection.statement(
      """
      INSERT INTO product (product_id, app_id, product_type, subscription_group_id, ownership)
      VALUES (?1, ?2, ?3, ?4, ?5)
      """
    ).bind(1, texts[0]).bind(2, app).bind(3, texts[1]).bind(4, texts[2]).bind(5, texts[3]).run()
    ids[key] = connection.lastRowId
    return connection.lastRowId
  }

  /// The id of an offer, added if it is new.
  func id(of offer: Purchase.Offer) throws(LedgerError) -> Int64 {
    let texts = [offer.identifier, offer.discountType, offer.period]
    let key = Self.key(offer.type, texts)
    if let id = ids[key] { return id }
    let found = try connection.statement(
      """
      SELECT id FROM offer
      WHERE type = ?1 AND identifier IS ?2 AND discount_type IS ?3 AND period IS ?4
      """
    ).bind(1, offer.type).bind(2, texts[0]).bind(3, texts[1]).bind(4, texts[2]).first { $0.int(0) }
    if let found {
      ids[key] = found
      return found
    }
    try connection.statement(
      "INSERT INTO offer (type, identifier, discount_type, period) VALUES (?1, ?2, ?3, ?4)"
    ).bind(1, offer.type).bind(2, texts[0]).bind(3, texts[1]).bind(4, texts[2]).run()
    ids[key] = connection.lastRowId
    return connection.lastRowId
  }

  /// A number and texts as bytes. Offers have three texts, products four.
  private static func key(_ number: Int64, _ texts: [String?]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(96)
    withUnsafeBytes(of: number) { bytes += $0 }
    for text in texts {
      VarInt.append(text.map { $0.utf8.count + 1 } ?? 0, to: &bytes)
      if let text { bytes += text.utf8 }
    }
    bytes.append(UInt8(texts.count))
    return bytes
  }
}
