import AppStore
import Audit
import Foundation
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// What the owner of the ledger says of its customers: claims of accounts, and grants.
@Suite struct StatementTests {
  private static let histories = TestCount.statements.number
  fileprivate static let noEntitlement = Outcome.refused(.notFound("no_such_entitlement"))
  private static let noGrant = Outcome.refused(.notFound("no_such_grant"))
  private static let seed = TestSeed.number(usual: 20_261_124)

  /// A ledger with the customers 7000, 7001, …
  private static func ledger(customers: Int = 1) throws -> TestLedger {
    let ledger = try TestLedger()
    for number in 0..<customers {
      let event = Sample.notification(number + 1, otid: "\(7000 + number)")
      try ledger.ingest(try SharedAuthority.sign(event), at: Sample.start)
    }
    return ledger
  }

  private static func statement(
    _ content: OwnerStatement.Content, _ account: String = "user-4711", key: String? = nil,
    at time: Int64 = Sample.start
  ) -> NewStatement {
    NewStatement(
      content, of: CustomerName(.account, account), environment: .production,
      bundleId: TestLedger.bundleId, token: "backend", idempotencyKey: key, receivedAt: time)
  }

  /// Journals statements together; their outcomes, in the same order.
  @discardableResult
  private static func say(
    _ statements: [NewStatement], to ledger: TestLedger
  ) -> [Outcome] {
    let done = BoundedQueue<(Int, Outcome)>(capacity: statements.count)
    ledger.ledger.submit(
      statements.enumerated().map { index, statement in
        (Receiver.Received(statement), { _ = done.enqueue((index, $0)) })
      })
    var all = [Outcome](repeating: .skipped, count: statements.count)
    for _ in statements {
      if let (index, outcome) = done.dequeue() { all[index] = outcome }
    }
    return all
  }

  @discardableResult
  private static func say(
    _ content: OwnerStatement.Content, _ account: String = "user-4711", key: String? = nil,
    to ledger: TestLedger
  ) -> Outcome {
    say([statement(content, account, key: key)], to: ledger)[0]
  }

  private static let claim = OwnerStatement.Content.claim(originalTransactionId: "7000")
  private static let release = OwnerStatement.Content.release(originalTransactionId: "7000")
  private static let key = StreamKey(
    environment: .production, bundleId: TestLedger.bundleId, originalTransactionId: "7000")

  @Test func `a claim is journaled once and changes no row`() throws {
    let ledger = try Self.ledger()
    let (digest, row) = (try ledger.digest(), try ledger.row("7000"))
    #expect(Self.say(Self.claim, to: ledger) == .accepted(seq: 2))
    #expect(Self.say(Self.claim, to: ledger) == .duplicate(seq: 2))
    let reader = try JournalReader.open(ledger.folder)
    #expect(try reader.accounts(of: Self.key) == ["user-4711"])
    #expect(try reader.streams(claimedBy: "user-4711") == [Self.key])
    #expect(try ledger.digest() == digest)
    #expect(try ledger.row("7000")?.eventCount == row?.eventCount)
    #expect(Self.say(Self.release, to: ledger) == .accepted(seq: 3))
    #expect(try reader.accounts(of: Self.key).isEmpty)
    #expect(Self.say(Self.release, to: ledger) == .duplicate(seq: 3))
    #expect(Self.say(Self.claim, to: ledger) == .accepted(seq: 4))
    #expect(try ledger.verify().findings.map(\.what) == [])
  }

  @Test func `no statement names a purchase or a grant that is not there`() throws {
    let ledger = try Self.ledger()
    #expect(Self.say(.claim(originalTransactionId: "9999"), to: ledger) == Self.noEntitlement)
    #expect(Self.say(Self.release, to: ledger) == Self.noEntitlement)
    #expect(Self.say(.revocation(of: "x", reason: nil), to: ledger) == Self.noGrant)
    #expect(try ledger.events().count == 1)
  }

  @Test func `two accounts on one purchase are both kept`() throws {
    let ledger = try Self.ledger()
    for account in ["b", "a", "c"] { Self.say(Self.claim, account, to: ledger) }
    Self.say(Self.release, "a", to: ledger)
    #expect(try JournalReader.open(ledger.folder).accounts(of: Self.key) == ["b", "c"])
  }

