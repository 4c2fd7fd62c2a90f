/// All orders of the numbers from 0 to `count` - 1.
package func permutations(of count: Int) -> [[Int]] {
  guard count > 1 else { return [Array(0..<count)] }
  return permutations(of: count - 1).flatMap { order in
    (0..<count).map { index in
      var longer = order
      longer.insert(count - 1, at: index)
      return longer
    }
  }
}
