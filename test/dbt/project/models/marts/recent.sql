{{ config(materialized='incremental') }}
SELECT * FROM {{ ref('stg_orders') }}
{% if is_incremental() %} WHERE id > (SELECT max(id) FROM {{ this }}) {% endif %}
