CREATE TABLE element (
  number INTEGER PRIMARY KEY,
  symbol TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  period INTEGER NOT NULL,
  group_number INTEGER,
  block TEXT NOT NULL,
  category TEXT NOT NULL,
  atomic_weight REAL NOT NULL,
  phase TEXT,
  reported_year INTEGER
);
CREATE TABLE person (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  born_year INTEGER,
  died_year INTEGER,
  country TEXT NOT NULL
);
CREATE TABLE discovery (
  element_number INTEGER NOT NULL REFERENCES element(number),
  person_id INTEGER NOT NULL REFERENCES person(id),
  PRIMARY KEY (element_number, person_id)
);
CREATE TABLE isotope (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  element_number INTEGER NOT NULL REFERENCES element(number),
  mass_number INTEGER NOT NULL,
  half_life_years REAL
);
CREATE TABLE compound (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  formula TEXT NOT NULL UNIQUE
);
CREATE TABLE compound_element (
  compound_id INTEGER NOT NULL REFERENCES compound(id),
  element_number INTEGER NOT NULL REFERENCES element(number),
  atoms INTEGER NOT NULL,
  PRIMARY KEY (compound_id, element_number)
);
-- Not measured: wavelengths of ions with one electron by the Rydberg formula with a nucleus of infinite mass.
CREATE TABLE modelled_line (
  id INTEGER PRIMARY KEY,
  element_number INTEGER NOT NULL REFERENCES element(number),
  series TEXT NOT NULL,
  lower_level INTEGER NOT NULL,
  upper_level INTEGER NOT NULL,
  wavelength_nm REAL NOT NULL,
  region TEXT NOT NULL
);
