import AppStore
import Entitlements
import Platform

/// The tables `app` and `product` of a projection, kept in memory, for one connection; rows of them
/// never change.
final class SharedValues {
  private let connection: SQLiteConnection
  private var apps: [Int64: AppKey] = [:]
  private var appIds: [AppKey: Int64] = [:]
  /// How many apps were added by this connection, also within what was rolled back.
  private(set) var addedApps = 0
  /// By all members as bytes: `String` calls two encodings of one accented letter equal.
  private var products: Set<[UInt8]> = []
  /// The product that was added last: the spans of one row mostly have the same.
  private var last: (app: Int64, texts: [String?])?

  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Forgets what was added within a transaction that was rolled back.
  func removeAll() {
    apps.removeAll()
    appIds.removeAll()
    products.removeAll()
    last = nil
  }

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

  /// The id of an app; nil if it has none and `adding` is false.
  func id(of app: AppKey, adding: Bool) throws(LedgerError) -> Int64? {
    if let id = appIds[app] { return id }
    var id = try connection.statement("SELECT id FROM app WHERE environment = ? AND bundle_id = ?")
      .bind(1, app.environment.rawValue).bind(2, app.bundleId).first { $0.int(0) }
    if id == nil && adding {
      try connection.statement("INSERT INTO app (environment, bundle_id) VALUES (?, ?)")
        .bind(1, app.environment.rawValue).bind(2, app.bundleId).run()
      id = connection.lastRowId
      addedApps += 1
    }
    if let id { appIds[app] = id }
    return id
  }

  /// Adds the product of a span, if it is new.
  func addProduct(of span: Int, of row: EntitlementRow, app: Int64) throws(LedgerError) {
    let purchase = row.spans[span].purchase.map { row.purchases[$0] }
    let texts = [row.spans[span].productId, purchase?.productType, purchase?.subscriptionGroupId]
    if let last, last.app == app, last.texts.elementsEqual(texts, by: ByteSearch.areEqual) {
      return
    }
    last = (app, texts)
    var key: [UInt8] = []
    key.reserveCapacity(96)
    VarInt.append(UInt64(bitPattern: app), to: &key)
    for text in texts {
      VarInt.append(text.map { $0.utf8.count + 1 } ?? 0, to: &key)
      if let text { key += text.utf8 }
    }
    guard products.insert(key).inserted else { return }
    try connection.statement(
      """
      INSERT INTO product (app_id, product_id, product_type, subscription_group_id)
      SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (
        SELECT 1 FROM product WHERE app_id = ?1 AND product_id IS ?2 AND product_type IS ?3
        AND subscription_group_id IS ?4)
      """
    ).bind(1, app).bind(2, texts[0]).bind(3, texts[1]).bind(4, texts[2]).run()
  }
}
