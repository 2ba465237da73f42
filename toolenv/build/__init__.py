"""From a SQLite database, questions with their SQL, and passages to a dataset in VAKRA's layout."""
