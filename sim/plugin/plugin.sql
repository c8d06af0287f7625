-- SPDX-License-Identifier: GPL-3.0-or-later
-- Reads what a child process says; ../../analysis/sql/named_sql.cmake makes each a C string. Parameter 1 is the line.

-- name: is_object
SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' ELSE 0 END;

-- name: hello
SELECT
  json_extract(?1, '$.protocol'),
  json_extract(?1, '$.name'),
  coalesce(json_extract(?1, '$.gang'), 1),
  coalesce(json_extract(?1, '$.limit'), 0),
  coalesce(json_extract(?1, '$.cycle_s'), 0.0),
  coalesce(json_extract(?1, '$.round_s'), 0.0),
  coalesce(json_extract(?1, '$.topology'), 0),
  coalesce(json_extract(?1, '$.topology_parts'), 0),
  coalesce(json_extract(?1, '$.shares'), 0);

-- name: members
SELECT key, type
FROM json_each(?1);

-- name: words
SELECT value
FROM json_each(?1, '$.' || ?2);

-- name: message
SELECT
  json_type(?1, '$.place'),
  json_extract(?1, '$.place'),
  json_type(?1, '$.on'),
  coalesce(json_extract(?1, '$.group'), 0),
  json_type(?1, '$.evict'),
  json_extract(?1, '$.evict'),
  json_extract(?1, '$.for'),
  json_type(?1, '$.explain'),
  json_extract(?1, '$.explain'),
  json_extract(?1, '$.reason'),
  json_type(?1, '$.progress'),
  json_type(?1, '$.rate'),
  json_extract(?1, '$.rate'),
  json_type(?1, '$.end'),
  json_type(?1, '$.wake_s'),
  json_extract(?1, '$.wake_s'),
  json_type(?1, '$.shares'),
  json_extract(?1, '$.group');

-- name: seats
-- what is no list in the list has no type, which is refused
SELECT
  json_type(pair, '$[0]'),
  json_extract(pair, '$[0]'),
  json_type(pair, '$[1]'),
  json_extract(pair, '$[1]'),
  json_array_length(pair)
FROM (
  SELECT iif(type = 'array', value, '[]') AS pair
  FROM json_each(?1, '$.on')
);

-- name: shares
-- what is no list in a list has no type, which is refused
SELECT
  json_type(pair, '$[0]'),
  json_extract(pair, '$[0]'),
  json_type(pair, '$[1]'),
  json_extract(pair, '$[1]')
FROM (
  SELECT iif(type = 'array' AND json_type(?1, '$.shares') = 'array', value, '[]') AS pair
  FROM json_each(?1, '$.shares')
);

-- name: jobs
SELECT type, value
FROM json_each(?1, '$.progress');
