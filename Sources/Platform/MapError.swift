/// Evaluates an expression and replaces the error that it throws.
///
///     let journal = try JournalReader.open(folder)
///
/// An overload takes a closure, for more than one expression.
///
/// - Parameter transform: makes the error that the caller throws of the one that was thrown.
/// - Throws: what `transform` returns, when `body` throws.
@inlinable @inline(__always)
public func mapError<Value: ~Copyable, From: Error, To: Error>(
  _ transform: (From) -> To, _ body: @autoclosure () throws(From) -> Value
) throws(To) -> Value {
  do throws(From) {
    return try body()
  } catch {
    throw transform(error)
  }
}

/// Calls a closure and replaces the error that it throws.
///
/// - Parameters:
///   - transform: makes the error that the caller throws of the one that was thrown.
///   - body: needs its error type spelled out, `{ () throws(LedgerError) in … }`: the compiler does
///     not infer it.
/// - Throws: what `transform` returns, when `body` throws.
@inlinable @inline(__always)
public func mapError<Value: ~Copyable, From: Error, To: Error>(
  _ transform: (From) -> To, in body: () throws(From) -> Value
) throws(To) -> Value {
  do throws(From) {
    return try body()
  } catch {
    throw transform(error)
  }
}
