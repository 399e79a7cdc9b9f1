// The constraint that there is one lock of loads: two that take it at once meet at its index.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT load_lock IF NOT EXISTS FOR (l:LoadLock) REQUIRE l.name IS UNIQUE
