// A profile: retries, a rate or a drain under a name that others use.

import * as z from 'zod'
import type { ProfileDocument } from '../../core/definitions/documents/index.ts'
import { optional } from '../fields.ts'
import { checkProfileSort } from '../profiles.ts'
import { checkRetry } from '../retries.ts'
import { type KindDeclaration, lazily } from './kind.ts'
import {
  drainPolicy,
  envelope,
  ratePolicy,
  resolveDrainInline,
  resolveRateInline,
  resolveRetryInline,
  retryInline,
} from './parts.ts'

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Profile'),
      retry: optional(retryInline(), 'The policy.', 'a profile of another sort'),
      rate: optional(ratePolicy(), 'The policy.', 'a profile of another sort'),
      drain: optional(drainPolicy(), 'The policy.', 'a profile of another sort'),
    })
    .meta({
      title: 'Profile',
      oneOf: [{ required: ['retry'] }, { required: ['rate'] }, { required: ['drain'] }],
    }),
)

type ProfileInput = z.infer<ReturnType<typeof schema>>

export const profileKind: KindDeclaration<ProfileDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveProfile,
  check: (value, around) => [...checkProfileSort(value), ...checkRetry(value.retry, around)],
  summary: 'Named retries, rates or drains: one of them.',
  template: `kind: Profile
name: NAME
retry: { attempts: 4, delays: [30s, 5m, 1h] }
`,
}

function resolveProfile(input: ProfileInput): ProfileDocument {
  const { name, retry, rate, drain } = input
  return {
    kind: 'Profile',
    name,
    description: input.description ?? null,
    ...(retry === undefined ? {} : { retry: resolveRetryInline(retry, name) }),
    ...(rate === undefined ? {} : { rate: resolveRateInline(rate, name) }),
    ...(drain === undefined ? {} : { drain: resolveDrainInline(drain, name) }),
  }
}
