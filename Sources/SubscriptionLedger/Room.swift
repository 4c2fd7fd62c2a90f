enum SubscriptionLedgerRoom {}
