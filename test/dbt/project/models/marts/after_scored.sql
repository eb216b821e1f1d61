SELECT count(*) AS n FROM {{ ref('scored') }}
