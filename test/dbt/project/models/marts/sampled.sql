SELECT id, random() AS r FROM {{ ref('stg_orders') }}
