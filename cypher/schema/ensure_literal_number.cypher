// The index of numbers of literals, for comparisons.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE INDEX literal_number IF NOT EXISTS FOR (l:Literal) ON (l.number)
