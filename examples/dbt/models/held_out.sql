SELECT user_id, item_id, relevance FROM '../data/interactions.parquet'
