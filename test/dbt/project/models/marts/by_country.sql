SELECT coalesce(n.country, c.country) AS country, sum(r.revenue) AS revenue
FROM {{ ref('revenue') }} AS r
JOIN {{ source('raw', 'customers') }} AS c ON c.id = r.customer_id
LEFT JOIN {{ ref('countries') }} AS n ON n.code = c.country
GROUP BY 1
