enum JournalStoreRoom {}
