/// The kinds of products in Apple's words, as `Transaction.type` has them.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/type. What is named and is none of
/// these four covers nothing without an expiry date: nobody knows for how long it was sold.
public enum ProductType {
  public static let autoRenewable = "Auto-Renewable Subscription"
  public static let nonRenewing = "Non-Renewing Subscription"
  public static let consumable = "Consumable"
  public static let nonConsumable = "Non-Consumable"

  /// Apple's four.
  public static let all: Set = [autoRenewable, nonRenewing, consumable, nonConsumable]
}
