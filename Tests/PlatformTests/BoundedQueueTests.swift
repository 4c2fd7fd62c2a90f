import Platform
import Testing

/// A bounded queue between threads.
@Suite struct BoundedQueueTests {
  @Test func `enqueue fails while the queue is full`() {
    let queue = BoundedQueue<Int>(capacity: 2)
    #expect(queue.enqueue(1) && queue.enqueue(2) && !queue.enqueue(3))
    #expect(queue.count == 2 && queue.capacity == 2)
    #expect(queue.dequeue() == 1)
    #expect(queue.enqueue(4) && !queue.enqueue(5))
    #expect(queue.dequeueAll() == [2, 4])
  }

  @Test func `enqueue adds the first items, as many as fit`() {
    let queue = BoundedQueue<Int>(capacity: 3)
    #expect(queue.enqueue(contentsOf: []) == 0)
    #expect(queue.enqueue(contentsOf: [1, 2]) == 2)
    #expect(queue.enqueue(contentsOf: [3, 4, 5]) == 1)
    #expect(queue.enqueue(contentsOf: [6]) == 0)
    #expect(queue.dequeueAll() == [1, 2, 3])
  }

  @Test func `dequeueAll empties the queue, and returns no items after the timeout`() {
    let queue = BoundedQueue<Int>(capacity: 8)
    #expect(queue.dequeueAll(within: 0) == [])
    #expect(queue.dequeueAll(within: 1) == [])
    #expect(queue.enqueue(contentsOf: [1, 2, 3]) == 3)
    #expect(queue.dequeueAll(within: 0) == [1, 2, 3])
    #expect(queue.dequeueAll(within: 0) == [] && queue.count == 0)
  }

  @Test func `a closed queue delivers what is queued and nothing else`() {
    let queue = BoundedQueue<Int>(capacity: 4)
    #expect(queue.enqueue(contentsOf: [1, 2, 3]) == 3 && !queue.isClosed)
    queue.close()
    #expect(queue.isClosed && !queue.enqueue(4) && queue.enqueue(contentsOf: [5]) == 0)
    #expect(queue.dequeue() == 1)
    #expect(queue.dequeueAll() == [2, 3])
    #expect(queue.dequeueAll() == nil && queue.dequeueAll(within: 0) == nil)
    #expect(queue.dequeue() == nil)
  }

  @Test func `close ends a consumer that waits`() throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    let ended = BoundedQueue<Bool>(capacity: 2)
    let threads = [
      try Thread.start("dequeue") { _ = ended.enqueue(queue.dequeue() == nil) }
    ]
    queue.close()
    threads.forEach { $0.join() }
    let another = try Thread.start("dequeueAll") {
      _ = ended.enqueue(queue.dequeueAll() == nil)
    }
    another.join()
    #expect(ended.dequeueAll() == [true, true])
  }

  @Test func `one consumer gets all items of several producers in their order`() throws {
    let queue = BoundedQueue<(producer: Int, number: Int)>(capacity: 16)
    let threads = try (0..<4).map { producer in
      try Thread.start("producer") {
        for number in 0..<500 {
          while !queue.enqueue((producer, number)) {}
        }
      }
    }
    var next = [0, 0, 0, 0]
    var isInOrder = true
    while next.reduce(0, +) < 2000 {
      for item in queue.dequeueAll() ?? [] {
        isInOrder = isInOrder && next[item.producer] == item.number
        next[item.producer] += 1
      }
    }
    threads.forEach { $0.join() }
    #expect(isInOrder && next == [500, 500, 500, 500] && queue.count == 0)
  }

  @Test func `an order is queued behind a full queue and takes no place of it`() {
    let queue = BoundedQueue<Int>(capacity: 2)
    #expect(queue.enqueue(contentsOf: [1, 2, 3]) == 2)
    #expect(queue.enqueueBeyondCapacity(4) && queue.enqueueBeyondCapacity(5))
    #expect(!queue.enqueue(6))
    #expect(queue.dequeueAll() == [1, 2, 4, 5])
    #expect(queue.enqueue(contentsOf: [7, 8, 9]) == 2)
    queue.close()
    #expect(!queue.enqueueBeyondCapacity(10))
    #expect(queue.dequeueAll() == [7, 8] && queue.dequeueAll() == nil)
  }
}
