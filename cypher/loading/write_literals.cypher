// Write literals, which their ids describe fully, with their typed values. They get the labels, too.
// mode:    write
// params:  $literals :: LIST<MAP>, $labels :: LIST<STRING>
// returns:
// needs:   constraint literal_id
UNWIND $literals AS row
MERGE (l:Literal {id: row.id})
SET l:$($labels),
    l.value = row.value,
    l.datatype = row.datatype,
    l.language = row.language,
    l.number = row.number,
    l.dimension = row.dimension,
    l.first_day = row.first_day,
    l.last_day = row.last_day
