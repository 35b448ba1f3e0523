-- Everything in the schema public that belongs to no extension. Not DROP SCHEMA: where an administrator has made the
-- extension, the owner of the database may not drop it. Sorted, so that all names are read before the first is gone.
DO $room$
DECLARE
    command text;
BEGIN
    FOR command IN
        WITH of_extensions AS (
            SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
        ), room (turn, command) AS (
            SELECT 1, format('DROP TABLE IF EXISTS public.%I CASCADE', relname)
            FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
              AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 2, format('DROP VIEW IF EXISTS public.%I CASCADE', relname)
            FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'v'
              AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 3, format('DROP MATERIALIZED VIEW IF EXISTS public.%I CASCADE', relname)
            FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'm'
              AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 4, format('DROP SEQUENCE IF EXISTS public.%I CASCADE', relname)
            FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
              AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 5, format('DROP ROUTINE IF EXISTS public.%I(%s) CASCADE', proname,
                             pg_get_function_identity_arguments(oid))
            FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 6, format('DROP TYPE IF EXISTS public.%I CASCADE', typname)
            FROM pg_type
            WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
              AND (tableoid, oid) NOT IN (TABLE of_extensions)
            UNION ALL
            SELECT 7, format('DROP TEXT SEARCH CONFIGURATION IF EXISTS public.%I CASCADE', cfgname)
            FROM pg_ts_config
            WHERE cfgnamespace = 'public'::regnamespace AND (tableoid, oid) NOT IN (TABLE of_extensions)
        )
        SELECT room.command FROM room ORDER BY turn, room.command
    LOOP
        EXECUTE command;
    END LOOP;
END
$room$;
