// The constraint that there is only one load lock: its index serialises concurrent attempts.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT load_lock IF NOT EXISTS FOR (l:LoadLock) REQUIRE l.name IS UNIQUE
