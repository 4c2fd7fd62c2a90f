enum StrictJSONRoom {}
