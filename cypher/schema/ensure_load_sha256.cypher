// The constraint that the manifest of a content stands in the graph once.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT load_sha256 IF NOT EXISTS FOR (l:Load) REQUIRE l.sha256 IS UNIQUE
