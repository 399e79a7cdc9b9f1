// The index of first days of literals, for comparisons.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE INDEX literal_day IF NOT EXISTS FOR (l:Literal) ON (l.first_day)
