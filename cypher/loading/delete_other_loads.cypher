// Delete the manifests of all loads but one.
// mode:    write
// params:  $sha256 :: STRING
// returns:
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 <> $sha256
DELETE l
