-- Each table that holds rows, partitions one by one.
SELECT relation.relname
FROM pg_class relation
WHERE relation.relnamespace = 'public'::regnamespace AND relation.relkind = 'r'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = relation.oid AND d.deptype = 'e')
ORDER BY relation.relname
