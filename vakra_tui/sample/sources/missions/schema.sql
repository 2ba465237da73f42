CREATE TABLE agency (
  id INTEGER PRIMARY KEY,
  abbreviation TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  country TEXT NOT NULL,
  founded_year INTEGER
);
CREATE TABLE body (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  parent_id INTEGER REFERENCES body(id),
  radius_km REAL,
  orbital_period_days REAL,
  distance_au REAL
);
CREATE TABLE rocket (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  country TEXT NOT NULL,
  first_flight TEXT NOT NULL
);
CREATE TABLE mission (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  agency_id INTEGER NOT NULL REFERENCES agency(id),
  target_id INTEGER REFERENCES body(id),
  rocket_id INTEGER REFERENCES rocket(id),
  launched TEXT NOT NULL,
  kind TEXT NOT NULL,
  ended TEXT
);
CREATE TABLE astronaut (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  country TEXT NOT NULL,
  born TEXT NOT NULL,
  died TEXT
);
CREATE TABLE crew (
  mission_id INTEGER NOT NULL REFERENCES mission(id),
  astronaut_id INTEGER NOT NULL REFERENCES astronaut(id),
  role TEXT NOT NULL,
  PRIMARY KEY (mission_id, astronaut_id)
);
-- Not measured: circular orbits in one plane, all planets in one line with the Sun on the first day.
CREATE TABLE modelled_distance (
  id INTEGER PRIMARY KEY,
  body_id INTEGER NOT NULL REFERENCES body(id),
  day INTEGER NOT NULL,
  distance_au REAL NOT NULL,
  elongation TEXT NOT NULL
);
