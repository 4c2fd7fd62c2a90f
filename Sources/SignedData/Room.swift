enum SignedDataRoom {}
