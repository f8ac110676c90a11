-- one row per held-out interaction, with other names of columns
SELECT
    user_id AS customer,
    item_id AS sku
FROM {{ ref('interactions') }}
