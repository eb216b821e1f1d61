/* ---
primary_key: [city, month]
--- */
SELECT c.city, date_trunc('month', l.day) AS month, count(*) AS lines, sum(l.amount) AS revenue
FROM priced_lines l JOIN customers c ON c.id = l.customer
GROUP BY ALL
