-- one row an order
SELECT id, customer_id, amount::DECIMAL(10, 2) AS amount
FROM {{ source('raw', 'orders') }}
WHERE amount IS NOT NULL
