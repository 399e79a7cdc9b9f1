DELETE FROM signature
