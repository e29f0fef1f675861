// Lists the built-in mappings by the name that `subjects` gives. A new vendor is one file and one line here, and its subjects in
// src/core/definitions/catalog.

import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { Mapping } from './mapping.ts'
import { shopify } from './shopify.ts'
import { slack } from './slack.ts'
import { stripe } from './stripe.ts'
import { terraformCloud } from './terraform-cloud.ts'
import { workfront } from './workfront.ts'

export type { Mapping } from './mapping.ts'

export const MAPPING_NAMES = [
  'github',
  'gitlab',
  'stripe',
  'terraform-cloud',
  'slack',
  'shopify',
  'workfront',
] as const

export type MappingName = (typeof MAPPING_NAMES)[number]

export const MAPPINGS: Readonly<Record<MappingName, Mapping>> = {
  github,
  gitlab,
  stripe,
  'terraform-cloud': terraformCloud,
  slack,
  shopify,
  workfront,
}
