-- How the file of a comparison lists both candidates, in which order files have values; and up to which judgment imported
-- labels of comparisons are on a side that nobody can tell. Formats note the field of each candidate, so that the order is
-- known of most comparisons. The table is made anew, since a column that is never null cannot be added.
ALTER TABLE comparison RENAME TO comparison_before;
CREATE TABLE comparison (
    item_id BIGINT NOT NULL, prompt_id BIGINT NOT NULL, language VARCHAR NOT NULL, first VARCHAR NOT NULL,
    second VARCHAR NOT NULL, first_name VARCHAR NOT NULL, second_name VARCHAR NOT NULL, first_ref VARCHAR NOT NULL,
    second_ref VARCHAR NOT NULL, reference VARCHAR NOT NULL, about VARCHAR NOT NULL, made_from VARCHAR NOT NULL,
    file_order VARCHAR NOT NULL
);
INSERT INTO comparison SELECT b.*,
    CASE WHEN (b.first_ref, b.second_ref) = (f.one, f.other) THEN 'as-listed' WHEN f.one IS NOT NULL THEN 'swapped' ELSE '' END
FROM comparison_before b LEFT JOIN (VALUES
    ('first', 'second'), ('model_a', 'model_b'), ('model_1', 'model_2'), ('model', 'baseline'), ('response1', 'response2'),
    ('output_1', 'output_2')
) f (one, other) ON (b.first_ref, b.second_ref) IN ((f.one, f.other), (f.other, f.one));
DROP TABLE comparison_before;
INSERT INTO workspace_fact SELECT 'labels_of_unknown_side', max(id) FROM judgment WHERE origin = 'import'
    AND item_id IN (SELECT item_id FROM comparison) HAVING count(*) > 0;
