// Lists the subjects of the built-in mappings; the list is built once, on first use.

import type { CatalogEntry } from '../catalog-entry.ts'
import { githubEntries } from './github.ts'
import { gitlabEntries } from './gitlab.ts'
import { shopifyEntries } from './shopify.ts'
import { slackEntries } from './slack.ts'
import { stripeEntries } from './stripe.ts'
import { terraformCloudEntries } from './terraform-cloud.ts'
import { workfrontEntries } from './workfront.ts'

const VENDORS: Readonly<Record<string, () => readonly CatalogEntry[]>> = {
  github: githubEntries,
  gitlab: gitlabEntries,
  stripe: stripeEntries,
  'terraform-cloud': terraformCloudEntries,
  slack: slackEntries,
  shopify: shopifyEntries,
  workfront: workfrontEntries,
}

const made = new Map<string, readonly CatalogEntry[]>()

/** None for a mapping of a later release. */
export function vendorEntries(mapping: string): readonly CatalogEntry[] {
  const known = made.get(mapping)
  if (known !== undefined) return known
  const entries = Object.hasOwn(VENDORS, mapping) ? (VENDORS[mapping]?.() ?? []) : []
  made.set(mapping, entries)
  return entries
}
