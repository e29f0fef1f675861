// Renewing, as the first step of the schema made it, but that a life never gets shorter: of two renewals that pass each other on
// their way the one for less may come last, and what was promised for longer would end with it.

export const RENEW_FOR_LONGER = `
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
