-- Write the rows of a piece of a source to a file.
COPY ({{parser}}) TO '{{rows}}' (FORMAT parquet, COMPRESSION lz4_raw)
