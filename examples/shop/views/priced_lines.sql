/* ---
primary_key: id
--- */
SELECT l.id, l.customer, l.product, l.day, l.quantity * p.price AS amount
FROM lines l JOIN products p ON p.id = l.product
