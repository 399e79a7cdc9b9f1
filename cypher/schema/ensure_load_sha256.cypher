// The constraint that each content has at most one manifest.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT load_sha256 IF NOT EXISTS FOR (l:Load) REQUIRE l.sha256 IS UNIQUE
