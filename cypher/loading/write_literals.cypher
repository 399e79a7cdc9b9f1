// Write literals; their ids say what they are.
// mode:    write
// params:  $literals :: LIST<MAP>
// returns:
// needs:   constraint literal_id
UNWIND $literals AS row
MERGE (l:Literal {id: row.id})
SET l.value = row.value,
    l.datatype = row.datatype,
    l.language = row.language
