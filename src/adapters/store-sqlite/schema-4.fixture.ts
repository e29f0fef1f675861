// The rows of a store after a short life under schema step 4: written by the release of that step, row by row.

export const ROWS_OF_STEP_4 = `
REPLACE INTO tenant VALUES (1, 'acme');
REPLACE INTO last_group VALUES (1, 6, 1750000004000);
REPLACE INTO event VALUES (1, 1, 'evt_01977420-dc00-7000-8097-2ec55cf38a21', 'shop', 'order.created', 1, 1750000000000, 1750003600000, 'delivery-1', 'order', '1', NULL, 'c1', NULL, 't1', 'aaaaaaaa', '{}', '{"id":1}', NULL);
REPLACE INTO event VALUES (2, 1, 'evt_01977420-dfe8-7000-b007-9e35cc63fa91', 'shop', 'order.created', 1, 1750000001000, 1750003601000, 'delivery-2', 'order', '2', NULL, 'c2', NULL, 't2', 'aaaaaaaa', '{}', '{"id":2}', NULL);
REPLACE INTO event VALUES (3, 1, 'evt_01977420-e3d0-7000-a077-0ea53cd36a01', 'shop', 'order.created', 1, 1750000002000, 1750003602000, 'delivery-3', 'order', '3', NULL, 'c3', NULL, 't3', 'aaaaaaaa', '{}', '{"id":3}', NULL);
REPLACE INTO event VALUES (4, 1, 'evt_01977420-e7b8-7000-90e7-7e15ac43da71', 'shop', 'order.created', 1, 1750000003000, 1750003603000, 'delivery-4', 'order', '4', NULL, 'c4', NULL, 't4', 'aaaaaaaa', '{}', '{"id":4}', 'a=1');
REPLACE INTO event_repeat VALUES (1, 2, 1750000004000);
REPLACE INTO key_log VALUES (1, x'fd4d320a3182d13ff6ec8c776400bd85', 1);
REPLACE INTO key_log VALUES (2, x'cf378ea02df2eff1af815d957e76300a', 2);
REPLACE INTO key_log VALUES (3, x'60e051c22f8c6ba747bb9cb921736c32', 3);
REPLACE INTO key_log VALUES (4, x'26cf1654ae2a089fe3643941f0643740', 4);
REPLACE INTO key_log VALUES (5, x'8aee8865115c4edca2b6369c4153bbb7', 1);
REPLACE INTO key_log VALUES (6, x'82b523e0d5ae63edc2d2393b4c78d37d', 2);
REPLACE INTO work VALUES (1, 1, 'wrk_01977420-dc00-7001-b84f-e67d14ab42d9', 0, 1750000000000, NULL, 1, 0, 1, 0, 0, 1750000000000, 1750086400000, 1750000004000, 'route:crm', 'evt_01977420-dc00-7000-8097-2ec55cf38a21', 'route', 'dddddddd', NULL, NULL, 'crm:1', NULL, NULL, 'contact-1', 200, 12);
REPLACE INTO work VALUES (2, 1, 'wrk_01977420-dfe8-7001-a8bf-56ed841bb249', 7, 1750000001000, NULL, 1, 0, 1, 0, 0, 1750000001000, 1750086401000, 1750000004000, 'route:crm', 'evt_01977420-dfe8-7000-b007-9e35cc63fa91', 'route', 'dddddddd', NULL, NULL, 'crm:1', 'config', NULL, 'contact-1', 200, 12);
REPLACE INTO work VALUES (3, 1, 'wrk_01977420-e3d0-7001-982f-c65df48b22b9', 2, 1750000002000, NULL, 0, 0, 0, 0, 0, 1750000002000, 1750086402000, NULL, 'route:crm', 'evt_01977420-e3d0-7000-a077-0ea53cd36a01', 'route', 'dddddddd', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
REPLACE INTO work VALUES (4, 1, 'wrk_01977420-e7b8-7001-889f-36cd64fb9229', 5, 1750000003000, NULL, 1, 0, 1, 0, 0, 1750000003000, 1750086403000, 1750000004000, 'route:crm', 'evt_01977420-e7b8-7000-90e7-7e15ac43da71', 'route', 'dddddddd', NULL, NULL, 'crm:1', NULL, NULL, 'contact-1', 200, 12);
REPLACE INTO ledger VALUES (1, 1, 'crm:1', 1, 0, 'acknowledged', 'wrk_01977420-dc00-7001-b84f-e67d14ab42d9', 1, NULL, 1750000004000, 1750000004000, 'route:crm', 'evt_01977420-dc00-7000-8097-2ec55cf38a21', NULL, 'aaaaaaaa', 'c', 'contact-1', '{"id":1}');
REPLACE INTO ledger VALUES (2, 1, 'crm:4', 1, 1, NULL, 'wrk_01977420-e7b8-7001-889f-36cd64fb9229', 1, 1750000004100, 1750000004000, NULL, 'route:crm', 'evt_01977420-e7b8-7000-90e7-7e15ac43da71', NULL, 'aaaaaaaa', 'c', NULL, NULL);
REPLACE INTO dead_letter VALUES (1, 1, 'dlq_01977420-eba0-7000-8057-ee851cb34ae1', 1, 'resolved', 'config', 'rejected', 'route:crm', 'evt_01977420-dfe8-7000-b007-9e35cc63fa91', 'wrk_01977420-dfe8-7001-a8bf-56ed841bb249', 1, 0, 'HTTP 404', NULL, 'c2', 'aaaaaaaa', NULL, 'high', 1750000004000, 1750000004000);
REPLACE INTO incarnation VALUES (1, 'node-a', 1750000030000, 0);
`