  @Test func `a row names the first accounts of a purchase, and says how many there are`() throws {
    let ledger = try Self.ledger()
    for number in 1...25 { Self.say(Self.claim, "\(number)", to: ledger) }
    for account in ["1", "3"] { Self.say(Self.release, account, to: ledger) }
    Self.say(Self.claim, "1", to: ledger)
    #expect(Self.erase("5", ledger) == .done(wasKnown: true))
    let row = try #require(try ledger.row("7000"))
    #expect(row.accounts == ["2", "4"] + (6...23).map { "\($0)" })
    #expect(row.accountCount == 23 && row.json["account_count"]?.text == "23")
    #expect(try JournalReader.open(ledger.folder).sharedPurchaseCount() == 1)
    #expect(try ledger.verify().findings.map(\.what) == [])
  }

  @Test func `claims of an older journal are found, and claims that nobody made`() throws {
    let ledger = try Self.ledger()
    for account in ["b", "a", "c"] { Self.say(Self.claim, account, to: ledger) }
    Self.say(Self.release, "b", to: ledger)
    func change(_ sql: String) throws {
      try ledger.whileStopped {
        let file = try SQLiteConnection.open(ledger.folder.journal, .write)
        try file.execute(sql)
        try file.checkpointTruncate()
        file.close()
      }
    }
    try change(
      """
      DROP TABLE claim; DROP TRIGGER statement_insert; DELETE FROM migration WHERE number >= 10;
      PRAGMA user_version = 9;
      """)
    #expect(try JournalReader.open(ledger.folder).accounts(of: Self.key) == ["a", "c"])
    #expect(try ledger.verify().findings.map(\.what) == [])
    try change("UPDATE claim SET seq = 2 WHERE seq = 3")
    #expect(try ledger.verify().findings.count == 2)
  }

  @Test func `an idempotency key journals one statement once, and no other`() throws {
    let ledger = try Self.ledger()
    let grant = OwnerStatement.Content.grant(entitlement: "pro", until: nil, reason: "press")
    #expect(Self.say(grant, key: "k1", to: ledger) == .accepted(seq: 2))
    #expect(Self.say(grant, key: "k1", to: ledger) == .duplicate(seq: 2))
    #expect(Self.say(grant, key: "k2", to: ledger) == .accepted(seq: 3))
    let other = OwnerStatement.Content.grant(entitlement: "max", until: nil, reason: nil)
    #expect(Self.say(other, key: "k1", to: ledger) == .conflict(seq: 2))
    #expect(Self.say(grant, to: ledger) == .accepted(seq: 4))
    #expect(Self.say(Self.claim, key: "c1", to: ledger) == .accepted(seq: 5))
    #expect(Self.say(Self.release, to: ledger) == .accepted(seq: 6))
    // A late repetition does not claim again.
    #expect(Self.say(Self.claim, key: "c1", to: ledger) == .duplicate(seq: 5))
    #expect(try JournalReader.open(ledger.folder).accounts(of: Self.key).isEmpty)
  }

  @Test func `a grant ends once, and only its own customer's`() throws {
    let ledger = try Self.ledger()
    Self.say(.grant(entitlement: "pro", until: 5, reason: nil), to: ledger)
    let journal = try JournalReader.open(ledger.folder)
    let mac = try #require(try journal.mac(of: CustomerName(.account, "user-4711")))
    let id = try #require(try journal.statements(about: mac).first?.statement.id)
    #expect(Self.say(.revocation(of: id, reason: nil), "someone-else", to: ledger) == Self.noGrant)
    #expect(Self.say(.revocation(of: id, reason: nil), to: ledger) == .accepted(seq: 3))
    #expect(Self.say(.revocation(of: id, reason: nil), to: ledger) == .duplicate(seq: 3))
    #expect(try ledger.verify().findings.map(\.what) == [])
  }

