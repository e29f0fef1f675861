// Step 7: deliveries of subscriptions. Released: never changed.

export const DELIVERIES = `
ALTER TABLE {s}.attempt ADD COLUMN response text;

-- The deliveries of one subscription, newest first. Work of routes and workflows is in neither of the first two; the second holds
-- those that did not get through.
CREATE INDEX work_delivery ON {s}.work (tenant, consumer, id)
  WHERE consumer >= 'subscription:' AND consumer < 'subscription;';
CREATE INDEX work_delivery_held ON {s}.work (tenant, consumer, state, id)
  WHERE state IN ('skipped', 'merged', 'parked', 'dead', 'cancelled')
    AND consumer >= 'subscription:' AND consumer < 'subscription;';
-- How many of a consumer wait for a place in a lane, and which.
CREATE INDEX work_waiting_of ON {s}.work (tenant, consumer, id) WHERE state = 'waiting';
`
