import Glibc
import Platform
import StrictJSON

/// `subledger simulate serve`: a local App Store Server API.
public enum StandInCommand {
  /// Runs the command with the arguments after `serve`.
  ///
  /// - Parameters:
  ///   - output: receives the one line for standard output, or the help.
  ///   - progress: receives each line for standard error.
  ///   - shouldStop: true ends the command.
  /// - Returns: the exit code: 0 good, 2 wrong arguments, 3 unavailable.
  public static func run(
    arguments: [String], output: (String) -> Void, progress: @escaping @Sendable (String) -> Void,
    shouldStop: () -> Bool
  ) -> Int32 {
    if arguments.contains("--help") || arguments.contains("-h") {
      output(help)
      return 0
    }
    do throws(StandInError) {
      let options: StandInOptions
      do throws(SimulatorError) { options = try StandInOptions(arguments) } catch {
        throw .simulator(error)
      }
      let service = try StandIn(options, log: progress)
      output(service.description.text)
      while !shouldStop() { usleep(50_000) }
      service.stop()
      return 0
    } catch {
      progress("subledger simulate serve: \(error)")
      if case .simulator(.usage) = error { progress("see: subledger simulate serve --help") }
      switch error {
      case .simulator(.usage), .simulator(.exists): return 2
      case .simulator, .server, .platform: return 3
      }
    }
  }

  private static let help = """
    subledger simulate serve --authority DIR [options]

    A local App Store Server API with both environments, over simulated customers whose lives end
    now. Prints one line of JSON when it listens: both base URLs, and the key and names that a
    client's tokens need. Logs to standard error; ends with ^C.

      --authority DIR        signs with it; makes it, and its key for tokens, if they are missing
      --customers N          customers (100), a tenth as many in the sandbox
      --lifecycle NAME,…     one more customer for each; see 'simulate list'
      --days D, --seed S     as for 'simulate run' (400, 1)
      --bundle-id B, --app-apple-id N
      --listen-production, --listen-sandbox HOST:PORT
                             where to listen (127.0.0.1:0, a free port)
      --notify URL           where it sends notifications when they are due
      --behind D             the simulated clock begins D days before now (0)
      --before RESULT        how the attempts before that ended (SUCCESS)
      --control JSON         a control document to begin with

    POST /control at either base URL takes a control document; GET /control shows the simulated
    time and counts. Members, all optional:
      notify          true sends; false, or a sendAttemptResult, fails without sending
      advance         moves the simulated clock by these milliseconds, and sends what is due;
                      failed attempts are repeated by Apple's times
      scramble, duplicates, lateItem, emptyLastPage, lastToken, variedAttempts
                      true: quirks of the notification history
      tokenLifetime   milliseconds until a pagination token expires (3600000)
      status          plain, unknown, twice or without-renewal: quirks of the statuses
      clockSkew       milliseconds that the service's clock is ahead
      explains401     false: a 401 has no body
      neverReleased   true: production refuses every token
      receiptSecret   the shared secret that verifyReceipt asks for, or null
      receiptStatus   the status that verifyReceipt answers for any receipt, or null;
                      receiptRetryable false: 21100 to 21199 are final
      limits          hour, second or off: within which time Apple's limits are enforced (hour);
                      GET /control counts what exceeds them
      extends         false: no extension succeeds
      faults          a list of {"kind": …}, with optional count, path (a prefix) and environment.
                      Kinds: unauthenticated, error (code), rate-limit (retryAfter: milliseconds,
                      seconds, date, absent, past, future or garbage; wait), delay (wait),
                      slow-head, slow-body (wait: of each byte), stalled-head, stalled-body,
                      cut-body, wrong-length, gzip, oversized, redirect, html-503, html-200,
                      wrong-types, empty

    POST /verifyReceipt judges receipts as Apple's service of this name does. GET /app lists the
    ids of the customers, and GET /app/ID shows what the app of one has: signed transactions for
    POST /v1/transactions, and the receipt for POST /v1/receipts.

    The calls that change something of one customer (consumption, finish, app account token,
    extension) are checked and answered; no life changes by them. An extension for all subscribers
    of a product moves the ends of their running periods and sends its notifications.

    Example:
      subledger simulate serve --authority ./authority --customers 50 --notify http://127.0.0.1:8080
    """
}
