public import AppStore
import Store
public import StrictJSON

/// What the check of a bundle found.
public struct BundleReport: Sendable {
  /// The customer's stream; nil if the first line cannot be read.
  public internal(set) var key: StreamKey?
  public internal(set) var events: Int64 = 0
  /// How many of the events Apple did not sign, which only the chain vouches for.
  public internal(set) var unsigned: Int64 = 0
  /// How many of these are statements of the owner; the others are V1.
  public internal(set) var statements: Int64 = 0
  public internal(set) var anchors: Int64 = 0
  /// How many of the reader's own anchors match the bundle.
  public internal(set) var matchedAnchors: Int64 = 0
  /// The key that sealed the file, 32 bytes in base64. It only means something if it is known from
  /// another source.
  public internal(set) var publicKey: String?
  /// Whether the seal and the anchors were checked with a key from another source.
  public internal(set) var isKeyCompared = false
  /// The entitlement in the bundle; nil if none was read.
  public internal(set) var answer: JSONValue?
  /// The time that the entitlement is for, in milliseconds since 1970 UTC.
  public internal(set) var asOf: Int64?
  public internal(set) var givesAccess = false
  /// How long non-renewing products last according to the bundle's author: milliseconds by product
  /// id. No data of Apple's confirms it.
  public internal(set) var durations: [String: Int64] = [:]
  /// Whether the answer was folded again and compared, which is not possible for another fold.
  public internal(set) var isAnswerCompared = false
  public internal(set) var findings = Findings()
}
