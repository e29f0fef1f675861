// Which environment variables `{ env: NAME }` may read.
//
// Invariants: a setting of the node (`MILLRACE_…`) is never readable, listed or not. With a list, only listed names are readable.
// Without one, every name is readable except those that usually hold secrets of the machine, the cloud or the database.

/** Names or prefixes (`STRIPE_*`); null: there is no list. */
export type EnvNames = readonly string[] | null

const OWN_SETTINGS = /^MILLRACE_/i
const ENTRY = /^[A-Za-z_][A-Za-z0-9_]*\*?$/

/** Prefixes of names that belong to the process, its cloud or its database, and to no vendor. */
export const RESERVED_ENV = [
  'NODE_',
  'NPM_',
  'PG',
  'POSTGRES',
  'DATABASE_URL',
  'NATS_',
  'VAULT_',
  'AWS_',
  'AZURE_',
  'ARM_',
  'GOOGLE_',
  'GCP_',
  'GCLOUD_',
  'CLOUDSDK_',
  'KUBE',
  'DOCKER_',
  'SSH_',
  'GPG_',
  'ACTIONS_',
  'CI_JOB_',
  'OTEL_',
  'LD_',
  'DYLD_',
] as const

/** Whether the text is a valid entry of the list. */
export function isEnvEntry(text: string): boolean {
  return ENTRY.test(text) && !mayMeanSetting(text)
}

/** `M*` and `MILLRACE_X` would both name settings of the node. */
function mayMeanSetting(entry: string): boolean {
  if (OWN_SETTINGS.test(entry)) return true
  return entry.endsWith('*') && 'MILLRACE_'.startsWith(entry.slice(0, -1).toUpperCase())
}

export function isEnvReadable(name: string, names: EnvNames): boolean {
  if (OWN_SETTINGS.test(name)) return false
  if (names !== null) return names.some((entry) => covers(entry, name))
  const upper = name.toUpperCase()
  return !RESERVED_ENV.some((beginning) => upper.startsWith(beginning))
}

function covers(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry
}
