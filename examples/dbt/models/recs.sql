SELECT user_id, item_id, score FROM '../data/recommendations_als.parquet'
