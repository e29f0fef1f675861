// A provider as written: a kind of system that is called, its address, how callers authenticate there, and its
// operations. The manifests of src/connectors are the normal form of the same.

import * as z from 'zod'
import {
  ADDRESSED_SCHEMES,
  AUTH_MODELS,
  IDEMPOTENCIES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../core/definitions/documents/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { MAPPING_NAMES } from '../core/ingest/source/index.ts'
import {
  duration,
  headerName,
  headerText,
  json,
  literal,
  oneOf,
  partName,
  pick,
  reference,
  requestPath,
  send,
  sends,
  statusCode,
  url,
} from './fields.ts'
import { ratePolicy } from './schema-buffers.ts'

/** What the requests of an operation see, and what its provider sees of a connection. */
const OPERATION_ROOTS = ['input', 'config', 'key', 'extRef', 'vars'] as const
const CONFIG_ROOTS = ['config'] as const
const PROBE_ROOTS = ['config', 'vars'] as const
const ANSWER_ROOTS = ['result'] as const

export const authModel = () => oneOf(...AUTH_MODELS)
const method = () => oneOf('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS').optional()

const request = (roots: readonly string[]) => ({
  method: method(),
  path: requestPath(roots),
  query: z.record(literal({ minLength: 1 }), send(roots)).optional(),
  headers: z.record(headerName(true), headerText(roots)).optional(),
})

const meaningOfAnswers = {
  classify: z.record(statusCode(), oneOf('done', ...FAILURE_CLASSES)).optional(),
  refine: z
    .array(z.strictObject({ when: pick(ANSWER_ROOTS), as: oneOf('done', ...FAILURE_CLASSES) }))
    .max(50)
    .optional(),
}

const operation = z.strictObject({
  description: literal().optional(),
  ...request(OPERATION_ROOTS),
  body: sends(OPERATION_ROOTS).optional(),
  encoding: oneOf('json', 'form').optional(),
  endpoint: reference().optional(),
  input: json().optional(),
  output: json().optional(),
  idempotency: oneOf(...IDEMPOTENCIES).optional(),
  keyTtl: duration(SECOND, 90 * DAY).optional(),
  keyHeader: headerName(false).optional(),
  lookup: z
    .strictObject({
      ...request(OPERATION_ROOTS),
      found: pick([...OPERATION_ROOTS, ...ANSWER_ROOTS]),
      id: pick([...OPERATION_ROOTS, ...ANSWER_ROOTS]).optional(),
      after: duration(0, HOUR).optional(),
    })
    .optional(),
  result: pick(ANSWER_ROOTS).optional(),
  ref: pick(ANSWER_ROOTS).optional(),
  ...meaningOfAnswers,
  timeout: duration(1, 10 * MINUTE).optional(),
  buckets: z.array(reference()).min(1).max(10).optional(),
  scopes: z
    .array(literal({ minLength: 1 }))
    .max(50)
    .optional(),
  deprecated: literal({ minLength: 1 }).optional(),
})

export const providerFields = {
  title: literal({ minLength: 1 }).optional(),
  category: literal({ minLength: 1 }).optional(),
  baseUrl: url(CONFIG_ROOTS),
  auth: z.union([authModel(), z.array(authModel()).min(1).max(AUTH_MODELS.length)]).optional(),
  authentication: z
    .strictObject({
      header: headerName(false).optional(),
      prefix: literal().optional(),
      query: literal({ minLength: 1 }).optional(),
    })
    .optional(),
  oauth2: z
    .strictObject({
      authorizeUrl: url(CONFIG_ROOTS).optional(),
      tokenUrl: url(CONFIG_ROOTS),
      scopes: z
        .array(literal({ minLength: 1 }))
        .max(100)
        .optional(),
      parameters: z.record(literal({ minLength: 1 }), literal()).optional(),
      clientAuth: oneOf('basic', 'body').optional(),
    })
    .optional(),
  endpoints: z.record(partName(), url(CONFIG_ROOTS)).optional(),
  config: json().optional(),
  capabilities: z
    .array(literal({ minLength: 1 }))
    .max(100)
    .optional(),
  rate: ratePolicy.optional(),
  buckets: z.record(partName(), ratePolicy).optional(),
  probe: z.strictObject({ ...request(PROBE_ROOTS), timeout: duration(SECOND, MINUTE).optional() }).optional(),
  ...meaningOfAnswers,
  operations: z.record(partName(), operation).optional(),
  rotation: z
    .strictObject({ create: reference(), secret: pick(ANSWER_ROOTS), revoke: reference().optional() })
    .optional(),
  inbound: z
    .strictObject({
      scheme: oneOf(
        ...PLAIN_SCHEMES,
        ...TIMED_SCHEMES,
        ...ADDRESSED_SCHEMES,
        ...TIMED_ADDRESSED_SCHEMES,
        'hmac',
        'basic',
        'api-key',
        'none',
      ),
      subjects: oneOf(...MAPPING_NAMES).optional(),
    })
    .optional(),
  deprecated: literal({ minLength: 1 }).optional(),
}

export type OperationInput = z.infer<typeof operation>
