enum AppStoreRoom {}
