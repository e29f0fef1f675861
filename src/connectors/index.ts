// The providers that come with Millrace: one manifest per folder, in the same form as what users write with `kind: Provider`. They are
// always in force, and their names are taken.

import type { ProviderDocument } from '../core/definition/index.ts'

/** By name. */
export const BUILT_IN_PROVIDERS: readonly ProviderDocument[] = []
