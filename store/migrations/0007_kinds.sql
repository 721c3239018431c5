-- What models answered to an item.
CREATE TABLE IF NOT EXISTS response (
    id BIGINT NOT NULL, item_id BIGINT NOT NULL, model VARCHAR NOT NULL, setting VARCHAR NOT NULL,
    trial BIGINT NOT NULL, text VARCHAR NOT NULL, extra VARCHAR NOT NULL, source_id BIGINT NOT NULL
);
