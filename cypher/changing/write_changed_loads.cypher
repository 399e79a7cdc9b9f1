// Bring manifests in line with a change of single triples, and count it: readers that have the catalogue read it again.
// mode:    write
// params:  $loads :: LIST<MAP>
// returns:
// needs:   constraint load_sha256
UNWIND $loads AS row
MATCH (l:Load {sha256: row.sha256})
SET l += row,
    l.changes = coalesce(l.changes, 0) + 1
