"""Questions of a form, answered: their plain questions retrieved as any other, what they lead to combined by Cypher."""
