// A text is the same, or another, regardless of case.
CASE $op WHEN '=' THEN toLower(text) = $text ELSE toLower(text) <> $text END
