-- sqlite
CREATE TABLE dead_letters (
	id TEXT NOT NULL,
	dataset TEXT NOT NULL,
	partition TEXT,
	causes JSON NOT NULL,
	step INTEGER,
	error JSON NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY (id)
)
CREATE TABLE derived_runs (
	number INTEGER NOT NULL,
	id TEXT NOT NULL,
	dataset TEXT NOT NULL,
	partition TEXT,
	write TEXT NOT NULL,
	state TEXT NOT NULL CONSTRAINT derived_run_state CHECK (state IN ('running', 'done', 'failed')),
	causes JSON NOT NULL,
	steps JSON NOT NULL,
	failed_step INTEGER,
	error JSON,
	version_before BIGINT,
	version BIGINT,
	rows BIGINT,
	files BIGINT,
	started_at DATETIME NOT NULL,
	finished_at DATETIME,
	PRIMARY KEY (number)
)
CREATE TABLE positions (
	dataset TEXT NOT NULL,
	source TEXT NOT NULL,
	version BIGINT NOT NULL,
	table_id TEXT NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY (dataset, source)
)
CREATE TABLE waiting (
	dataset TEXT NOT NULL,
	partition TEXT NOT NULL,
	causes JSON NOT NULL,
	behind JSON NOT NULL,
	arrived JSON NOT NULL,
	missing JSON NOT NULL,
	since DATETIME NOT NULL,
	PRIMARY KEY (dataset, partition)
)
-- postgresql
CREATE TABLE dead_letters (
	id TEXT NOT NULL,
	dataset TEXT NOT NULL,
	partition TEXT,
	causes JSON NOT NULL,
	step INTEGER,
	error JSON NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (id)
)
CREATE TABLE derived_runs (
	number BIGINT GENERATED ALWAYS AS IDENTITY,
	id TEXT NOT NULL,
	dataset TEXT NOT NULL,
	partition TEXT,
	write TEXT NOT NULL,
	state TEXT NOT NULL CONSTRAINT derived_run_state CHECK (state IN ('running', 'done', 'failed')),
	causes JSON NOT NULL,
	steps JSON NOT NULL,
	failed_step INTEGER,
	error JSON,
	version_before BIGINT,
	version BIGINT,
	rows BIGINT,
	files BIGINT,
	started_at TIMESTAMP WITH TIME ZONE NOT NULL,
	finished_at TIMESTAMP WITH TIME ZONE,
	PRIMARY KEY (number)
)
CREATE TABLE positions (
	dataset TEXT NOT NULL,
	source TEXT NOT NULL,
	version BIGINT NOT NULL,
	table_id TEXT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (dataset, source)
)
CREATE TABLE waiting (
	dataset TEXT NOT NULL,
	partition TEXT NOT NULL,
	causes JSON NOT NULL,
	behind JSON NOT NULL,
	arrived JSON NOT NULL,
	missing JSON NOT NULL,
	since TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (dataset, partition)
)
