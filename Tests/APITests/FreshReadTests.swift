import AppStore
import Foundation
import Ledger
import Platform
import SignedData
import Store
import Support
import Testing

/// Reads that wait for an event, or for all that the shared journal has.
@Suite struct FreshReadTests {
  private let authority: Authority

  init() throws { authority = try Authority.shared.get() }

  /// A row that every notification of `authority.fresh()` is about may not exist: 404 is an answer.
  private static let row = "/v1/entitlements/1000"

  private func access(_ server: SharedJournalServer, isFresh: Bool) -> SharedAccess {
    SharedAccess(
      trustRoots: try? TrustRoots(files: [authority.root]), holdMilliseconds: 1_000,
      pollMilliseconds: 3_600_000, readsAreFresh: isFresh
    ) { InMemorySharedJournal(server) }
  }

  @Test func `a read with min_seq is answered when the rows have that event`() async throws {
    let server = try InProcessServer(root: authority.root)
    #expect(server.get("\(Self.row)?min_seq=0")?.status == 404)
    #expect(server.get("\(Self.row)?min_seq=x")?.status == 400)
    #expect(server.get("\(Self.row)?min_seq=-1")?.status == 400)
    let began = Clock.monotonicNanoseconds()
    let late = server.get("\(Self.row)?min_seq=1")
    #expect(late?.status == 503 && late?.text.contains("behind") == true)
    #expect(Clock.monotonicNanoseconds() - began >= 1_900_000_000)
    // The wait has an end, which a slow machine may reach before it posts.
    var (status, seq) = (503, 0)
    while status == 503, seq < 20 {
      seq += 1
      let (jws, path) = (try authority.fresh(), "\(Self.row)?min_seq=\(seq)")
      async let waiting = Task.detached { server.get(path)?.status }.value
      try await Task.sleep(for: .milliseconds(100))
      #expect(server.post(signedPayload: jws)?.status == 200)
      status = await waiting ?? 0
    }
    #expect(status == 404)
    for path in ["/v1/entitlements", "\(Self.row)/history", "/v1/customers/1000"] {
      let by = path.contains("customers") ? "by=original_transaction_id&" : ""
      let status = server.get("\(path)?\(by)min_seq=1")?.status ?? 0
      #expect([200, 404].contains(status), "\(path)")
    }
    #expect(query(server, minSeq: "1") == 200)
    #expect(query(server, minSeq: "\(seq + 1)") == 503)
    #expect(query(server, minSeq: "\"x\"") == 400)
  }

  /// The status of the answer to a query of several customers.
  private func query(_ server: InProcessServer, minSeq: String) -> Int? {
    let body = #"{"ids":["1000"],"by":"original_transaction_id","min_seq":\#(minSeq)}"#
    return server.post(
      Array(body.utf8), ["Content-Type: application/json", InProcessServer.authorization],
      to: "/v1/customers/query")?.status
  }

  @Test func `a fresh read sees what another daemon was answered for`() throws {
    let shared = SharedJournalServer()
    let first = try InProcessServer(root: authority.root, shared: access(shared, isFresh: false))
    let second = try InProcessServer(root: authority.root, shared: access(shared, isFresh: true))
    let jws = try authority.fresh()
    #expect(first.post(signedPayload: jws)?.status == 200)
    #expect(second.ledger.seq == 0)
    #expect(second.get(Self.row)?.status == 404)
    #expect(second.ledger.foldedHead.seq == 1)
    shared.setDown(true)
    let refused = second.get(Self.row)
    #expect(refused?.status == 503 && refused?.text.contains("behind") == true)
    // A local read is answered all the same.
    #expect(first.get(Self.row)?.status == 404)
    let post = first.post(signedPayload: jws)
    #expect(post?.status == 503 && post?.head.contains("Retry-After") == true)
  }

  @Test func `a daemon that never saw the shared journal is not ready, and says so`() throws {
    let shared = SharedJournalServer()
    let folder = try Scratch()
    let data = DataFolder(path: folder.path + "/data")
    try Ledger.start(data, now: 0, shared: access(shared, isFresh: false)) { _ in }.stop()
    shared.setDown(true)
    let ledger = try Ledger.start(data, now: 0, shared: access(shared, isFresh: false)) { _ in }
    #expect(ledger.copy?.isReady == false)
    ledger.stop()
    let behind = try InProcessServer(
      root: authority.root, data: data, shared: access(shared, isFresh: false))
    let late = behind.get(Self.row)
    #expect(late?.status == 404 && late?.head.contains("Subledger-Behind-Ms: ") == true)
    #expect(behind.get("/readyz")?.status == 503)
    shared.setDown(false)
    let server = try InProcessServer(root: authority.root, shared: access(shared, isFresh: false))
    #expect(server.get("/readyz")?.status == 200)
    #expect(server.get(Self.row)?.head.contains("Subledger-Behind-Ms") == false)
    #expect(try server.count("subledger_shared_journal_regressions_total") == 0)
  }

  @Test func `what cannot be followed is named at once, and reads are answered`() throws {
    let shared = SharedJournalServer()
    let server = try InProcessServer(root: authority.root, shared: access(shared, isFresh: true))
    #expect(server.post(signedPayload: try authority.fresh())?.status == 200)
    let good = shared.content
    shared.change { $0.head = .origin }
    #expect(server.get(Self.row)?.status == 503)
    let unready = server.get("/readyz")
    #expect(unready?.status == 503)
    #expect(unready?.text.contains("holds what no program wrote (what is behind seq 1") == true)
    shared.change { $0 = good }
    #expect(server.get(Self.row)?.status == 404)
    #expect(server.get("/readyz")?.status == 200)
  }

  @Test func `a note that was skipped is named by readyz and the metrics`() throws {
    let shared = SharedJournalServer()
    let server = try InProcessServer(root: authority.root, shared: access(shared, isFresh: true))
    shared.change { content in
      let note = Note(version: 1, subject: "later/1", sha256: SHA256.hash([1]), body: [1])
      content.notes.append(note)
      content.head.notes = 1
      content.head.notesHash = note.chain(after: content.head.notesHash)
    }
    #expect(server.get(Self.row)?.status == 404)
    let ready = server.get("/readyz")
    #expect(ready?.status == 200 && ready?.text.contains(#""skipped_notes":1"#) == true)
    #expect(try server.count(#"subledger_shared_journal_faults{kind="skipped_note"}"#) == 1)
  }
}
