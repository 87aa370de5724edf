-- sqlite
CREATE TABLE failures (
	dataset TEXT NOT NULL,
	number BIGINT NOT NULL,
	at DATETIME NOT NULL,
	error JSON NOT NULL,
	PRIMARY KEY (dataset)
)
CREATE TABLE leases (
	dataset TEXT NOT NULL,
	holder TEXT NOT NULL,
	until DATETIME NOT NULL,
	PRIMARY KEY (dataset)
)
CREATE TABLE skips (
	dataset TEXT NOT NULL,
	identity TEXT NOT NULL,
	path TEXT NOT NULL,
	size BIGINT NOT NULL,
	modified_ns BIGINT NOT NULL,
	at DATETIME NOT NULL,
	error JSON NOT NULL,
	PRIMARY KEY (dataset, identity)
)
-- postgresql
CREATE TABLE failures (
	dataset TEXT NOT NULL,
	number BIGINT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	error JSON NOT NULL,
	PRIMARY KEY (dataset)
)
CREATE TABLE leases (
	dataset TEXT NOT NULL,
	holder TEXT NOT NULL,
	until TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (dataset)
)
CREATE TABLE skips (
	dataset TEXT NOT NULL,
	identity TEXT NOT NULL,
	path TEXT NOT NULL,
	size BIGINT NOT NULL,
	modified_ns BIGINT NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	error JSON NOT NULL,
	PRIMARY KEY (dataset, identity)
)
