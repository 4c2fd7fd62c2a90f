enum HTTPFrontRoom {}
