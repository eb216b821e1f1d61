ATTACH 'ducklake:lake.ducklake' AS lake (DATA_PATH 'lake_files');
CREATE TABLE lake.customers (id INTEGER, name VARCHAR, city VARCHAR);
CREATE TABLE lake.products (id INTEGER, title VARCHAR, price DECIMAL(9, 2));
CREATE TABLE lake.lines (id INTEGER, customer INTEGER, product INTEGER, quantity INTEGER, day DATE);
INSERT INTO lake.customers VALUES (1, 'Ada', 'London'), (2, 'Bob', 'Paris'), (3, 'Cy', 'London');
INSERT INTO lake.products SELECT i, 'product ' || i, i * 2.5 FROM range(1, 20) r(i);
INSERT INTO lake.lines SELECT i, 1 + i % 3, 1 + i * 7 % 19, 1 + i % 4, DATE '2024-01-01' + CAST(i % 90 AS INTEGER) FROM range(2000) r(i);
