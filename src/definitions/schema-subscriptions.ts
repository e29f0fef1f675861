// A subscription as written: which endpoint gets which of our events, and how.

import * as z from 'zod'
import { SIGNINGS } from '../core/definitions/documents/index.ts'
import { DAY, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { isReservedHeader } from '../core/webhooks/subscription/index.ts'
import { EVENT_ROOTS } from './expression-names.ts'
import {
  authPlace,
  condition,
  duration,
  endpoint,
  headerName,
  headerText,
  literal,
  oneOf,
  pattern,
  pick,
  readable,
  reference,
  secretPlace,
  sends,
} from './fields.ts'
import { ratePolicy, retryInline } from './schema-buffers.ts'

/** For what is sent; the address does not depend on the event. */
const SENT_ROOTS = [...EVENT_ROOTS, 'vars'] as const

/** What is sent as rendered then: it may contain a secret. */
const REQUEST = { secrets: true }

const METADATA_LENGTH_MAX = 1_000

export const subscriptionFields = {
  url: endpoint(['vars'], REQUEST),
  on: z.union([pattern(), z.array(pattern()).min(1).max(100)]),
  where: condition(EVENT_ROOTS).optional(),
  status: oneOf('active', 'paused', 'disabled').optional(),
  transform: sends(SENT_ROOTS, REQUEST).optional(),
  headers: z.record(headerName(true, isReservedHeader), headerText(SENT_ROOTS, REQUEST)).optional(),
  auth: authPlace(isReservedHeader).optional(),
  secret: secretPlace().optional(),
  signing: oneOf(...SIGNINGS).optional(),
  retry: z.union([reference(), retryInline]).optional(),
  timeout: duration(SECOND, MINUTE).optional(),
  maxWait: duration(SECOND, 30 * DAY).optional(),
  disableAfter: duration(MINUTE, 365 * DAY, 'never').optional(),
  rateLimit: z.union([reference(), ratePolicy]).optional(),
  concurrency: z.strictObject({ limit: z.number().int().min(1).max(10_000) }).optional(),
  order: z.strictObject({ by: pick(EVENT_ROOTS), onBlocked: oneOf('hold', 'skip').optional() }).optional(),
  deadLetter: z
    .strictObject({
      severity: oneOf('low', 'medium', 'high', 'critical').optional(),
      runbook: readable().optional(),
    })
    .optional(),
  sensitive: oneOf('send').optional(),
  metadata: z.record(literal({ minLength: 1 }), literal({ maxLength: METADATA_LENGTH_MAX })).optional(),
}
