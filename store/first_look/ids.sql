SELECT item.id
FROM item ORDER BY item.id ASC
 LIMIT {limit}