  /// One without a reason keeps its bytes, which older versions can read.
  @Test func `the end of a grant may have a reason, and the first one counts`() throws {
    let ledger = try Self.ledger()
    let customer = CustomerName(.account, "user-4711")
    Self.say(.grant(entitlement: "pro", until: nil, reason: nil), to: ledger)
    let mac = try #require(try JournalReader.open(ledger.folder).mac(of: customer))
    let id = try #require(
      try JournalReader.open(ledger.folder).statements(about: mac).first?.statement.id)
    let why = OwnerStatement.Content.revocation(of: id, reason: "a mistake")
    #expect(Self.say(why, to: ledger) == .accepted(seq: 3))
    #expect(Self.say(.revocation(of: id, reason: "another"), to: ledger) == .duplicate(seq: 3))
    let said = try JournalReader.open(ledger.folder).statements(about: mac).map(\.statement)
    #expect(said.last?.content == why)
    #expect(OwnerStatement(body: try #require(said.last?.body)) == said.last)
    var plain = try #require(said.last)
    plain.content = .revocation(of: id, reason: nil)
    #expect(!String(decoding: plain.body, as: UTF8.self).contains("reason"))
    let grant = try #require(try ledger.reader().grants(of: customer, .production).first)
    #expect(grant.json["revocation_reason"] == .string("a mistake"))
    #expect(try ledger.verify().findings.map(\.what) == [])
  }

  @Test func `grants are listed in pages, each with its end`() throws {
    let ledger = try Self.ledger()
    for number in 1...7 {
      Self.say(.grant(entitlement: "\(number)", until: nil, reason: nil), to: ledger)
    }
    let customer = CustomerName(.account, "user-4711")
    let all = try ledger.reader().grants(of: customer, .production)
    for place in [1, 5] {
      guard case .string(let id) = all[place].json["id"] else { continue }
      Self.say(.revocation(of: id, reason: nil), to: ledger)
    }
    for limit in [1, 3, 7, 8] {
      var (listed, after): ([JSONValue], Int64?) = ([], 0)
      while let seq = after {
        let page = try ledger.reader().grants(
          of: customer, .production, after: seq, limit: limit
        ) { _ in true }
        #expect(page.grants.count == limit || page.next == nil)
        listed += page.grants.map(\.json)
        after = page.next
      }
      #expect(listed == (try ledger.reader().grants(of: customer, .production).map(\.json)))
      #expect(listed.filter { $0["revoked_at"] != .null }.count == 2)
    }
    let other = try ledger.reader().grants(
      of: customer, .production, after: 0, limit: 3
    ) { $0.bundleId != TestLedger.bundleId }
    #expect(other.grants.isEmpty && other.next == nil)
  }

  /// Decoding all of them, 32 times as many cost 32 times as much.
  @Test func `a grant is found by the event that made or ended it, at the cost of one`() throws {
    let ledger = try Self.ledger()
    let customer = CustomerName(.account, "user-4711")
    var costs: [Double] = []
    for count in [10, 310] {
      Self.say(
        (0..<count).map { Self.statement(.grant(entitlement: "\($0)", until: nil, reason: nil)) },
        to: ledger)
      let reader = try ledger.reader()
      let last = try #require(try reader.grants(of: customer, .production).last)
      costs.append(
        processorSeconds {
          for _ in 0..<20 { #expect((try? reader.grant(at: last.seq, of: customer)) != nil) }
        })
    }
    #expect(costs[1] < 4 * costs[0], "\(costs)")
    let grants = try ledger.reader().grants(of: customer, .production)
    for place in [0, 7] {
      guard case .string(let id) = grants[place].json["id"] else { continue }
      Self.say(.revocation(of: id, reason: nil), to: ledger)
    }
    let reader = try ledger.reader()
    for grant in try reader.grants(of: customer, .production) {
      for seq in [grant.seq, grant.revokedBy].compactMap({ $0 }) {
        #expect(try reader.grant(at: seq, of: customer)?.json == grant.json)
      }
      #expect(try reader.grant(at: grant.seq, of: CustomerName(.account, "another")) == nil)
    }
  }

  @Test func `after an erasure no file has a byte of the account`() throws {
    let ledger = try Self.ledger()
    let name = "erase-me-\(UInt64.random(in: 0...UInt64.max))"
    Self.say([Self.statement(Self.claim, name, key: "key of \(name)")], to: ledger)
    #expect(try Self.files(of: ledger, having: name) != [])
    #expect(Self.erase(name, ledger) == .done(wasKnown: true))
    #expect(try Self.files(of: ledger, having: name) == [])
    let reader = try JournalReader.open(ledger.folder)
    #expect(try reader.accounts(of: Self.key).isEmpty)
    #expect(try reader.streams(claimedBy: name).isEmpty)
    #expect(try ledger.verify().findings.map(\.what) == [])
    #expect(Self.erase(name, ledger) == .done(wasKnown: false))
    // The journal goes on, and the same name is another customer from now on.
    #expect(Self.say(Self.claim, name, to: ledger) == .accepted(seq: 3))
    #expect(try reader.accounts(of: Self.key) == [name])
    try ledger.whileStopped {}
    #expect(try ledger.verify().findings.map(\.what) == [])
  }

  private static func erase(_ name: String, _ ledger: TestLedger) -> Ledger.Erased? {
    let done = BoundedQueue<Ledger.Erased>(capacity: 1)
    ledger.ledger.erase(account: name) { _ = done.enqueue($0) }
    return done.dequeue()
  }

  private static func files(of ledger: TestLedger, having text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: ledger.folder.path).filter { name in
      let bytes = Scratch.bytes(of: "\(ledger.folder.path)/\(name)")
      return bytes?.firstRange(of: Array(text.utf8)) != nil
    }
  }

  @Test(arguments: [
    ("UPDATE statement SET mac = zeroblob(32) WHERE seq = 3", "is not found by whom"),
    ("UPDATE statement SET stream_id = 2 WHERE seq = 3", "is not found by whom"),
    ("DELETE FROM statement WHERE seq = 3", "is not found by whom"),
    ("UPDATE statement SET seq = 1 WHERE seq = 3", "statement 1 is of no statement"),
    ("UPDATE account SET name = 'somebody else'", "account 1 was changed"),
    ("UPDATE account SET key = zeroblob(32)", "account 1 was changed"),
    ("UPDATE event SET source = 'grant' WHERE seq = 3", "the body is not of the source grant"),
    (
      "UPDATE event SET signed_date_ms = 5 WHERE seq = 3",
      "column signed_date_ms differs from the body"
    ),
    ("UPDATE event SET stream_id = 2 WHERE seq = 3", "differs from the body"),
  ]) func `verify finds a changed statement`(sql: String, finding: String) throws {
    let ledger = try Self.ledger(customers: 2)
    #expect(Self.say(Self.claim, to: ledger) == .accepted(seq: 3))
    try ledger.whileStopped {
      let connection = try SQLiteConnection.open(ledger.folder.journal, .write)
      let triggers = try connection.statement(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
      ).all { $0.text(0) }
      for trigger in triggers { try connection.execute("DROP TRIGGER \(trigger)") }
      try connection.execute("PRAGMA foreign_keys=OFF; \(sql)")
      connection.close()
      let found = try ledger.verify().findings.map(\.what)
      #expect(found.contains { $0.contains(finding) }, "\(found)")
    }
  }

  // MARK: Laws

  /// What one account says of one customer, and what must follow.
  private struct Model {
    var claims: [String: Bool] = [:]
    var keys: [String: OwnerStatement.Content] = [:]

    /// Whether the statement is news; nil if it is refused.
    mutating func say(_ content: OwnerStatement.Content, key: String?) -> Outcome {
      // A claim and a grant may have the same key.
      let key = key.map { "\(content.isGrant) \($0)" }
      if let key, let known = keys[key] {
        return known == content ? .duplicate(seq: 0) : .conflict(seq: 0)
      }
      switch content {
      case .claim(let id):
        if claims[id] == true { return .duplicate(seq: 0) }
        claims[id] = true
      case .release(let id):
        guard let isClaimed = claims[id] else { return StatementTests.noEntitlement }
        if !isClaimed { return .duplicate(seq: 0) }
        claims[id] = false
      case .grant, .revocation, .catalog, .refund, .consent: break
      }
      if let key { keys[key] = content }
      return .accepted(seq: 0)
    }
  }

  @Test func `random histories of claims and grants follow a simple model`() throws {
    print("seed \(Self.seed), set by SUBLEDGER_SEED")
    var generator = SplitMix64(seed: Self.seed)
    let ledger = try Self.ledger(customers: 3)
    let digest = try ledger.digest()
    let ids = ["7000", "7001", "7002", "9999"]
    var claims: [String: Set<String>] = [:]
    for first in stride(from: 0, to: Self.histories, by: 40) {
      var (statements, expected): ([NewStatement], [String]) = ([], [])
      for number in first..<min(Self.histories, first + 40) {
        var model = Model()
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
          let id = ids.randomElement(using: &generator) ?? ""
          let contents: [OwnerStatement.Content] = [
            .claim(originalTransactionId: id), .release(originalTransactionId: id),
            .claim(originalTransactionId: id), .grant(entitlement: id, until: nil, reason: nil),
          ]
          let content = contents.randomElement(using: &generator) ?? contents[0]
          let key = Bool.random(using: &generator) ? "k\(Int.random(in: 0...2))" : nil
          statements.append(Self.statement(content, "user \(number)", key: key))
          let isKnown = id != "9999" || content.isGrant
          expected.append(isKnown ? model.say(content, key: key).name : "refused")
        }
        for (id, isClaimed) in model.claims where isClaimed {
          claims[id, default: []].insert("user \(number)")
        }
      }
      #expect(Self.say(statements, to: ledger).map(\.name) == expected)
    }
    let reader = try JournalReader.open(ledger.folder)
    for id in ids {
      let key = StreamKey(
        environment: .production, bundleId: TestLedger.bundleId, originalTransactionId: id)
      #expect(Set(try reader.accounts(of: key)) == claims[id] ?? [])
    }
    #expect(try ledger.digest() == digest)
    #expect(try ledger.verify().findings.map(\.what) == [])
  }
}

extension OwnerStatement.Content {
  fileprivate var isGrant: Bool { if case .grant = self { true } else { false } }
}
