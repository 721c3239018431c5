-- The place of a run's configuration among those of its kind, from 1, the fullest last; 0 where that is not known. Without
-- a choice, the newest of the fullest runs is shown. The names are those of the configurations so far.
ALTER TABLE run ADD COLUMN IF NOT EXISTS fullness BIGINT DEFAULT 0;
ALTER TABLE run ALTER COLUMN fullness SET NOT NULL;
UPDATE run SET fullness = coalesce(list_position(
    ['single', 'ps-fa', 'ps-tpg-fa', 'ps-tpg-te-fa', 'ps-tpg-sim-fa', 'ps-tpg-te-bf-fa', 'ps-tpg-te-bf-tc-fa'], split_part(name, '/', 1)
), 0) WHERE kind = 'pair';
