enum EntitlementsRoom {}
