-- sqlite
CREATE TABLE batches (
	dataset TEXT NOT NULL,
	number BIGINT NOT NULL,
	state TEXT NOT NULL CONSTRAINT batch_state CHECK (state IN ('planned', 'done')),
	system_time DATETIME NOT NULL,
	event_time DATETIME,
	planned_at DATETIME NOT NULL,
	finished_at DATETIME,
	report JSON NOT NULL,
	PRIMARY KEY (dataset, number),
	CONSTRAINT batch_number CHECK (number > 0)
)
CREATE TABLE events (
	id INTEGER NOT NULL,
	dataset TEXT NOT NULL,
	batch BIGINT NOT NULL,
	at DATETIME NOT NULL,
	table_version BIGINT,
	PRIMARY KEY (id),
	CONSTRAINT event_once UNIQUE (dataset, batch)
)
CREATE TABLE runs (
	id INTEGER NOT NULL,
	dataset TEXT NOT NULL,
	state TEXT NOT NULL CONSTRAINT run_state CHECK (state IN ('running', 'done', 'failed')),
	started_at DATETIME NOT NULL,
	finished_at DATETIME,
	batches INTEGER NOT NULL,
	error JSON,
	PRIMARY KEY (id)
)
CREATE TABLE schema_version (
	version INTEGER NOT NULL,
	applied_at DATETIME NOT NULL,
	PRIMARY KEY (version)
)
CREATE TABLE inputs (
	dataset TEXT NOT NULL,
	identity TEXT NOT NULL,
	number BIGINT NOT NULL,
	place INTEGER NOT NULL,
	path TEXT NOT NULL,
	size BIGINT NOT NULL,
	modified_ns BIGINT NOT NULL,
	PRIMARY KEY (dataset, identity),
	CONSTRAINT input_batch FOREIGN KEY(dataset, number) REFERENCES batches (dataset, number)
)
-- postgresql
CREATE TABLE batches (
	dataset TEXT NOT NULL,
	number BIGINT NOT NULL,
	state TEXT NOT NULL CONSTRAINT batch_state CHECK (state IN ('planned', 'done')),
	system_time TIMESTAMP WITH TIME ZONE NOT NULL,
	event_time TIMESTAMP WITH TIME ZONE,
	planned_at TIMESTAMP WITH TIME ZONE NOT NULL,
	finished_at TIMESTAMP WITH TIME ZONE,
	report JSON NOT NULL,
	PRIMARY KEY (dataset, number),
	CONSTRAINT batch_number CHECK (number > 0)
)
CREATE TABLE events (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	dataset TEXT NOT NULL,
	batch BIGINT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	table_version BIGINT,
	PRIMARY KEY (id),
	CONSTRAINT event_once UNIQUE (dataset, batch)
)
CREATE TABLE runs (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	dataset TEXT NOT NULL,
	state TEXT NOT NULL CONSTRAINT run_state CHECK (state IN ('running', 'done', 'failed')),
	started_at TIMESTAMP WITH TIME ZONE NOT NULL,
	finished_at TIMESTAMP WITH TIME ZONE,
	batches INTEGER NOT NULL,
	error JSON,
	PRIMARY KEY (id)
)
CREATE TABLE schema_version (
	version INTEGER NOT NULL,
	applied_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (version)
)
CREATE TABLE inputs (
	dataset TEXT NOT NULL,
	identity TEXT NOT NULL,
	number BIGINT NOT NULL,
	place INTEGER NOT NULL,
	path TEXT NOT NULL,
	size BIGINT NOT NULL,
	modified_ns BIGINT NOT NULL,
	PRIMARY KEY (dataset, identity),
	CONSTRAINT input_batch FOREIGN KEY(dataset, number) REFERENCES batches (dataset, number)
)
