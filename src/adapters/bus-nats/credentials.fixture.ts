// Accounts and users as `nsc` creates them: an operator signs accounts, an account signs users, and a user has a
// `.creds` file.

import { nkeys } from '@nats-io/transport-node'

type Keys = ReturnType<typeof nkeys.createOperator>

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url')

function sign(issuer: Keys, subject: Keys, name: string, nats: Record<string, unknown>): string {
  const claims = {
    jti: name,
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name,
    nats: { version: 2, ...nats },
  }
  const head = base64(JSON.stringify({ typ: 'JWT', alg: 'ed25519-nkey' }))
  const text = `${head}.${base64(JSON.stringify(claims))}`
  return `${text}.${base64(issuer.sign(new TextEncoder().encode(text)))}`
}

const NO_LIMITS = { subs: -1, data: -1, payload: -1 }

export interface Realm {
  /** For the server's configuration file. */
  readonly config: string
  /** A `.creds` file of a new user of the account. */
  makeUser(name: string): string
}

export function makeRealm(): Realm {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()]
  const limits = {
    ...NO_LIMITS,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
    mem_storage: -1,
    disk_storage: -1,
    streams: -1,
    consumer: -1,
  }
  const accountText = sign(operator, account, 'acme', { type: 'account', limits })
  const systemText = sign(operator, system, 'system', {
    type: 'account',
    limits: { ...limits, mem_storage: 0, disk_storage: 0 },
  })
  return {
    config: `
      operator: ${sign(operator, operator, 'operator', { type: 'operator' })}
      system_account: ${system.getPublicKey()}
      resolver: MEMORY
      resolver_preload: {
        ${system.getPublicKey()}: ${systemText}
        ${account.getPublicKey()}: ${accountText}
      }`,
    makeUser(name) {
      const user = nkeys.createUser()
      const text = sign(account, user, name, { type: 'user', ...NO_LIMITS })
      const seed = new TextDecoder().decode(user.getSeed())
      return [
        '-----BEGIN NATS USER JWT-----',
        text,
        '------END NATS USER JWT------',
        '',
        '-----BEGIN USER NKEY SEED-----',
        seed,
        '------END USER NKEY SEED------',
        '',
      ].join('\n')
    },
  }
}
