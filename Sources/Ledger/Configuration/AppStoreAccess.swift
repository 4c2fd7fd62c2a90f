public import Clients
public import SignedData

extension Configuration {
  /// How Apple is asked about one app: the App Store Server API.
  public struct AppStoreAccess: Sendable, Equatable {
    /// A P-256 key, equal to another that was read from the same bytes.
    public struct Key: Sendable, Equatable {
      public let signing: SigningKey
      /// SHA-256 of the file.
      let digest: [UInt8]

      public static func == (left: Key, right: Key) -> Bool { left.digest == right.digest }
    }

    /// Whether the daemon may ask by itself for what it missed, and about customers who are due.
    public enum Recovery: String, Sendable, CaseIterable { case automatic, off }

    public let issuerId: String
    public let keyId: String
    public let key: Key
    /// The addresses of the API.
    public let production: ServiceURL
    public let sandbox: ServiceURL
    /// The share of Apple's limits that is used.
    public let limitShare: Double
    public let recover: Recovery
    /// Milliseconds after the end of a paid period without word, after which a customer is due to
    /// be compared with what Apple says.
    public let reconcileAfter: Int64
    /// A proxy that connects to Apple; nil for none.
    public let proxy: ServiceURL?
  }
}

extension Configuration {
  /// Where receipts are sent if an operator asks Apple about one.
  public struct ReceiptService: Sendable, Equatable {
    static let productionAddress = "https://buy.itunes.apple.com"
    static let sandboxAddress = "https://sandbox.itunes.apple.com"

    public var production: ServiceURL
    public var sandbox: ServiceURL

    /// Apple's addresses; nil if curl cannot read them.
    ///
    /// Source: developer.apple.com/documentation/appstorereceipts/verify-receipt.
    init?() {
      guard let production = ServiceURL(Self.productionAddress),
        let sandbox = ServiceURL(Self.sandboxAddress)
      else { return nil }
      (self.production, self.sandbox) = (production, sandbox)
    }
  }
}
