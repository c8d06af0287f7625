-- SPDX-License-Identifier: GPL-3.0-or-later
-- What states write and read; ../../analysis/sql/named_sql.cmake makes each a C string.

-- name: add
INSERT INTO state
VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11);

-- name: add_input
INSERT OR IGNORE INTO state_input
VALUES(?1,?2);

-- name: read
SELECT name, orrery_version, scenario, folder, folder_way, seed, allow_loss_ppm, at_ms, events, cycles, digest
FROM state;

-- name: inputs
SELECT path, sha256
FROM state_input
ORDER BY path;
