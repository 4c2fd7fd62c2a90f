/// The texts that `simulate --help` and `simulate … --help` print.
enum SimulateHelp {
  static let all = """
    subledger simulate: a local App Store that signs notifications as Apple does.

      simulate ca DIR    makes a certificate authority to sign with
      simulate list      names the lifecycles
      simulate run …     plays lifecycles or a fleet into a file or a service
      simulate serve …   is a local App Store Server API, and sends notifications itself

    Each has --help. Example:
      subledger simulate run --lifecycle cancel --url http://127.0.0.1:8080
    """

  static let ca = """
    subledger simulate ca DIR

    Makes DIR (mode 0700) with root.der, the chain in PEM, and its keys (mode 0600). A service
    accepts what it signs if DIR/root.der is among its trustRoots. An existing one is not changed.

    Example: subledger simulate ca ./authority
    """

  static let list = """
    subledger simulate list [--json]

    Names the lifecycles that 'simulate run --lifecycle' plays.

    Example: subledger simulate list
    """

  static let run = """
    subledger simulate run (--lifecycle NAME[,NAME…]|all | --fleet N [--days D]) \\
      (--output FILE|- | --url http://HOST:PORT) [options]

      --lifecycle NAME,…   each played by one customer; see 'simulate list'
      --fleet N, --days D  N customers over D days (400), in a believable mix
      --refunds R          of a share R of paid purchases, 0 to 1, the fleet's customers ask for the
                           money back; twelve hours later each is decided by the seed, as
                           'simulate serve --help' says of requests without an answer
      --reports DIR        writes Apple's reports of four weeks of the fleet's sales, financial.txt
                           and sales.txt, into DIR, for subledger report compare
      --seed S             the same seed gives the same payloads (1)
      --end T              nothing is signed after T: RFC 3339, milliseconds, or now
                           (the beginning of today, UTC)
      --bundle-id B        com.example.app
      --app-apple-id N     123456789
      --environment E      Production or Sandbox (Production)
      --authority DIR      signs with it, makes it if it is missing
                           ($SUBLEDGER_AUTHORITY, else ./subledger-authority)

    What tells of the purchases, separated by commas (notifications):
      --kinds KIND,…       notifications  version 2
                           v1             version 1, each with a receipt
                           transactions   what StoreKit 2 gives the app, for POST
                                          /v1/transactions
                           receipts       the app's receipt, for POST /v1/receipts
      --v1-secret-file F   the shared secret of version 1: the first line of the file
      --receipt-records N  each receipt lists at least N purchases, 1 to 2000 (1)
      --receipt-digest D   how receipts are signed: sha256, sha1 or both (sha256)

    Faults in delivery, each a share of all messages from 0 to 1:
      --late R             arrives only at one of Apple's retries, up to 85 hours later
      --duplicate R        arrives again at later retries, up to 157 hours later
      --drop R             never arrives
      --shuffle            delivers in a random order

    Target:
      --output FILE        NDJSON, one POST body a line; - is standard output
      --force              replaces FILE if it exists
      --url URL            POSTs notifications; the path is /v1/notifications if URL has none
      --connections N      connections at once (4); with 1 the order is preserved
      --rate R             at most R deliveries a second
      --json               the summary as JSON

    Exits with 0 if all were delivered, 1 if some were refused, 2 for wrong arguments, 3 if the
    service or the disk is unavailable, 130 if it was stopped.

    Example:
      subledger simulate run --fleet 500 --days 400 --seed 7 --shuffle --duplicate 0.1 \\
        --output f.ndjson
    """

  static let serve = """
    subledger simulate serve --authority DIR [options]

    A local App Store Server API with both environments, over simulated customers whose lives end
    now. Prints one line of JSON when it listens: both base URLs, and the key and names that a
    client's tokens need. Logs to standard error; ends with ^C.

      --authority DIR        signs with it; makes it, and its key for tokens, if they are missing
      --customers N          customers (100), a tenth as many in the sandbox
      --lifecycle NAME,…     one more customer for each; see 'simulate list'
      --days D, --seed S     as for 'simulate run' (400, 1)
      --refunds R            of a share R of paid purchases, 0 to 1, the customers ask for the money
                             back; the answers to CONSUMPTION_REQUEST decide about it
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
    extension) are checked and answered; without --refunds no life changes by them. An extension for
    all subscribers of a product moves the ends of their running periods and sends its
    notifications.

    With --refunds, the customers of the fleet ask for the money back. The App Store sends a
    CONSUMPTION_REQUEST, waits twelve hours of the simulated clock, decides within three more, and
    sends REFUND or REFUND_DECLINED. What PUT /inApps/v2/transactions/consumption/ID told last
    within the twelve hours decides, by the first line that fits:
      not DELIVERED                    all of the money
      GRANT_FULL                       all
      DECLINE                          declined
      GRANT_PRORATED                   what consumptionPercentage leaves; of an auto-renewable
                                       subscription, the part of the period that is left
      a consumptionPercentage          what it leaves; declined if that is nothing
      neither                          declined if sampleContentProvided, else all
    Without an answer the seed decides: all for 60 of 100, a part for 15 (of the period what is
    left, of other products half), declined for 25. Of refunds, 15 of 100 are reversed 3 to 20 days
    later (REFUND_REVERSED); of declined requests, 20 of 100 are made again while more than six days
    of the period are left. Lifecycles are scripts: no answer changes them. GET /refund-requests
    lists requests, answers and outcomes. The lives end now, so begin before that, with --behind.

    Example:
      subledger simulate serve --authority ./authority --customers 50 --notify http://127.0.0.1:8080
    """
}
