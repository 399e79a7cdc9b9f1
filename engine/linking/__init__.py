"""Link questions to the entities that they start from."""
