"""What learners see of the data: rows in memory, sparse rows, distinct rows, and batches of a stream."""
