// The id of this database, by which it is the same under every address.
// mode:    read
// params:
// returns: id :: STRING
// needs:   nothing
CALL db.info() YIELD id
RETURN id
