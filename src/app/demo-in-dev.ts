// The demo that a node in DEV runs if no definitions are set, and the secrets that DEV has a value for.

import type { Config } from '../config/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import type { Engine } from '../engine/index.ts'

/** Variables of the environment, by name. */
export type Env = Readonly<Record<string, string | undefined>>

/** In DEV a secret that the demo needs has a well-known value. */
export const DEV_SECRETS = { GITHUB_WEBHOOK_SECRET: 'dev-secret' }

/** Without definitions, DEV has something to look at; in other environments nothing arrives that was not asked for. */
export function isDemo(config: Config): boolean {
  return config.flowsFolder === null && config.environment === 'DEV'
}

/** Users may replace its definitions while the node runs. */
export async function isDemoDeployed(engine: Engine): Promise<boolean> {
  const items = await engine.definitions.list(DEFAULT_TENANT)
  return items.some(({ document, managedBy }) => document.kind === 'Source' && managedBy === 'demo')
}

/** Of the environment, and of DEV's own values. */
export function variableNames(env: Env, environment: Config['environment']): ReadonlySet<string> {
  const own = Object.keys(env).filter((name) => env[name] && !/^MILLRACE_/i.test(name))
  return new Set([...own, ...(environment === 'DEV' ? Object.keys(DEV_SECRETS) : [])])
}

export function hasVariable(env: Env, environment: Config['environment']): (name: string) => boolean {
  const names = variableNames(env, environment)
  return (name) => names.has(name)
}
