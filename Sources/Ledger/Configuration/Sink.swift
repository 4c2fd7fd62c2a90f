public import AppStore
public import Clients
public import SignedData

extension Configuration {
  /// Somewhere that changes are sent.
  public struct Sink: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
      /// Signed messages with the customer's whole row (Standard Webhooks, CloudEvents).
      case webhook
      /// Apple's notification as it was received.
      case forward
    }

    /// Which messages wait for others.
    public enum Order: String, Sendable, CaseIterable {
      /// Those of one customer, for the ones before.
      case customer
      case none
      /// All of them: one at a time.
      case total
    }

    /// Where a sink begins that has no place in the journal yet.
    public enum Start: Sendable, Equatable {
      case now
      case start
      /// After an event, which the beginning of its hash must confirm.
      case after(seq: Int64, hash: [UInt8])
    }

    /// What a webhook message holds in addition.
    public enum Inclusion: String, Sendable, CaseIterable {
      /// Apple's notification, decoded.
      case payload
    }

    /// How events come to the journal, as `arrival` in the history says.
    static let arrivalNames: Set = ["posted", "history", "import", "asked", "submitted"]

    public let name: String
    public let kind: Kind
    public let url: ServiceURL
    /// Globs over the type of a message; nil for all types.
    public var types: [String]?
    public var environments: Set<Environment>?
    public var bundleIds: Set<String>?
    /// How an event came, of `arrivalNames`.
    public var arrivals: Set<String> = arrivalNames.subtracting(["import"])
    public var include: Set<Inclusion> = []
    public var from = Start.now
    public var order = Order.customer
    /// Requests at the same time.
    public var concurrency = 8
    public var timeoutSeconds = 20
    /// Signs the messages of a webhook: the newest first, two during a rotation.
    public var secrets: [WebhookSecret] = []
    /// The shared secret of each app whose version 1 notifications are forwarded with it.
    public var v1Secrets: [String: Secret] = [:]
    /// Of `forward`: whether it also gets notifications that were genuine and not admitted.
    public var forwardsQuarantine = false
    /// A proxy that connects to the receiver, and then judges its address; nil for none.
    public var proxy: ServiceURL?
    /// Whether the receiver may be in a private network, and without TLS.
    public var isPrivate = false
    /// Sent with every request, as `Authorization`.
    public var fields: [Field] = []
    /// Certificate authorities for the receiver's certificate, in PEM; nil for the system's.
    public var authorities: String?
    public var clientCertificate: ClientSettings.ClientCertificate?

    /// A text that is shown nowhere.
    public struct Secret: Sendable, Equatable, CustomStringConvertible {
      public let text: String
      public var description: String { "a secret" }
    }

    /// A header field, whose value is secret.
    public struct Field: Sendable, Equatable {
      public let name: String
      public let value: Secret

      package init(_ name: String, _ value: String) {
        (self.name, self.value) = (name, Secret(text: value))
      }
    }

    package init(name: String, kind: Kind, url: ServiceURL) {
      (self.name, self.kind, self.url) = (name, kind, url)
    }
  }
}
