// An agent as written: a model behind an endpoint that speaks the OpenAI protocol, and its instructions.

import * as z from 'zod'
import { MINUTE, SECOND } from '../core/foundation/time/index.ts'
import {
  authPlace,
  duration,
  headerName,
  json,
  literal,
  openSend,
  reference,
  secretPlace,
  send,
  urlOrPath,
} from './fields.ts'
import { retryInline } from './schema-buffers.ts'

export const agentFields = {
  connection: reference().optional(),
  baseUrl: urlOrPath(['vars']).optional(),
  secret: secretPlace().optional(),
  auth: authPlace().optional(),
  headers: z.record(headerName(true), send(['vars'], { secrets: true })).optional(),
  model: literal({ minLength: 1 }),
  system: openSend().optional(),
  user: openSend(),
  output: z.strictObject({ schema: json() }).optional(),
  timeout: duration(SECOND, 10 * MINUTE).optional(),
  temperature: z.number().min(0).max(2).optional(),
  budget: z.strictObject({ tokens: z.number().int().min(1).max(100_000_000) }).optional(),
  retry: z.union([reference(), retryInline]).optional(),
  repairs: z.number().int().min(0).max(5).optional(),
}
