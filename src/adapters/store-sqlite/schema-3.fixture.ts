// The rows of a store after a short life under schema step 3: written by the release of that step, row by row.

export const ROWS_OF_STEP_3 = `
REPLACE INTO tenant VALUES (1, 'acme');
REPLACE INTO last_group VALUES (1, 8, 1750000002000);
REPLACE INTO event VALUES (1, 1, 'evt_01977420-dc00-7000-8097-2ec55cf38a21', 'shop', 'order.created', 1, 1750000000000, 1750086400000, 'delivery-1', 'order', '4711', 1749999995000, '01977420-dc00-7001-b84f-e67d14ab42d9', NULL, '01977420-dc00-7002-b007-9e35cc63fa91', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"content-type":"application/json"}', '{"id":4711,"name":"Zoë"}');
REPLACE INTO event VALUES (2, 1, 'evt_01977420-dfe8-7000-889f-36cd64fb9229', 'shop', 'order.created', 1, 1750000001000, 1750086401000, 'delivery-2', 'order', '4711', 1749999995000, '01977420-dfe8-7001-8057-ee851cb34ae1', NULL, '01977420-dfe8-7002-b80f-a63dd46b0299', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"content-type":"application/json"}', '{"id":4711}');
REPLACE INTO event VALUES (3, 1, 'evt_01977420-e3d0-7000-90a7-3ed56c039a31', 'shop', 'order.created', 1, 1750000002000, 1750086402000, 'delivery-3', 'order', '4711', 1749999995000, '01977420-e3d0-7001-885f-f68d24bb52e9', NULL, '01977420-e3d0-7002-8017-ae45dc730aa1', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"content-type":"application/json"}', '{"id":4711}');
REPLACE INTO event VALUES (4, 1, 'evt_01977420-e3d0-7005-a83f-d66d049b32c9', 'shop', 'order.created', 0, 1750000002000, 1750000003000, 'delivery-4', 'order', '4711', 1749999995000, '01977420-e3d0-7006-a0f7-8e25bc53ea81', NULL, '01977420-e3d0-7007-98af-46dd740ba239', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"content-type":"application/json"}', '{"id":4711}');
REPLACE INTO key_log VALUES (1, x'fd4d320a3182d13ff6ec8c776400bd85', 1);
REPLACE INTO key_log VALUES (2, x'1d1e6387dd4e8a889e502e682f342c27', 1);
REPLACE INTO key_log VALUES (3, x'cf378ea02df2eff1af815d957e76300a', 2);
REPLACE INTO key_log VALUES (4, x'60e051c22f8c6ba747bb9cb921736c32', 3);
REPLACE INTO key_log VALUES (5, x'26cf1654ae2a089fe3643941f0643740', 4);
REPLACE INTO work VALUES (1, 1, 'wrk_01977420-dc00-7004-a077-0ea53cd36a01', 0, 1750000000000, NULL, 1, 0, 1, 0, 0, 1750000000000, 1750086400000, 1750000000000, 'route:crm', 'evt_01977420-dc00-7000-8097-2ec55cf38a21', 'route', 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', NULL, NULL, 'crm:4711', NULL, NULL, NULL, NULL, NULL);
REPLACE INTO work VALUES (2, 1, 'wrk_01977420-dfe8-7004-a87f-16ad44db7209', 7, 1750000001000, NULL, 0, 0, 1, 0, 0, 1750000001000, 1750086401000, 1750000001000, 'route:crm', 'evt_01977420-dfe8-7000-889f-36cd64fb9229', 'route', 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
REPLACE INTO work VALUES (3, 1, 'wrk_01977420-e3d0-7004-b087-1eb54ce37a11', 2, 1750000002000, NULL, 0, 0, 0, 0, 0, 1750000002000, 1750086402000, NULL, 'route:crm', 'evt_01977420-e3d0-7000-90a7-3ed56c039a31', 'route', 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
REPLACE INTO attempt VALUES (1, 2, 1, 1750000000000, 12, 'again', 'transient', 503, 'HTTP 503');
REPLACE INTO ledger VALUES (1, 1, 'crm:4711', 1, 0, 'acknowledged', 'wrk_01977420-dc00-7004-a077-0ea53cd36a01', 1, NULL, 1750000000000, 1750000000000, 'route:crm', 'evt_01977420-dc00-7000-8097-2ec55cf38a21', '4711', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '01977420-dc00-7006-90e7-7e15ac43da71', 'ref-1', '{"ok":true}');
REPLACE INTO evidence VALUES (1, 1, '{"seen":1}');
REPLACE INTO dead_letter VALUES (1, 1, 'dlq_01977420-dfe8-7005-a037-ce65fc932ac1', 1, 'open', 'config', 'rejected', 'route:crm', 'evt_01977420-dfe8-7000-889f-36cd64fb9229', 'wrk_01977420-dfe8-7004-a87f-16ad44db7209', 1, 0, 'HTTP 404', NULL, '01977420-dfe8-7006-98ef-861db44be279', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', NULL, 'high', 1750000001000, 1750000001000);
REPLACE INTO record VALUES (1, 1, 'setting', 'zone', 1, 'Europe/Berlin');
REPLACE INTO incarnation VALUES (1, 'node-a', 1750000030000, 0);
`
