SELECT name, born FROM people WHERE born > 1900 ORDER BY name;
SELECT city, COUNT(*) FROM people GROUP BY city HAVING COUNT(*) > 3;
SELECT p.name, c.title FROM people AS p JOIN cities AS c ON p.city = c.id WHERE c.country = 'Poland';
INSERT INTO people (name, born) VALUES ('Ada Lovelace', 1815);
UPDATE people SET born = 1906 WHERE name = 'Grace Hopper';
DELETE FROM people WHERE born < 1800 AND name = 'nobody';
