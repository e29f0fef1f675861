// Step 12: a renewal never shortens a lease, and the outbox by event. Released: never changed.

const RENEW_FOR_LONGER = `
CREATE OR REPLACE FUNCTION {s}.renew_incarnation(p_owner bigint, p_ttl_ms bigint)
RETURNS TABLE (until bigint, now bigint) LANGUAGE plpgsql AS $$
BEGIN
  now := {s}.now_ms();
  UPDATE {s}.incarnation i SET until = greatest(i.until, renew_incarnation.now + p_ttl_ms)
    WHERE i.id = p_owner AND NOT i.fenced AND i.until > renew_incarnation.now
    RETURNING i.until INTO renew_incarnation.until;
  IF FOUND THEN
    RETURN NEXT;
  ELSE
    PERFORM {s}.fence_incarnation(p_owner);
  END IF;
END $$;
`

const OUTBOX_BY_EVENT = `
CREATE INDEX outbox_event ON {s}.outbox (event) WHERE event IS NOT NULL;
`

export const RENEW_AND_OUTBOX = `${RENEW_FOR_LONGER}${OUTBOX_BY_EVENT}`
