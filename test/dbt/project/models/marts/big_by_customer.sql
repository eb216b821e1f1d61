{{ config(materialized='incremental', alias='large orders') }}
SELECT customer_id, count(*) AS n FROM {{ ref('big_orders') }} GROUP BY 1
