import AppStore
import Foundation
import Glibc
import Platform
import SignedData
import Store
import Support

/// Pseudorandom numbers from a seed, the same in every run (SplitMix64).
struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}

/// A data folder for one test. It is removed with this object.
final class Scratch {
  let folder: DataFolder

  init() throws {
    folder = DataFolder(path: NSTemporaryDirectory() + "journal-" + UUID().uuidString)
    try folder.create()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder.path) }

  func open() throws -> Opened { try Opened(folder) }

  /// The bytes of every file by name. Read through `FileHandle`, because `Data(contentsOf:)` leaks
  /// 4 KiB for an empty file such as the lock.
  func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let file = try FileHandle(forReadingFrom: URL(filePath: folder.path + "/" + name))
      files[name] = try file.readToEnd() ?? Data()
    }
    return files
  }

  /// A copy of the files as they are now, without the lock, as a crash would leave them.
  func crashed() throws -> Scratch {
    let copy = try Scratch()
    for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] {
      let source = folder.path + "/" + name
      if FileManager.default.fileExists(atPath: source) {
        try FileManager.default.copyItem(atPath: source, toPath: copy.folder.path + "/" + name)
      }
    }
    return copy
  }
}

/// An open journal and the lock that it needs.
final class Opened {
  let lock: FolderLock
  let journal: Journal

  init(_ folder: DataFolder, sharing dictionary: SharedDictionary = SharedDictionary()) throws {
    lock = try folder.lock()
    journal = try Journal.open(folder, lock: lock, now: 1_767_225_600_000, sharing: dictionary)
  }
}

/// Bodies and events for tests.
enum Sample {
  static let header: [UInt8] = {
    var dice = Dice(state: 7)
    let certificates = [800, 560, 380].map { Data(dice.bytes($0)).base64EncodedString() }
    let list = certificates.map { "\"\($0)\"" }.joined(separator: ",")
    return Base64URL.encode(Array(#"{"alg":"ES256","x5c":[\#(list)]}"#.utf8))
  }()

  static func jws(_ payload: String, _ dice: inout Dice) -> String {
    [header, Base64URL.encode(Array(payload.utf8)), Base64URL.encode(dice.bytes(64))]
      .map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
  }

  static func uuid(_ number: Int) -> NotificationUUID {
    var dice = Dice(state: UInt64(number) &+ 99)
    return NotificationUUID(bytes: dice.bytes(16)) ?? NotificationUUID(high: 0, low: 0)
  }

  /// A V2 body with two nested JWS and three signatures.
  static func body(_ number: Int, signature: UInt64 = 0) -> [UInt8] {
    var dice = Dice(state: UInt64(number) &* 1_000 &+ 3)
    let id = 2_000_000_000_000_000 + number / 10
    let date = 1_767_225_600_000 + number * 977
    let transaction = jws(
      #"{"transactionId":"\#(id + 7)","originalTransactionId":"\#(id)","webOrderLineItemId":"\#(dice.next() >> 14)","bundleId":"com.example.app","productId":"pro.monthly","subscriptionGroupIdentifier":"21400001","purchaseDate":\#(date),"originalPurchaseDate":\#(date - 5000),"expiresDate":\#(date + 2_592_000_000),"quantity":1,"type":"Auto-Renewable Subscription","appAccountToken":"\#(uuid(number * 7))","inAppOwnershipType":"PURCHASED","signedDate":\#(date + 12),"environment":"Production","transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441","price":9990,"currency":"USD","appTransactionId":"\#(dice.next() >> 8)"}"#,
      &dice)
    let renewal = jws(
      #"{"originalTransactionId":"\#(id)","autoRenewProductId":"pro.monthly","productId":"pro.monthly","autoRenewStatus":1,"renewalPrice":9990,"currency":"USD","signedDate":\#(date + 12),"environment":"Production","recentSubscriptionStartDate":\#(date - 5000),"renewalDate":\#(date + 2_592_000_000),"appTransactionId":"\#(dice.next() >> 8)"}"#,
      &dice)
    let payload =
      #"{"notificationType":"DID_RENEW","notificationUUID":"\#(uuid(number))","data":{"appAppleId":123456789,"bundleId":"com.example.app","bundleVersion":"1.4","environment":"Production","signedTransactionInfo":"\#(transaction)","signedRenewalInfo":"\#(renewal)","status":1},"version":"2.0","signedDate":\#(date + 40)}"#
    var last = Dice(state: dice.next() ^ signature)
    return Array(jws(payload, &last).utf8)
  }

  /// A body that cannot be compressed.
  static func noise(_ number: Int, _ size: Int) -> [UInt8] {
    var dice = Dice(state: UInt64(number))
    return dice.bytes(size)
  }

  static func event(
    _ number: Int, body: [UInt8]? = nil, receivedAt: Int64? = nil,
    preservesReceivedAt: Bool = false,
    source: EventSource = .v2, bundleId: String = "com.example.app", id: String? = nil
  ) -> NewEvent {
    let body = body ?? Sample.body(number)
    return NewEvent(
      envelope: EventEnvelope(
        notificationUUID: uuid(number), source: source, environment: "Production",
        bundleId: bundleId, notificationType: "DID_RENEW", subtype: nil,
        originalTransactionId: id ?? "\(2_000_000_000_000_000 + number / 10)",
        signedDate: 1_767_225_600_000 + Int64(number) * 977,
        receivedAt: receivedAt ?? 1_767_225_600_000 + Int64(number) * 1_000),
      preservesReceivedAt: preservesReceivedAt, body: .bytes(body), bodySHA256: SHA256.hash(body))
  }

  static func quarantine(
    _ number: Int, owner: NewQuarantine.Owner = .foreign
  ) -> NewQuarantine {
    let body = Array("body \(number)".utf8)
    return NewQuarantine(
      reason: "other_app", owner: owner, source: "v2",
      claims: QuarantineClaims(
        notificationUUID: uuid(number), environment: "Production", bundleId: "com.other",
        notificationType: "TEST", signedDate: 1),
      receivedAt: 2, body: body, bodySHA256: SHA256.hash(body))
  }
}

func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

extension Projection {
  /// Writes rows after reading the reference of each.
  func commit(rows: [FoldedStream], foldedThrough: Int64, hash: [UInt8]) throws(LedgerError) {
    let packer = StatePacker()
    try commit(foldedThrough: foldedThrough, hash: hash) { () throws(LedgerError) in
      for row in rows {
        try write(packer.pack(row), over: try stream(row.key)?.reference, at: clock())
      }
    }
  }

  /// The row and the state of a stream, as they are stored.
  func read(_ key: StreamKey) throws(LedgerError) -> FoldedStream? {
    try stream(key).map { FoldedStream(key, $0.state, broken: $0.broken) }
  }
}
