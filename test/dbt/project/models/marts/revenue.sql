SELECT customer_id, sum(amount) AS revenue, count(*) AS orders
FROM {{ ref('stg_orders') }}
GROUP BY customer_id
