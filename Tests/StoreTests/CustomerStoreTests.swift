import AppStore
import Store
import Support
import Testing

/// What is looked at again after a restart.
@Suite struct CustomerStoreTests {
  @Test func `a comparison with what was known is not ended by a mapping that comes meanwhile`()
    throws
  {
    let scratch = try Scratch()
    let store = try CustomerStore(scratch.folder, journalId: [UInt8](repeating: 1, count: 16))
    let app = StreamKey(
      environment: .production, bundleId: "com.example.app", originalTransactionId: "")
    var batch = CustomerStore.Batch(.init(seq: 0, hash: [], basis: "", toldAt: 1_000))
    batch.begunAt = 1_000
    batch.scans = [.init(of: app, .rebuild, at: 500)]
    try store.commit(batch)
    var scan = try #require(try store.scan())
    #expect(scan.comparesThrough == 1_000)
    scan.last = "17"
    (batch.begunAt, batch.scans) = (nil, [scan])
    try store.commit(batch)
    #expect(try store.scan()?.last == "17")

    batch.scans = [.init(of: app, .mapping, seq: 3, at: 1_500)]
    try store.commit(batch)
    let again = try #require(try store.scan())
    #expect((again.reason, again.at, again.last) == (.rebuild, 500, ""))

    (batch.scans, batch.ended) = ([], [again])
    try store.commit(batch)
    (batch.scans, batch.ended) = ([.init(of: app, .rebuild, at: 1_500)], [])
    try store.commit(batch)
    #expect(try store.scan()?.at == 1_500)
    #expect(try store.scan()?.comparesThrough == nil)
    store.close()
  }
}
