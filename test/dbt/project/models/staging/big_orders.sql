{{ config(materialized='ephemeral') }}
SELECT * FROM {{ ref('stg_orders') }} WHERE amount >= 10
