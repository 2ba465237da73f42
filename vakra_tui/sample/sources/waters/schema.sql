CREATE TABLE country (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  continent TEXT NOT NULL,
  capital TEXT NOT NULL
);
CREATE TABLE river (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  length_km INTEGER NOT NULL,
  discharge_m3s INTEGER,
  mouth TEXT
);
CREATE TABLE river_country (
  river_id INTEGER NOT NULL REFERENCES river(id),
  country_code TEXT NOT NULL REFERENCES country(code),
  position INTEGER NOT NULL,
  PRIMARY KEY (river_id, country_code)
);
CREATE TABLE lake (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  area_km2 INTEGER NOT NULL,
  max_depth_m INTEGER NOT NULL,
  elevation_m INTEGER,
  outflow_river_id INTEGER REFERENCES river(id)
);
CREATE TABLE lake_country (
  lake_id INTEGER NOT NULL REFERENCES lake(id),
  country_code TEXT NOT NULL REFERENCES country(code),
  PRIMARY KEY (lake_id, country_code)
);
CREATE TABLE dam (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  river_id INTEGER NOT NULL REFERENCES river(id),
  country_code TEXT NOT NULL REFERENCES country(code),
  height_m INTEGER NOT NULL,
  opened_year INTEGER NOT NULL,
  dedicated_on TEXT
);
-- Not measured: the river's mean discharge spread over the year by a triangular wave.
CREATE TABLE modelled_flow (
  id INTEGER PRIMARY KEY,
  river_id INTEGER NOT NULL REFERENCES river(id),
  month TEXT NOT NULL,
  season TEXT NOT NULL,
  flow_m3s REAL NOT NULL,
  UNIQUE (river_id, month)
);
