// The built-in providers: one manifest per folder, in the same form as a user's `kind: Provider`. They are always
// deployed, and their names are reserved.

import type { ProviderDocument } from '../core/definitions/documents/index.ts'
import { email } from './email/manifest.ts'
import { github } from './github/manifest.ts'
import { gitlab } from './gitlab/manifest.ts'
import { http } from './http/manifest.ts'
import { openaiCompatible } from './openai-compatible/manifest.ts'
import { slack } from './slack/manifest.ts'
import { stripe } from './stripe/manifest.ts'
import { teams } from './teams/manifest.ts'
import { terraformCloud } from './terraform-cloud/manifest.ts'

/** By name. */
export const BUILT_IN_PROVIDERS: readonly ProviderDocument[] = [
  email,
  github,
  gitlab,
  http,
  openaiCompatible,
  slack,
  stripe,
  teams,
  terraformCloud,
]
