import Platform
import Testing

@Suite struct FairQueueTests {
  /// Calls in an expectation may not change a value.
  private final class Queue {
    private var queue: FairQueue<String>

    init(share: Int = 10, byteShare: Int = 100) {
      queue = FairQueue(share: share, byteShare: byteShare, shares: 2)
    }

    var count: Int { queue.count }

    func add(_ item: String, of owner: String, bytes: Int = 0, isForced: Bool = false) -> Bool {
      queue.enqueue(item, of: owner, bytes: bytes, isForced: isForced)
    }

    func next(serving most: Int = .max) -> String? { queue.dequeue(serving: most)?.item }

    func finish(_ owner: String) { queue.finish(owner) }
  }

  @Test func `owners are served in turns, each in the order of its items`() {
    let queue = Queue()
    for item in ["a1", "a2", "a3", "b1", "c1", "c2"] {
      #expect(queue.add(item, of: String(item.prefix(1))))
    }
    #expect(queue.next() == "a1")
    // An owner that comes back waits for the others.
    #expect(queue.add("a4", of: "a"))
    var order: [String] = []
    while let item = queue.next() { order.append(item) }
    #expect(order == ["b1", "c1", "a2", "c2", "a3", "a4"])
    #expect(queue.count == 0)
  }

  @Test func `an owner of whom enough are served is passed over until one was`() {
    let queue = Queue()
    for item in ["a1", "a2", "a3", "b1", "b2"] {
      #expect(queue.add(item, of: String(item.prefix(1))))
    }
    #expect((0..<3).map { _ in queue.next(serving: 1) } == ["a1", "b1", nil])
    queue.finish("b")
    #expect(queue.next(serving: 1) == "b2" && queue.next(serving: 1) == nil)
    queue.finish("a")
    #expect(queue.next(serving: 1) == "a2" && queue.next(serving: 2) == "a3")
  }

  @Test func `an owner with its share is refused, and leaves room for others`() {
    let queue = Queue(share: 3)
    #expect((0..<4).map { queue.add("a\($0)", of: "a") } == [true, true, true, false])
    #expect((0..<4).map { queue.add("b\($0)", of: "b") } == [true, true, true, false])
    #expect(!queue.add("c", of: "c"), "the queue holds two shares")
    #expect(queue.add("c", of: "c", isForced: true) && queue.count == 7)
    for _ in 0..<2 { _ = queue.next() }
    #expect(queue.add("a5", of: "a"))
  }

  @Test func `bytes have a share too, which is free again when the items are gone`() {
    let queue = Queue()
    #expect(queue.add("a1", of: "a", bytes: 60))
    #expect(!queue.add("a2", of: "a", bytes: 41))
    #expect(queue.add("b1", of: "b", bytes: 100))
    #expect(!queue.add("c1", of: "c", bytes: 41), "the queue holds two shares")
    #expect(queue.next() == "a1")
    #expect(queue.add("a3", of: "a", bytes: 100))
  }

  @Test func `many items pass without being lost or repeated`() {
    let queue = Queue(share: 1000)
    var (next, seen): ([String: Int], [String: Int]) = ([:], [:])
    var random = SystemRandomNumberGenerator()
    func check(_ item: String?) {
      guard let parts = item?.split(separator: " "), let number = Int(parts[1]) else { return }
      #expect(number == seen[String(parts[0]), default: 0])
      seen[String(parts[0])] = number + 1
    }
    for _ in 0..<5000 {
      if Bool.random(using: &random) {
        let owner = ["a", "b", "c"].randomElement(using: &random) ?? ""
        let number = next[owner, default: 0]
        if queue.add("\(owner) \(number)", of: owner) { next[owner] = number + 1 }
      } else {
        check(queue.next())
      }
    }
    while queue.count > 0 { check(queue.next()) }
    #expect(seen == next)
  }
}
