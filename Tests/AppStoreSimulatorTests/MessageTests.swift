import Foundation
import Platform
import SignedData
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// What reaches a service beside version 2 notifications.
@Suite struct MessageTests {
  private static let app = SimulatedApp()
  private static let notifications = Fleet(
    app: app, customers: 60, days: 400, end: LifecycleTests.end, seed: 5
  ).notifications()

  private static func messages(
    _ kinds: Set<SimulatedMessage.Kind>, earlier: Int = 0
  ) -> [SimulatedMessage] {
    SimulatedMessage.all(kinds, of: notifications, app: app, earlierPurchases: earlier)
  }

  private static func contents(_ messages: [SimulatedMessage]) -> [ReceiptContent] {
    messages.compactMap { message in
      switch message.content {
      case .receipt(let content), .v1(_, let content): content
      case .notification, .transaction: nil
      }
    }
  }

  @Test func `every kind occurs, in the order of its dates, and notifications stay as they are`() {
    let all = Self.messages(Set(SimulatedMessage.Kind.allCases))
    #expect(all.map(\.date) == all.map(\.date).sorted())
    for kind in SimulatedMessage.Kind.allCases {
      #expect(all.count { $0.kind == kind } > 20, "\(kind)")
    }
    #expect(Self.messages([.notifications]).map(\.date) == Self.notifications.map(\.signedDate))
    #expect(Self.messages([.v1]).allSatisfy { $0.kind == .v1 })
  }

  @Test func `StoreKit signs before the notification, and never before the purchase`() throws {
    for message in Self.messages([.transactions]) {
      guard case .transaction(let transaction, let renewal) = message.content else { continue }
      #expect(transaction.number("signedDate") == message.date)
      #expect(renewal.map { $0.number("signedDate") == message.date } ?? true)
    }
  }

  @Test func `a receipt lists each purchase of its customer once`() {
    let receipts = Self.contents(Self.messages([.receipts]))
    #expect(receipts.contains { $0.records.count > 5 })
    for receipt in receipts {
      let ids = receipt.records.map(\.transactionId)
      #expect(!ids.isEmpty && Set(ids).count == ids.count)
      #expect(receipt.records.allSatisfy { $0.originalPurchaseDate <= $0.purchaseDate })
    }
  }

  @Test(arguments: [1, 2_000])
  func `receipts list from 1 to 2,000 purchases`(records: Int) {
    let receipts = Self.contents(Self.messages([.receipts], earlier: records - 1))
    let counts = receipts.map(\.records.count)
    #expect(counts.min() == records, "\(counts)")
    #expect(receipts.allSatisfy { Set($0.records.map(\.transactionId)).count == $0.records.count })
  }

  @Test func `receipts of both digests are proven, and version 1 carries them`() throws {
    let authority = try SimulatedAuthority.make()
    let signer = MessageSigner(
      authority, receipts: try authority.makeReceiptSigner(), digests: .both, v1Secret: "s")
    let prover = try ReceiptProver(roots: TrustRoots(files: [authority.root]))
    var digests: Set<[UInt8]> = []
    for message in Self.messages([.receipts, .v1]).prefix(60) {
      let body = try JSONDocument(parsing: signer.body(message)).root
      let text = body["receipt"] ?? body["unified_receipt"]?["latest_receipt"]
      let der = try #require(Base64.decode(ArraySlice((text?.string ?? "").utf8)))
      try prover.prove(SignedMessage(parsing: der), at: message.date)
      digests.insert(Array(der.prefix(60).suffix(32)))
      guard message.kind == .v1 else { continue }
      #expect(body["password"]?.string == "s" && body["environment"]?.string == "PROD")
      #expect(body["unified_receipt"]?["latest_receipt_info"]?.elements.isEmpty == false)
    }
    #expect(digests.count > 1)
  }

  @Test func `a signer without a certificate for receipts says so`() throws {
    let signer = MessageSigner(try .make())
    let receipt = try #require(Self.messages([.receipts]).first)
    #expect(throws: SigningError.self) { try signer.body(receipt) }
  }
}
